"""What was shown once and is shown again: after an undo, by the arrow left, from the list of acts."""

import pytest
from sqlalchemy import text

from app.components import label_desk, label_list
from app.components.label_desk import Seat, Seen
from app.services import asking, labelling, queueing, rules

QUESTIONS = ("When was the Eiffel Tower finished?", "Who designed the Forth Bridge?", "How is bread baked?")
SEEN = Seen(scores=True, guideline=0)
DESKS = pytest.mark.parametrize("desks", [label_desk, label_list], ids=["one", "list"])


@pytest.fixture
def scored(wb, towers):
    for q in QUESTIONS:
        asking.generative(wb, asking.ask(wb, towers.id, q))
    return towers


@pytest.fixture
def sit(wb, scored):
    def down(desks, who, queue):
        return desks.sit_down(wb, Seat(scored.id, who.id, queue, who.name))

    return down


def dealt(item):
    return item.queue, item.control, item.arm


def newest(wb):
    with wb.read() as s:
        found = s.execute(text("SELECT label, queue, control, arm FROM label_event ORDER BY id DESC")).first()
    return found.label, (found.queue, bool(found.control), found.arm)


@DESKS
@pytest.mark.parametrize(("control", "blind", "arm"), [(0, 1, "blind"), (1, 1, "blind"), (1, 0, "shown")])
def test_a_label_given_after_an_undo_counts_as_it_was_dealt(wb, scored, sit, ann, desks, control, blind, arm):
    rules.set_rules(wb, scored.id, by=ann.id, control=control, blind=blind)
    queue = "uncertain" if control else "random"
    desk = sit(desks, ann, queue)
    desk = desks.give(wb, desk, "correct", SEEN)
    assert newest(wb) == ("correct", (queue, bool(control), arm))
    desk, _ = desks.undo(wb, desk)
    assert dealt(desk.item) == (queue, bool(control), arm)
    desks.give(wb, desk, "incorrect", SEEN)
    assert newest(wb) == ("incorrect", (queue, bool(control), arm))


@DESKS
def test_an_undo_on_another_day_shows_the_item_as_blind_as_it_was(wb, scored, sit, ann, desks):
    rules.set_rules(wb, scored.id, by=ann.id, blind=1)
    desks.give(wb, sit(desks, ann, "random"), "correct", SEEN)
    desk, _ = desks.undo(wb, sit(desks, ann, "flagged"))  # empty
    assert dealt(desk.item) == ("random", False, "blind")
    assert "Shown without scores" in desk.item.why


@DESKS
def test_the_arrow_left_brings_an_item_skipped_as_it_was_dealt(wb, scored, sit, ann, desks):
    rules.set_rules(wb, scored.id, by=ann.id, control=1, blind=1)
    first = sit(desks, ann, "uncertain")
    again = desks.back(wb, desks.forward(wb, first))
    assert again.pair == first.pair
    assert dealt(again.item) == dealt(first.item) == ("uncertain", True, "blind")


def test_a_label_that_an_undo_restores_has_its_draw_again(wb, scored, sit, ann):
    rules.set_rules(wb, scored.id, by=ann.id, blind=1)
    item = sit(label_desk, ann, "random").item
    desk = label_desk.give(wb, sit(label_desk, ann, "random"), "correct", SEEN)
    labelling.give_label(
        wb, question_id=item.question_id, sentence_id=item.sentence_id, annotator_id=ann.id, label="unsure"
    )
    label_desk.undo(wb, desk)
    assert newest(wb) == ("correct", ("random", False, "blind"))


def test_what_no_queue_dealt_is_shown_again_as_such(wb, scored, ann):
    asked = asking.ask(wb, scored.id, QUESTIONS[0])
    pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id}
    labelling.give_label(wb, **pair, annotator_id=ann.id, label="correct")
    item = queueing.item_at(wb, **pair, annotator_id=ann.id)
    assert dealt(item) == (queueing.AGAIN, False, "")
    assert "Ranked" in item.why
