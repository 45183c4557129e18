"""Flags: what an annotator asks others to check, with a note."""

from __future__ import annotations

from dataclasses import dataclass

from app.labels.annotation import check_pair
from app.labels.consensus import tidy_note
from app.workbench import audit
from app.workbench.people import Gone, require
from app.workbench.workbench import Workbench
from db.repositories import question_lists, reviews

CHANGE_QUEUES = "change the label queues"  # in the audit log
INTO_QUEUES, OUT_OF_QUEUES = "put in the label queues", "taken out of the label queues"


@dataclass(frozen=True, slots=True)
class FlagView:
    """A flag that was set. `brings_back`: its question was in no queue before."""

    id: int
    brings_back: bool


def add_flag(wb: Workbench, *, question_id: int, sentence_id: int, annotator_id: int, note: str) -> FlagView:
    """Put a pair into the queue of flagged ones, with a note for others; if its question was taken out of the queues,
    it is in them again. Raises Gone, NotAllowed, BadSetting."""
    note = tidy_note(note)
    with wb.write(durable=True) as s:
        check_pair(s, question_id, sentence_id, annotator_id)
        question = question_lists.lock_question(s, question_id)
        if question is None:
            raise Gone("this question no longer exists; reload the page")
        brings_back = not question.queued
        question_lists.set_queued(s, [question_id], queued=True)
        if brings_back:
            audit.record(s, wb.clock(), annotator_id, CHANGE_QUEUES, question.text, f"{INTO_QUEUES} by a flag")
        return FlagView(reviews.add_flag(s, (question_id, sentence_id), annotator_id, note, wb.clock()).id, brings_back)


def list_flagged(wb: Workbench, question_id: int) -> frozenset[int]:
    """Ids of the question's sentences with a flag that nobody cleared."""
    with wb.read() as s:
        return frozenset(reviews.list_flagged(s, question_id))


def withdraw_flag(wb: Workbench, flag: FlagView, question_id: int, annotator_id: int) -> None:
    """Take one's own flag back, unless a label has cleared it; its question leaves the queues if it came with it and
    nobody has flagged or labelled any of it since. Raises NotAllowed."""
    with wb.write(durable=True) as s:
        require(s, annotator_id, "label")
        question = question_lists.lock_question(s, question_id)
        reviews.clear_flag(s, flag.id, annotator_id, wb.clock())
        if question is not None and flag.brings_back and not reviews.has_acts_since(s, question_id, flag.id):
            question_lists.set_queued(s, [question_id], queued=False)
            detail = f"{OUT_OF_QUEUES}: its flag was taken back"
            audit.record(s, wb.clock(), annotator_id, CHANGE_QUEUES, question.text, detail)
