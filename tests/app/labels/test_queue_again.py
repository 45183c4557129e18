"""What was shown once and is shown again: after an undo, by the arrow left, from the list of acts."""

import pytest
from pair_leases import find_lease
from sqlalchemy import text
from tower_texts import QUESTIONS

from app.adapt import second_looks
from app.ask import asking
from app.corpora import corpora, ingestion
from app.labels import annotation, flags, leasing, progress, queues, rules
from app.labels.annotation import Presentation
from app.ui.label.desk import Desk, Display, Seat
from app.ui.label.list_desk import ListDesk
from db.repositories import people as people_rows
from db.repositories import reviews

DISPLAY = Display(scores=True, guideline=0)
DESKS = pytest.mark.parametrize("kind", [Desk, ListDesk], ids=["one", "list"])


@pytest.fixture
def sit(wb, scored):
    def down(kind, who, queue):
        return kind.start(wb, Seat(scored.id, who.id, queue, who.name))

    return down


def dealt(item):
    return item.assignment.queue, item.assignment.control, item.assignment.arm


def newest(wb):
    with wb.read() as s:
        found = s.execute(text("SELECT label, queue, control, arm FROM label_event ORDER BY id DESC")).first()
    return found.label, (found.queue, bool(found.control), found.arm)


@DESKS
@pytest.mark.parametrize(("control", "blind", "arm"), [(0, 1, "blind"), (1, 1, "blind"), (1, 0, "shown")])
def test_a_label_given_after_an_undo_counts_as_it_was_dealt(wb, scored, sit, ann, kind, control, blind, arm):
    rules.set_rules(wb, scored.id, by=ann.id, control=control, blind=blind)
    queue = "uncertain" if control else "random"
    desk = sit(kind, ann, queue)
    desk = desk.give(wb, "correct", DISPLAY)
    assert newest(wb) == ("correct", (queue, bool(control), arm))
    desk, _ = desk.undo(wb)
    assert dealt(desk.item) == (queue, bool(control), arm)
    desk.give(wb, "incorrect", DISPLAY)
    assert newest(wb) == ("incorrect", (queue, bool(control), arm))


@DESKS
def test_an_undo_on_another_day_shows_the_item_as_blind_as_it_was(wb, scored, sit, ann, kind):
    rules.set_rules(wb, scored.id, by=ann.id, blind=1)
    sit(kind, ann, "random").give(wb, "correct", DISPLAY)
    desk, _ = sit(kind, ann, "flagged").undo(wb)  # empty
    assert dealt(desk.item) == ("random", False, "blind")
    assert "Shown without ranks" in desk.item.why


@DESKS
def test_the_arrow_left_brings_an_item_skipped_as_it_was_dealt(wb, scored, sit, ann, kind):
    rules.set_rules(wb, scored.id, by=ann.id, control=1, blind=1)
    first = sit(kind, ann, "uncertain")
    again = first.forward(wb).back(wb)
    assert again.pair == first.pair
    assert dealt(again.item) == dealt(first.item) == ("uncertain", True, "blind")


def test_a_label_that_an_undo_restores_has_its_draw_again(wb, scored, sit, ann):
    rules.set_rules(wb, scored.id, by=ann.id, blind=1)
    item = sit(Desk, ann, "random").item
    desk = sit(Desk, ann, "random").give(wb, "correct", DISPLAY)
    annotation.give_label(
        wb, question_id=item.question_id, sentence_id=item.sentence_id, annotator_id=ann.id, label="unsure"
    )
    desk.undo(wb)
    assert newest(wb) == ("correct", ("random", False, "blind"))


def test_what_no_queue_dealt_is_shown_again_as_such(wb, scored, ann):
    asked = asking.ask(wb, scored.id, QUESTIONS[0])
    pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id}
    annotation.give_label(wb, **pair, annotator_id=ann.id, label="correct")
    item = leasing.open_item(wb, **pair, annotator_id=ann.id)
    assert dealt(item) == (queues.AGAIN, False, "")
    assert "Ranked" in item.why


# --- no more labels than wanted --------------------------------------------------------------------------------------


def put(wb, who, pair, label="incorrect", queue=""):
    """Label a pair elsewhere: from a queue, or from none."""
    annotation.give_label(
        wb,
        question_id=pair[0],
        sentence_id=pair[1],
        annotator_id=who.id,
        label=label,
        presentation=Presentation(queue=queue) if queue else None,
    )


def labelled_by(wb, pair):
    with wb.read() as s:
        found = s.execute(text("SELECT annotator_id FROM current_label WHERE question_id=:q AND sentence_id=:s"),
                          {"q": pair[0], "s": pair[1]})  # fmt: skip
        return sorted(found.scalars())


@DESKS
@pytest.mark.parametrize("queue", ["tops", "own"])
def test_who_undoes_and_pauses_while_another_labels_the_pair_comes_too_late(wb, sit, clock, ann, bob, kind, queue):
    desk = sit(kind, ann, "tops")
    pair = desk.pair
    desk = desk.give(wb, "correct", DISPLAY)
    if queue == "own":
        desk = sit(kind, ann, "own")
    desk, _ = desk.undo(wb)
    clock.advance(minutes=11)
    other = sit(Desk, bob, "tops")
    assert (desk.pair, other.pair) == (pair, pair)
    other.give(wb, "incorrect", DISPLAY)
    with pytest.raises(annotation.OverlapReached):
        desk.give(wb, "correct", DISPLAY)
    assert labelled_by(wb, pair) == [bob.id]


@pytest.mark.parametrize("other", ["bob", "ann at another window"])
def test_an_item_that_went_on_to_another_is_closed_until_it_is_free(wb, scored, sit, clock, ann, bob, other):
    first = sit(Desk, ann, "tops")
    seat = Seat(scored.id, (bob if other == "bob" else ann).id, "tops", other)
    there = first.forward(wb)
    theirs = Desk.start(wb, seat)
    assert theirs.pair == first.pair
    back = there.back(wb)
    assert (back.pair, back.item.is_locked) == (first.pair, True)
    with pytest.raises(annotation.OverlapReached, match="Someone else"):
        back.give(wb, "correct", DISPLAY)
    clock.advance(minutes=11)
    assert not back.open_pair(wb, first.pair).item.is_locked


def test_a_label_of_ones_own_may_be_changed_while_another_looks_at_the_pair(wb, scored, sit, ann, bob):
    rules.set_rules(wb, scored.id, by=ann.id, overlap=2)
    mine = sit(Desk, ann, "tops")
    desk = mine.give(wb, "correct", DISPLAY)
    assert sit(Desk, bob, "tops").pair == mine.pair
    again = desk.open_pair(wb, mine.pair)
    assert (find_lease(wb, again.item).annotator_id, again.item.is_locked) == (bob.id, False)
    again.give(wb, "unsure", DISPLAY)
    assert newest(wb)[0] == "unsure"


def test_an_item_skipped_that_another_labelled_is_not_labelled_again(wb, sit, ann, bob):
    first = sit(Desk, ann, "tops")
    desk = first.forward(wb)
    other = sit(Desk, bob, "tops")
    assert other.pair == first.pair
    other.give(wb, "incorrect", DISPLAY)
    with pytest.raises(annotation.OverlapReached):
        desk.back(wb).give(wb, "correct", DISPLAY)


@pytest.mark.parametrize("queue", queues.REVIEWS)
def test_the_rest_of_a_list_brought_by_a_review_counts_against_the_overlap(wb, sit, clock, ann, bob, queue):
    first = sit(ListDesk, ann, "tops")
    mine, theirs = (first.item.question_id, first.item.rows[0].sentence_id), first.item.rows[1].sentence_id
    put(wb, ann, mine, "correct")
    wait_in(wb, queue, mine, ann)
    desk = sit(ListDesk, ann, queue)
    assert desk.pair == mine
    clock.advance(minutes=11)
    put(wb, bob, (mine[0], theirs), queue="tops")
    desk, given = desk.reject_rest(wb, DISPLAY)
    assert given == len(first.item.rows) - 2
    assert labelled_by(wb, (mine[0], theirs)) == [bob.id]
    desk.pick(0).give(wb, "unsure", DISPLAY)  # one's own may be said anew
    assert newest(wb)[0] == "unsure"


def test_a_flagged_pair_takes_the_label_of_whoever_looks(wb, sit, ann, bob):
    pair = sit(Desk, ann, "tops").pair
    put(wb, ann, pair)
    wait_in(wb, "flagged", pair, ann)
    sit(Desk, bob, "flagged").give(wb, "correct", DISPLAY)
    assert labelled_by(wb, pair) == sorted([ann.id, bob.id])


# --- reviews ---------------------------------------------------------------------------------------------------------


def wait_in(wb, queue, pair, who, label="correct"):
    """Put a pair that carries `label` into a review."""
    if queue == "flagged":
        flags.add_flag(wb, question_id=pair[0], sentence_id=pair[1], annotator_id=who.id, note="is a year enough?")
    if queue == "second":
        with wb.write() as s:
            corpus_id = s.execute(text("SELECT corpus_id FROM question WHERE id = :q"), {"q": pair[0]}).scalar_one()
            reviews.put_suspicions(s, corpus_id, [(pair, label, 0.83)], wb.clock())


@pytest.mark.parametrize("queue", queues.REVIEWS)
def test_to_confirm_a_label_is_an_act_and_its_undo_takes_back_nothing_else(wb, scored, sit, clock, ann, queue):
    desk = sit(Desk, ann, "tops").give(wb, "correct", DISPLAY)
    [pair], other = [p for p, _ in desk.trail.stops[:1]], desk.pair
    wait_in(wb, queue, pair, ann)
    if queue != "own":
        put(wb, ann, other)
    clock.advance(minutes=1)
    desk = sit(Desk, ann, queue)
    assert desk.pair == pair
    desk = desk.give(wb, "correct", DISPLAY)
    clock.advance(minutes=1)
    desk, pairs = desk.undo(wb)
    assert (desk.pair, desk.item.label, pairs) == (pair, "correct", 1)
    assert progress.measure_progress(wb, scored.id, ann.id).mine == (1 if queue == "own" else 2)


@DESKS
@pytest.mark.parametrize("label", ["correct", "incorrect"])
@pytest.mark.parametrize("queue", ["flagged", "second"])
def test_an_undo_puts_a_pair_back_into_the_review_it_left(wb, scored, sit, clock, ann, bob, queue, label, kind):
    pair = sit(Desk, ann, "tops").pair
    put(wb, ann, pair, "correct")
    wait_in(wb, queue, pair, ann)
    clock.advance(minutes=1)
    desk = sit(kind, ann, queue).give(wb, label, DISPLAY)
    assert leasing.find_next_item(wb, Seat(scored.id, bob.id, queue)) is None
    clock.advance(minutes=1)
    desk.undo(wb)
    clock.advance(minutes=11)
    back = leasing.find_next_item(wb, Seat(scored.id, bob.id, queue))
    assert (back.question_id, back.sentence_id) == pair
    assert (back.why == "Flagged by ann: is a year enough?") is (queue == "flagged")


def test_a_label_confirmed_stays_in_the_draw_it_came_from(wb, scored, sit, ann):
    rules.set_rules(wb, scored.id, by=ann.id, blind=1)
    sit(Desk, ann, "random").give(wb, "correct", DISPLAY)
    sit(Desk, ann, "own").give(wb, "correct", DISPLAY)
    assert newest(wb) == ("correct", ("own", False, "blind"))


def test_a_label_corrected_or_withdrawn_is_no_longer_doubted(wb, scored, sit, ann):
    pair = sit(Desk, ann, "tops").pair
    put(wb, ann, pair, "correct")
    wait_in(wb, "second", pair, ann)
    assert second_looks.count_second_looks(wb, scored.id) == 1
    assert "labelled correct" in sit(Desk, ann, "second").item.why
    for change in (
        lambda: sit(Desk, ann, "own").give(wb, "incorrect", DISPLAY),
        lambda: put(wb, ann, pair, "unsure"),
        lambda: annotation.withdraw(wb, question_id=pair[0], sentence_id=pair[1], annotator_id=ann.id),
    ):
        change()
        assert sit(Desk, ann, "second").item is None
        assert (
            second_looks.count_second_looks(wb, scored.id)
            == progress.measure_progress(wb, scored.id, ann.id, "second").remaining
            == 0
        )
        annotation.undo_last(wb, ann.id, scored.id)
        assert second_looks.count_second_looks(wb, scored.id) == 1


def test_a_persons_label_outranks_the_imported_one_that_was_doubted(wb, scored, sit, ann):
    pair = sit(Desk, ann, "tops").pair
    with wb.write() as s:
        starter = people_rows.ensure_annotator(s, "starter", wb.clock(), is_imported=True)
    put(wb, starter, pair, "incorrect")
    wait_in(wb, "second", pair, ann, "incorrect")
    assert second_looks.count_second_looks(wb, scored.id) == 1
    put(wb, ann, pair, "correct")
    assert second_looks.count_second_looks(wb, scored.id) == 0


# --- what a list tells -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("queue", ["flagged", "second"])
@pytest.mark.parametrize("all_labelled", [True, False])
def test_a_list_has_the_row_asked_about_in_front_open_and_says_why(wb, sit, ann, bob, queue, all_labelled):
    first = sit(ListDesk, ann, "tops")
    rows = [(first.item.question_id, r.sentence_id) for r in first.item.rows]
    for pair in rows if all_labelled else rows[:3]:
        put(wb, ann, pair, "correct")
    wait_in(wb, queue, rows[2], ann)
    desk = sit(ListDesk, bob, queue)
    assert desk.pair == rows[2]
    said = {r.sentence_id: r.why for r in desk.item.rows if r.why}
    words = {"flagged": "Flagged by ann: is a year enough?", "second": "It is labelled correct"}
    assert list(said) == [rows[2][1]]
    assert said[rows[2][1]].startswith(words[queue])
    assert [r.free for r in desk.item.rows][:3] == [False, False, True]
    desk.give(wb, "incorrect", DISPLAY)
    assert labelled_by(wb, rows[2]) == [ann.id, bob.id]
    assert sit(ListDesk, bob, queue).item is None


def test_the_row_that_brought_its_question_says_why_unless_chance_did(wb, scored, sit, ann):
    one = sit(Desk, ann, "uncertain").item
    [row] = [r for r in sit(ListDesk, ann, "uncertain").item.rows if r.why]
    assert (row.sentence_id, row.why) == (one.sentence_id, one.why)
    assert not any(r.why for r in sit(ListDesk, ann, "random").item.rows)


@DESKS
def test_what_others_say_of_a_doubted_pair_is_told_once_ones_own_label_is_in(wb, scored, sit, ann, bob, kind):
    rules.set_rules(wb, scored.id, by=ann.id, overlap=2)
    pair = sit(Desk, ann, "tops").pair
    put(wb, ann, pair, "correct")
    wait_in(wb, "second", pair, ann)

    def read_reason(who):
        desk = sit(kind, who, "second")
        assert desk.pair == pair
        return desk.item.why if kind is Desk else desk.item.rows[desk.row].why

    assert "0.83" in read_reason(bob)
    assert "correct" not in read_reason(bob)
    put(wb, bob, pair, "correct")
    assert "labelled correct" in read_reason(bob)


def test_who_skips_an_item_does_not_get_nearly_the_same_at_once(wb, ann, ask_queued):
    corpus = corpora.create_corpus(wb, "refrains")
    lines = [f"The old tower of the town stood by the river in {year} still." for year in (1901, 1902, 1903)]
    ingestion.ingest(wb, corpus.id, [("a.txt", " ".join([*lines, "A baker sold bread."]).encode())])
    ask_queued(corpus.id, "Where did the old tower of the town stand?")
    desk = Desk.start(wb, Seat(corpus.id, ann.id, "tops", "here"))
    assert desk.item.text.startswith("The old tower")
    assert desk.forward(wb).item.text == "A baker sold bread."


def test_nearly_the_same_question_does_not_come_twice_in_a_row(wb, towers, ann, ask_queued):
    for q in ("When was the Eiffel Tower finished?", QUESTIONS[2], "When was the Eiffel Tower really finished?"):
        ask_queued(towers.id, q)
    first = ListDesk.start(wb, Seat(towers.id, ann.id, "unlabelled", "here"))
    second = first.forward(wb)
    third = second.forward(wb)
    assert [d.item.question[:4] for d in (first, second, third)] == ["When", "How ", "When"]


# --- two tabs of a browser -------------------------------------------------------------------------------------------


@DESKS
@pytest.mark.parametrize("reopened", ["undo", "act"])
def test_what_another_queue_dealt_is_given_back_with_the_queue_it_is_shown_in(wb, scored, sit, ann, kind, reopened):
    desk = sit(kind, ann, "uncertain").give(wb, "correct", DISPLAY)
    leasing.leave(wb, Seat(scored.id, ann.id, "uncertain", holder=ann.name))
    act = annotation.list_acts(wb, ann.id, scored.id)[0]
    desk = sit(kind, ann, "random")
    if reopened == "undo":
        desk, _ = desk.undo(wb)
    else:
        desk = desk.open_pair(wb, (act.question_id, act.sentence_id))
    assert desk.item.assignment.queue == "uncertain"
    leasing.leave(wb, Seat(scored.id, ann.id, "random", holder=ann.name))
    with wb.read() as s:
        assert s.execute(text("SELECT count(*) FROM lease")).scalar_one() == 0


def test_what_one_tab_shows_is_not_given_away_by_another_tab_at_another_queue(wb, scored, sit, ann, bob):
    shown = sit(Desk, ann, "tops").pair
    other = sit(Desk, ann, "uncertain")
    assert other.pair != shown
    other.forward(wb)
    item = leasing.find_next_item(wb, Seat(scored.id, bob.id, "tops"))
    assert (item.question_id, item.sentence_id) != shown
    leasing.leave(wb, Seat(scored.id, ann.id, "tops", holder=ann.name))
    item = leasing.find_next_item(wb, Seat(scored.id, bob.id, "tops"), skips=[(item.question_id, item.sentence_id)])
    assert (item.question_id, item.sentence_id) == shown
