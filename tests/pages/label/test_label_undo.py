"""Undo: labels, skips, removals and flags come back in their order."""

import pytest
import stored
from app_pages import button, markup
from label_desk import BRIDGE, FIRST, SECOND, STEEL, TRAINS, front, label, open_label, opened_list, press, read_rows

from app.ask import stored_questions
from app.corpora import documents
from app.labels import annotation, label_list
from app.labels.items import Presentation
from db.models import Sentence


def test_undo_takes_the_label_back_and_shows_its_item_again(wb):
    at = press(press(open_label(), "correct"), "undo")
    given, taken_back = stored.label_events(wb)
    assert taken_back.undoes == given.id
    assert stored.labels(wb) == {}
    assert front(at) == FIRST


def test_the_newest_act_has_an_undo_of_its_own(wb):
    at = press(open_label(), "correct")
    at.button(key="label_act_undo").click().run()
    assert stored.labels(wb) == {}


def test_undo_says_what_it_took_back(wb):
    at = press(press(open_label(), "incorrect"), "undo")
    assert [t.value for t in at.toast] == ["Took back: incorrect, “The Forth Bridge was opened on 4 March 1890.”."]
    assert [t.value for t in press(at, "undo").toast] == ["You have nothing to undo."]


@pytest.mark.parametrize("mode", ["one", "list"])
def test_undo_after_a_removal_brings_the_question_back_and_leaves_the_labels_before_it(wb, mode):
    at = press(press(open_label({"mode": mode}), "incorrect"), "remove")
    assert "Removed from the queue" in markup(at)  # first of the last actions, which Undo takes back
    at = press(at, "undo")
    assert [t.value for t in at.toast] == ["Took back: removed from the queue, “Who designed the Forth Bridge?”."]
    assert stored_questions.is_queued(wb, BRIDGE) and front(at)[0] == BRIDGE
    assert stored.labels(wb) == {FIRST: "incorrect"}
    press(at, "undo")
    assert stored.labels(wb) == {}


def test_undo_after_a_skip_brings_the_question_back_and_leaves_the_label_before_it(wb):
    at = press(press(open_label(), "incorrect"), "skip")
    assert front(at)[0] != BRIDGE
    at = press(at, "undo")
    assert [t.value for t in at.toast] == ["Took back: skipped question, “Who designed the Forth Bridge?”."]
    assert front(at) == SECOND and at.session_state["_label_desk"].question_skips == ()
    assert stored.labels(wb) == {FIRST: "incorrect"}
    press(at, "undo")
    assert stored.labels(wb) == {}


def test_what_was_done_with_a_sentence_that_is_gone_is_undone_and_the_page_stays_where_it_is(wb):
    at = press(open_label(), "flag")
    at = press(button(at, "Flag").click().run().run(), "skip")
    with wb.read() as s:
        document = s.get(Sentence, FIRST[1]).document_id
    documents.delete_document(wb, document)
    for act in ("skipped question", "flagged"):
        at = press(at.run(), "undo")
        assert [e.value for e in at.error] == [] and any(f"Took back: {act}" in t.value for t in at.toast)
        assert front(at)[0] != BRIDGE
    assert [t.value for t in press(at.run(), "undo").toast] == ["You have nothing to undo."]


def test_undo_takes_a_flag_and_the_labels_after_it_back_in_their_order(wb, ann):
    at = press(open_label(), "flag")
    button(at, "Flag").click().run()
    at = press(press(at.run(), "correct"), "undo")
    assert stored.labels(wb) == {} and stored.flags(wb, FIRST) == [("me", "")]
    at = press(at, "undo")
    assert stored.flags(wb, FIRST) == []
    assert [t.value for t in at.toast] == ["Took back: flagged, “The Forth Bridge was opened on 4 March 1890.”."]
    assert front(at) == FIRST


def test_labels_that_were_moved_are_one_act_that_undo_names(wb, me):
    label(wb, me, FIRST)
    label(wb, me, SECOND)
    records = label_list.list_labels(wb, stored.TOWERS, by=me.id, limit=9).page
    targets = {FIRST[1]: STEEL, SECOND[1]: TRAINS}
    display = Presentation(queue="own")
    label_list.shift_labels(wb, stored.TOWERS, records, targets, by=me.id, presentation=display)
    at = open_label()
    assert ">Moved</span>" in markup(at) and "and 1 more" in markup(at) and ">Withdrawn</span>" not in markup(at)
    at = press(at, "undo")
    assert [t.value for t in at.toast] == ["Took back: moved, 2 labels."]
    assert stored.labels(wb) == {FIRST: "correct", SECOND: "correct"}


def test_a_removal_is_not_undone_in_another_corpus(wb):
    at = press(open_label(), "remove")
    at.query_params["corpus"] = "Works"
    at = at.run()
    assert "label_undo" not in [b.key for b in at.button]
    at.query_params["corpus"] = "Towers"
    press(at.run(), "undo")
    assert stored_questions.is_queued(wb, BRIDGE)


def test_undoing_the_rest_returns_to_the_row_one_was_at(wb):
    at = press(press(press(opened_list(), "down"), "down"), "rest")
    press(press(at, "undo"), "correct")
    assert stored.labels(wb) == {(BRIDGE, TRAINS): "correct"}


def test_undoing_the_rest_from_a_row_that_was_not_in_it_goes_to_the_first_that_was(wb):
    at = press(press(opened_list(), "correct"), "up")
    at = press(press(at, "rest"), "undo")
    press(at, "unsure")
    assert stored.labels(wb) == {FIRST: "correct", SECOND: "unsure"}


def test_undo_in_a_list_leaves_the_reason_on_its_row(wb):
    at = opened_list(queue="uncertain")
    before = read_rows(at)
    assert any("Why this candidate" in row for row in before)
    at = press(press(at, "incorrect"), "undo")
    assert read_rows(at) == before


def test_a_viewer_cannot_undo_what_they_did_before_they_were_one(wb):
    at = press(open_label(), "correct")
    stored.set_role(wb, "viewer")
    assert at.run().button(key="label_act_undo").disabled


def test_an_undo_that_cannot_be_is_told_in_a_toast(wb, me, ann):
    label(wb, me, FIRST)
    annotation.withdraw(wb, question_id=FIRST[0], sentence_id=FIRST[1], annotator_id=me.id)
    label(wb, ann, FIRST, "incorrect")
    at = press(open_label(), "undo")
    [told] = [t.value for t in at.toast]
    assert "stays withdrawn" in told
    assert not at.error
    press(at, "correct")
    assert stored.labels(wb) == {SECOND: "correct"}
