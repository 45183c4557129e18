"""Flags: what taking one back leaves as it was, what it does not touch, and the note of a flag or a verdict."""

import pytest
from tower_texts import QUESTIONS

from app.ask import asking, stored_questions
from app.labels import annotation, conflicts, flags, leasing
from app.labels.consensus import MAX_NOTE_CHARS
from app.labels.seats import Seat
from app.workbench import audit_log
from as2core.errors import BadSetting


@pytest.fixture
def pair(wb, towers):
    """Of a question that is in no queue."""
    view = asking.ask(wb, towers.id, QUESTIONS[0], as_typed=True)
    wb.later.finish()
    return {"question_id": view.question_id, "sentence_id": view.candidates[0].sentence_id}


def list_queue_changes(wb):
    return [event.detail for event in audit_log.list_events(wb, by=None, act="queues")]


def test_a_flag_that_is_taken_back_takes_its_question_out_of_the_queues_again(wb, pair, ann):
    flag = flags.add_flag(wb, **pair, annotator_id=ann.id, note="")
    assert flag.brings_back and stored_questions.is_queued(wb, pair["question_id"])
    flags.withdraw_flag(wb, flag, pair["question_id"], ann.id)
    assert not stored_questions.is_queued(wb, pair["question_id"])
    assert list_queue_changes(wb) == [
        "taken out of the label queues: its flag was taken back", "put in the label queues by a flag"
    ]  # fmt: skip


def test_somebody_else_s_flag_keeps_its_question_in_the_queues(wb, towers, pair, ann, bob):
    flag = flags.add_flag(wb, **pair, annotator_id=ann.id, note="")
    flags.add_flag(wb, **pair, annotator_id=bob.id, note="1889?")
    flags.withdraw_flag(wb, flag, pair["question_id"], ann.id)
    found = leasing.find_next_item(wb, Seat(towers.id, ann.id, "flagged"))
    assert found is not None and found.why == "Flagged by bob: 1889?"
    assert list_queue_changes(wb) == ["put in the label queues by a flag"]


def test_a_label_given_since_keeps_its_question_in_the_queues(wb, pair, ann, bob):
    flag = flags.add_flag(wb, **pair, annotator_id=ann.id, note="")
    annotation.give_label(wb, **pair, annotator_id=bob.id, label="correct")
    flags.withdraw_flag(wb, flag, pair["question_id"], ann.id)
    assert stored_questions.is_queued(wb, pair["question_id"])


@pytest.mark.parametrize("act", [flags.add_flag, lambda *a, **k: conflicts.adjudicate(*a, **k, label="correct")])
def test_a_note_that_is_too_long_is_refused_and_not_cut(wb, pair, ann, act):
    annotation.give_label(wb, **pair, annotator_id=ann.id, label="correct")
    with pytest.raises(BadSetting, match=f"at most {MAX_NOTE_CHARS} characters, not {MAX_NOTE_CHARS + 1}"):
        act(wb, **pair, annotator_id=ann.id, note="x" * (MAX_NOTE_CHARS + 1))
    act(wb, **pair, annotator_id=ann.id, note=" x" * (MAX_NOTE_CHARS // 2))
