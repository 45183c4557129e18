import dataclasses
from datetime import timedelta

import pytest
from sqlalchemy import text
from tower_texts import QUESTIONS

from app.ask import asking
from app.corpora import documents, ingestion
from app.labels import annotation, consensus, flags, leasing, progress, rules, seats
from app.labels.annotation import Presentation
from app.labels.queues import QUEUES
from app.labels.seats import Seat
from app.ranking import retrieval
from app.workbench import people
from db.repositories import questions


@pytest.fixture
def give(wb):
    def act(who, item, label="incorrect", sentence=None, **shown):
        return annotation.give_label(
            wb,
            question_id=item.question_id,
            sentence_id=sentence or item.sentence_id,
            annotator_id=who.id,
            label=label,
            presentation=Presentation(
                **{
                    "queue": item.assignment.queue,
                    "control": item.assignment.control,
                    "arm": item.assignment.arm,
                    **shown,
                }
            ),
        )

    return act


def reject_rest(wb, who, item):
    rest = {r.sentence_id: Presentation(queue=item.assignment.queue) for r in item.rows if r.free and r.label is None}
    return annotation.give_labels(
        wb, question_id=item.question_id, annotator_id=who.id, label="incorrect", presentations=rest
    )


def test_the_rest_are_incorrect_in_one_act_and_one_undo_takes_all_back(wb, scored, give, ann):
    item = leasing.find_next_question(wb, Seat(scored.id, ann.id, "tops"))
    assert [r.rank for r in item.rows] == list(range(1, len(item.rows) + 1))
    give(ann, item, "correct", item.rows[0].sentence_id)
    again = leasing.open_question(wb, Seat(scored.id, ann.id, "tops"), item.question_id)
    assert len(reject_rest(wb, ann, again)) == len(item.rows) - 1
    labels = consensus.read_labels(wb, item.question_id, ann.id)
    assert sorted(labels.values()) == ["correct"] + ["incorrect"] * (len(item.rows) - 1)
    acts = annotation.list_acts(wb, ann.id, scored.id)
    assert [(a.label, a.pairs) for a in acts] == [("incorrect", len(item.rows) - 1), ("correct", 1)]
    undone = annotation.undo_last(wb, ann.id, scored.id)
    assert undone.pairs == len(item.rows) - 1
    assert consensus.read_labels(wb, item.question_id, ann.id) == {item.rows[0].sentence_id: "correct"}
    assert annotation.undo_last(wb, ann.id, scored.id).pairs == 1
    assert annotation.list_acts(wb, ann.id, scored.id) == ()


def test_who_an_earlier_run_ranked_follows_those_of_the_newest(wb, scored, ann, monkeypatch):
    everyone = retrieval.retrieve(wb, scored.id, QUESTIONS[0], documents=30, candidates=100)
    others = dataclasses.replace(everyone, candidates=everyone.candidates[-3:])
    monkeypatch.setattr(retrieval, "retrieve", lambda *_, **__: others)  # as when vectors came meanwhile
    asked = asking.ask(wb, scored.id, QUESTIONS[0])
    rows = leasing.open_question(wb, Seat(scored.id, ann.id, "tops"), asked.question_id).rows
    best_first = [asked.candidates[i].sentence_id for i in asked.trace.ranking()]
    assert [r.sentence_id for r in rows][:3] == best_first
    assert [r.rank for r in rows][:3] == [1, 2, 3]
    earlier = [r.rank for r in rows][3:]
    assert earlier and earlier == sorted(earlier)
    of = [leasing.open_item(wb, asked.question_id, r.sentence_id, ann.id).candidates for r in rows]
    assert of == [3] * 3 + [len(everyone.candidates)] * len(earlier)


def test_an_act_on_a_long_list_is_told_whole(wb, scored, ann):
    noted = "\n\n".join(f"Note number {i} says {i}." for i in range(50))
    ingestion.ingest(wb, scored.id, [("notes.txt", noted.encode())])
    notes = next(d for d in documents.list_documents(wb, scored.id) if d.sentences == 50)
    item = leasing.find_next_question(wb, Seat(scored.id, ann.id, "tops"))
    shown = {x.id: Presentation() for x in documents.list_sentences(wb, notes.id)}
    for label in ("incorrect", "unsure"):
        annotation.give_labels(wb, question_id=item.question_id, annotator_id=ann.id, label=label, presentations=shown)
    for acts in (1, 2):
        told = annotation.list_acts(wb, ann.id, scored.id, acts)
        assert [(a.label, a.pairs) for a in told] == [("unsure", 50), ("incorrect", 50)][:acts]
        assert {a.sentence_id for a in told} == {min(shown)}


def test_a_question_that_one_person_has_before_them_is_not_given_to_another(wb, scored, ann, bob):
    mine = leasing.find_next_question(wb, Seat(scored.id, ann.id, "tops"))
    other = leasing.find_next_question(wb, Seat(scored.id, bob.id, "tops"))
    assert mine.question_id != other.question_id
    assert not any(r.free for r in leasing.open_question(wb, Seat(scored.id, bob.id, "tops"), mine.question_id).rows)


def count_leases(wb):
    with wb.read() as s:
        return s.scalar(text("SELECT count(*) FROM lease"))


def test_a_viewer_sees_a_list_and_keeps_it_from_nobody(wb, scored, ann, bob):
    mine = leasing.find_next_question(wb, Seat(scored.id, bob.id, "tops"))
    assert count_leases(wb) == len(mine.rows)
    people.set_role(wb, bob.id, "viewer", by=ann.id)
    seen = leasing.find_next_question(wb, Seat(scored.id, bob.id, "tops"))
    assert seen.question_id == mine.question_id
    assert count_leases(wb) == 0
    assert leasing.find_next_question(wb, Seat(scored.id, ann.id, "tops")).question_id == mine.question_id


def test_the_same_question_comes_until_it_is_passed(wb, scored, ann):
    first = leasing.find_next_question(wb, Seat(scored.id, ann.id, "tops"))
    assert leasing.find_next_question(wb, Seat(scored.id, ann.id, "tops")).question_id == first.question_id
    second = leasing.find_next_question(wb, Seat(scored.id, ann.id, "tops"), skips=[first.question_id])
    assert second.question_id != first.question_id


def test_an_adaptive_queue_holds_its_share_of_random_picks_and_says_so_with_the_event(wb, scored, give, ann):
    rules.set_rules(wb, scored.id, by=ann.id, control=0.5, blind=0.5)
    met = []
    while (item := leasing.find_next_item(wb, Seat(scored.id, ann.id, "uncertain"))) is not None:
        again = leasing.find_next_item(wb, Seat(scored.id, ann.id, "uncertain"))
        assert (again.sentence_id, again.assignment.control) == (item.sentence_id, item.assignment.control)
        met.append(item)
        give(ann, item)
    drawn = [i for i in met if i.assignment.control]
    assert 0.2 < len(drawn) / len(met) < 0.8
    assert {i.assignment.arm for i in drawn} == {"blind", "shown"}
    assert {i.assignment.arm for i in met if not i.assignment.control} == {""}
    with wb.read() as s:
        stored = s.execute(text("SELECT control, arm FROM label_event ORDER BY id")).all()
    assert [(bool(c), a) for c, a in stored] == [(i.assignment.control, i.assignment.arm) for i in met]


def test_a_blind_item_does_not_give_its_rank_away(wb, scored, ann):
    rules.set_rules(wb, scored.id, by=ann.id, blind=1.0)
    item = leasing.find_next_item(wb, Seat(scored.id, ann.id, "random"))
    assert item.assignment.arm == "blind"
    assert not any(c.isdigit() for c in item.why)


def test_a_blind_list_comes_in_another_order_and_always_the_same(wb, scored, ann):
    rules.set_rules(wb, scored.id, by=ann.id, blind=1.0)
    item = leasing.find_next_question(wb, Seat(scored.id, ann.id, "random"))
    ranks = [r.rank for r in item.rows]
    assert item.assignment.arm == "blind"
    assert sorted(ranks) == list(range(1, len(ranks) + 1))
    assert ranks != sorted(ranks)
    again = leasing.open_question(wb, Seat(scored.id, ann.id, "random"), item.question_id)
    others = [r.rank for r in again.rows if r.sentence_id != item.assignment.first_id]
    assert others == ranks[1:]


def test_tops_of_chosen_rankers_are_the_union_of_their_first_ten(wb, scored, give, ann):
    assert seats.list_pool(wb, scored.id) == ("generative", "cascade", "retrieval")
    pool = ("generative",)
    left, met = progress.measure_progress(wb, scored.id, ann.id, "tops", pool=pool).remaining, []
    while (item := leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops", pool=pool))) is not None:
        met.append(item.generative_rank)
        give(ann, item)
    assert met == sorted(met)
    assert max(met) <= 10
    assert len(met) == left
    for rank in (1, 2, 3):
        assert met.count(rank) == len(QUESTIONS)


def test_unlabelled_offers_one_candidate_of_every_question_nobody_labelled(wb, scored, give, ann):
    met = []
    while (item := leasing.find_next_item(wb, Seat(scored.id, ann.id, "unlabelled"))) is not None:
        met.append((item.question, item.rank))
        give(ann, item, "correct")
    assert sorted(q for q, _ in met) == sorted(QUESTIONS)
    assert {rank for _, rank in met} == {1}


def test_a_question_whose_only_label_is_on_a_sentence_that_left_its_document_is_unlabelled_again(
    wb, scored, give, clock, ann
):
    def count_remaining():
        return progress.measure_progress(wb, scored.id, ann.id, "unlabelled").remaining

    item, before = leasing.find_next_item(wb, Seat(scored.id, ann.id, "unlabelled")), count_remaining()
    give(ann, item, "correct")
    assert count_remaining() == before - 1
    [place] = documents.load_sentences(wb, [item.sentence_id])
    kept = [s.text for s in documents.list_sentences(wb, place.document_id) if s.id != item.sentence_id]
    clock.advance(minutes=11)
    report = ingestion.ingest(wb, scored.id, [(place.source, " ".join([*kept, "It is green."]).encode())])
    assert (report.updated, report.sentences, report.orphans) == (1, 1, 1)
    assert count_remaining() == before
    with wb.read() as s:  # and its list is made anew, with the new sentence
        assert item.question_id in questions.list_outdated_questions(s, scored.id)
    assert consensus.read_labels(wb, item.question_id) == {item.sentence_id: "correct"}


def test_unlabelled_goes_on_within_a_question_until_a_sentence_of_it_is_correct(wb, scored, give, ann, bob):
    seat, met = Seat(scored.id, ann.id, "unlabelled"), []
    for name in ("incorrect", "unsure", "incorrect", "correct"):
        item = leasing.find_next_item(wb, seat)
        met.append((item.question_id, item.rank))
        give(ann, item, name)
    first = met[0][0]
    assert met == [(first, rank) for rank in (1, 2, 3, 4)]
    after = leasing.find_next_item(wb, seat)
    assert after.question_id != first
    give(ann, after, "incorrect")
    begun = (first, after.question_id)
    assert leasing.find_next_item(wb, Seat(scored.id, bob.id, "unlabelled")).question_id not in begun
    assert leasing.find_next_question(wb, seat).question_id not in begun
    assert leasing.find_next_item(wb, seat, [after.question_id]).question_id not in begun
    give(ann, leasing.find_next_item(wb, Seat(scored.id, ann.id, "random")), "incorrect")  # another queue ends it
    assert leasing.find_next_item(wb, seat).question_id not in begun


def test_unlabelled_goes_on_within_a_question_where_only_a_peer_knows_of_a_correct_sentence(wb, scored, give, ann, bob):
    rules.set_rules(wb, scored.id, by=ann.id, overlap=2)
    seat = Seat(scored.id, ann.id, "unlabelled")
    first = leasing.find_next_item(wb, seat)
    give(ann, first, "incorrect")
    second = leasing.find_next_item(wb, seat)
    give(bob, second, "correct")  # to go on elsewhere would tell ann
    assert leasing.find_next_item(wb, seat).question_id == second.question_id == first.question_id


def test_unlabelled_goes_on_within_a_question_whose_correct_sentence_left_its_document(wb, scored, give, clock, ann):
    seat = Seat(scored.id, ann.id, "unlabelled")
    item = leasing.find_next_item(wb, seat)
    give(ann, item, "correct")
    [place] = documents.load_sentences(wb, [item.sentence_id])
    kept = [s.text for s in documents.list_sentences(wb, place.document_id) if s.id != item.sentence_id]
    clock.advance(minutes=11)
    ingestion.ingest(wb, scored.id, [(place.source, " ".join(kept).encode())])
    give(ann, leasing.find_next_item(wb, dataclasses.replace(seat, questions=(item.question_id,))), "incorrect")
    assert leasing.find_next_item(wb, seat).question_id == item.question_id


def test_unlabelled_goes_on_within_a_question_after_an_undo(wb, scored, give, ann):
    seat = Seat(scored.id, ann.id, "unlabelled")
    items = []
    for _ in range(2):
        items.append(leasing.find_next_item(wb, seat))
        give(ann, items[-1], "incorrect")
    annotation.undo_last(wb, ann.id, scored.id)
    skips = [(items[1].question_id, items[1].sentence_id)]
    assert leasing.find_next_item(wb, seat, skips).question_id == items[0].question_id


def test_unlabelled_does_not_tell_a_second_person_what_the_first_found_correct(wb, scored, give, ann, bob):
    rules.set_rules(wb, scored.id, by=ann.id, overlap=2)
    item = leasing.find_next_item(wb, Seat(scored.id, ann.id, "unlabelled"))
    give(ann, item, "correct")
    leasing.leave(wb, Seat(scored.id, ann.id, "unlabelled"))
    again = leasing.find_next_item(wb, Seat(scored.id, bob.id, "unlabelled"))
    assert (again.question_id, again.sentence_id) == (item.question_id, item.sentence_id)
    give(bob, again, "incorrect")
    assert leasing.find_next_item(wb, Seat(scored.id, bob.id, "unlabelled")).question_id == item.question_id


def test_early_begins_where_the_first_exit_and_the_last_are_furthest_apart(wb, scored, give, ann):
    first = leasing.find_next_item(wb, Seat(scored.id, ann.id, "early"))
    assert "it is ranked" in first.why and "after layer 2 and" in first.why
    assert f"and {first.rank} after layer 6." in first.why


def test_a_flag_brings_a_pair_back_with_its_note_until_somebody_labels_it(wb, scored, give, ann, bob):
    item = leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops"))
    give(ann, item, "unsure")
    pair = {"question_id": item.question_id, "sentence_id": item.sentence_id}
    flags.add_flag(wb, **pair, annotator_id=ann.id, note="  is a year\nan answer? ")
    found = leasing.find_next_item(wb, Seat(scored.id, bob.id, "flagged"))
    assert (found.sentence_id, found.why) == (item.sentence_id, "Flagged by ann: is a year an answer?")
    give(bob, found, "correct")
    assert leasing.find_next_item(wb, Seat(scored.id, bob.id, "flagged")) is None


def test_own_shows_ones_labels_newest_first(wb, scored, give, ann, bob):
    given = []
    for who, queue in ((ann, "tops"), (bob, "tops"), (ann, "tops")):
        item = leasing.find_next_item(wb, Seat(scored.id, who.id, queue))
        give(who, item)
        given.append((item.question_id, item.sentence_id))
    newest = leasing.find_next_item(wb, Seat(scored.id, ann.id, "own"))
    assert (newest.question_id, newest.sentence_id, newest.label) == (*given[2], "incorrect")
    other = leasing.find_next_item(wb, Seat(scored.id, ann.id, "own"), skips=[given[2]])
    assert (other.question_id, other.sentence_id) == given[0]
    assert leasing.find_next_item(wb, Seat(scored.id, ann.id, "own"), skips=[given[2], given[0]]) is None


def test_left_is_what_one_could_still_label_in_the_queue(wb, scored, give, ann, bob):
    from db.repositories import people as rows

    everything = progress.measure_progress(wb, scored.id, ann.id, "random").remaining
    item = leasing.find_next_item(wb, Seat(scored.id, ann.id, "random"))
    with wb.write() as s:  # as the labels that come with a corpus
        starter = rows.ensure_annotator(s, "starter", wb.clock(), is_imported=True)
    annotation.give_label(
        wb, question_id=item.question_id, sentence_id=item.sentence_id, annotator_id=starter.id, label="correct"
    )
    assert progress.measure_progress(wb, scored.id, ann.id, "random").remaining == everything - 1
    assert progress.measure_progress(wb, scored.id, ann.id, "flagged").remaining == 0


def test_pace_is_said_from_ten_labels_on(clock):
    times = [clock.now - timedelta(seconds=6 * i) for i in range(11)]
    assert progress._measure_pace(times[0], times[1:]) == pytest.approx(10.0)
    assert progress._measure_pace(times[0], times[1:10]) is None


def test_a_row_with_a_label_from_outside_takes_as_many_labels_of_people_as_are_wanted(wb, scored, ann, bob):
    from db.repositories import people as rows

    item = leasing.find_next_item(wb, Seat(scored.id, ann.id, "random"))
    pair = {"question_id": item.question_id, "sentence_id": item.sentence_id}

    def read_row(who):
        view = leasing.open_question(wb, Seat(scored.id, who.id, "tops"), item.question_id)
        leasing.leave(wb, Seat(scored.id, who.id, "tops"))
        return next(r for r in view.rows if r.sentence_id == item.sentence_id)

    with wb.write() as s:
        starter = rows.ensure_annotator(s, "starter", wb.clock(), is_imported=True)
    annotation.give_label(wb, **pair, annotator_id=starter.id, label="correct")
    assert not read_row(bob).is_open  # it is in front of ann
    leasing.leave(wb, Seat(scored.id, ann.id, "random"))
    row = read_row(bob)
    assert (row.free, row.is_open, row.imports) == (False, True, (("starter", "correct"),))
    annotation.give_label(wb, **pair, annotator_id=ann.id, label="incorrect")
    assert not read_row(bob).is_open and read_row(ann).is_open


def test_pace_is_of_this_sitting_only(wb, scored, give, clock, ann, monkeypatch):
    monkeypatch.setattr(progress, "MIN_PACE_LABELS", 3)
    for seconds in (0, 3600, 10, 10, 10):
        clock.advance(seconds=seconds)
        give(ann, leasing.find_next_item(wb, Seat(scored.id, ann.id, "random")))
    clock.advance(seconds=10)
    assert progress.measure_progress(wb, scored.id, ann.id).pace == pytest.approx(6.0)
    clock.advance(minutes=6)
    assert progress.measure_progress(wb, scored.id, ann.id).pace is None


def test_the_rest_are_no_labels_a_minute(wb, scored, give, clock, ann, monkeypatch):
    monkeypatch.setattr(progress, "MIN_PACE_LABELS", 3)
    item = leasing.find_next_question(wb, Seat(scored.id, ann.id, "tops"))
    give(ann, item, "correct", item.rows[0].sentence_id)
    clock.advance(seconds=2)
    reject_rest(wb, ann, leasing.open_question(wb, Seat(scored.id, ann.id, "tops"), item.question_id))
    clock.advance(seconds=2)
    assert progress.measure_progress(wb, scored.id, ann.id).pace is None
    for _ in range(3):
        clock.advance(seconds=10)
        give(ann, leasing.find_next_item(wb, Seat(scored.id, ann.id, "random")))
    clock.advance(seconds=10)
    assert progress.measure_progress(wb, scored.id, ann.id).pace == pytest.approx(6.0)


def test_undoing_the_rest_names_the_best_ranked_of_them(wb, scored, ann):
    item = leasing.find_next_question(wb, Seat(scored.id, ann.id, "tops"))
    best = max(item.rows, key=lambda r: r.sentence_id).sentence_id  # never the first by its number
    shown = {r.sentence_id: Presentation(rank=1 if r.sentence_id == best else 1 + r.rank) for r in item.rows}
    annotation.give_labels(
        wb, question_id=item.question_id, annotator_id=ann.id, label="incorrect", presentations=shown
    )
    assert annotation.undo_last(wb, ann.id, scored.id).sentence_id == best


def test_every_queue_has_a_line_that_explains_it():
    assert all(queue.description.endswith(".") and queue.name == name for name, queue in QUEUES.items())
