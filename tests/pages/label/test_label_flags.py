"""Flags, and what a review of them shows."""

import pytest
import stored
from app_pages import button, markup
from label_desk import BRIDGE, FIRST, SECOND, front, leave, open_label, opened_list, press, read_rows

from app.ask import stored_questions
from app.labels import flags, leasing
from app.labels.seats import Seat
from db.repositories import reviews


def test_a_flagged_row_has_a_mark_until_the_flag_is_cleared(wb, ann):
    at = opened_list(queue="uncertain")
    assert not any("flagged" in row for row in read_rows(at))
    flags.add_flag(wb, question_id=SECOND[0], sentence_id=SECOND[1], annotator_id=ann.id, note="?")
    marked = [row for row in read_rows(at.run()) if "⚑ flagged" in row]
    assert len(marked) == 1 and "Sir John Fowler designed it" in marked[0]
    with wb.write() as s:
        reviews.clear_flags(s, SECOND, wb.clock())
    assert not any("flagged" in row for row in read_rows(at.run()))


def test_a_flag_is_stored_with_its_note(wb, ann):
    at = press(open_label(), "flag")
    at.text_input(key="label_flag_note").set_value("is a year enough?")
    button(at, "Flag").click().run()
    assert stored.flags(wb, FIRST) == [("me", "is a year enough?")]


def test_a_flag_brings_a_question_that_was_taken_out_of_the_queues_back_into_them(wb, me, ann):
    stored_questions.set_queued(wb, [BRIDGE], queued=False, by=me.id)
    at = press(open_label({"only": str(BRIDGE)}), "flag")
    at = button(at, "Flag").click().run()
    told = "Flagged. It is now in the queue Flagged. Its question is in the label queues again."
    assert [t.value for t in at.toast] == [told]
    item = leasing.find_next_item(
        wb, Seat(stored.TOWERS, me.id, "flagged", holder=at.session_state["_label_desk"].seat.holder)
    )
    assert item is not None and (item.question_id, item.sentence_id) == FIRST
    press(at, "undo")
    assert not stored_questions.is_queued(wb, BRIDGE)


def flag_the_first(at):
    return button(press(at, "flag"), "Flag").click().run().run()


def test_a_review_says_that_what_is_left_is_open_at_another_desk(wb):
    at = flag_the_first(open_label())
    theirs = open_label({"queue": "flagged"})
    assert "1 sentence is open at another desk" in markup(theirs) and "Nothing is flagged" not in markup(theirs)
    press(at, "forward")
    assert front(theirs.run()) == FIRST  # it was given back
    assert "You skipped 1 item. Press → to see them again." in markup(press(theirs, "forward"))


@pytest.mark.parametrize("mode", ["one", "list"])
def test_who_flags_the_last_item_and_moves_on_leaves_it_to_others(wb, ann, mode):
    leave(wb, ann, FIRST)
    at = flag_the_first(open_label({"mode": mode}))
    assert front(press(at, "forward")) is None
    assert front(open_label({"queue": "flagged"})) == FIRST
