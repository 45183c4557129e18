"""The questions that a corpus has: finding them, whether the label queues offer them, and deleting them.

A question typed on Ask is stored with its candidates, and is in no label queue until somebody labels one of them on Ask
or adds it. `db.models.Question.queued` holds that; the queues, their counts and the scoring job read it. A question
that is removed keeps its labels: retrains, exports and comparisons use them as before.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.ask.questions import rank_in_background
from app.corpora.corpora import lock_corpus
from app.labels.flags import CHANGE_QUEUES, INTO_QUEUES, OUT_OF_QUEUES
from app.workbench import audit, people
from app.workbench.people import ADMIN, Gone, NotAllowed, has_role
from app.workbench.workbench import Workbench, split_search
from as2core.errors import As2Error
from as2core.messages import count
from db.models import Corpus, Question
from db.repositories import question_lists as rows
from db.repositories.question_lists import QuestionFilter

MAX_RECENT_QUESTIONS = 10
STATES: dict[str, dict[str, bool]] = {
    "": {},
    "queued": {"is_queued": True},
    "removed": {"is_queued": False},
    "unlabelled": {"is_labelled": False},
    "labelled": {"is_labelled": True},
    "unanswered": {"is_unanswered": True},
}
DELETE, DELETE_LEFTOVERS = "delete a question", "delete questions without labels"  # in the audit log


class LabelsChanged(As2Error):
    """The question carries other labels than the person agreed to delete."""


@dataclass(frozen=True, slots=True)
class QuestionView:
    """`asked_at`: when it was last asked on Ask or with `as2 ask`, None if it never was. `labels`: pairs of it with a
    current label; `orphans`: those whose sentence left its document. `queued`: whether the label queues offer it."""

    id: int
    text: str
    origin: str
    queued: bool
    asked_at: datetime | None
    labels: int
    orphans: int


@dataclass(frozen=True, slots=True)
class QuestionsView:
    """One page of the questions that a search finds, `total` of them; `origins`: how many the corpus has of each."""

    page: tuple[QuestionView, ...]
    total: int
    origins: dict[str, int]


@dataclass(frozen=True, slots=True)
class DeletionView:
    """What would go with a question: `labels` of everyone, by name. `refusal`: why this person may not delete it, ""
    if they may."""

    id: int
    text: str
    by_name: tuple[tuple[str, int], ...]
    refusal: str

    @property
    def labels(self) -> int:
        return sum(n for _, n in self.by_name)


def list_questions(
    wb: Workbench,
    corpus_id: int,
    *,
    search: str = "",
    origin: str = "",
    state: str = "",
    limit: int,
    offset: int = 0,
) -> QuestionsView:
    """Last asked or made first. `search`: words or parts of them, in any order; `origin`: of one origin; `state`: in
    one of STATES."""
    which = QuestionFilter(corpus_id, split_search(search), origin, **STATES[state])
    with wb.read() as s:
        records = rows.list_questions_with_counts(s, which, limit, offset)
        total, origins = rows.count_questions(s, which), rows.count_origins(s, corpus_id)
    return QuestionsView(tuple(QuestionView(**row._asdict()) for row in records), total, origins)


def list_recent(wb: Workbench, corpus_id: int, annotator_id: int, limit: int = MAX_RECENT_QUESTIONS) -> tuple[str, ...]:
    """The questions that this person asked last, newest first."""
    with wb.read() as s:
        return tuple(rows.list_asked_by(s, corpus_id, annotator_id, limit))


def count_queued(wb: Workbench, corpus_id: int) -> int:
    """How many questions the label queues offer."""
    with wb.read() as s:
        return rows.count_queued(s, corpus_id)


def is_queued(wb: Workbench, question_id: int) -> bool:
    with wb.read() as s:
        question = s.get(Question, question_id)
        return question is not None and question.queued


def set_queued(wb: Workbench, question_ids: Collection[int], *, queued: bool, by: int) -> None:
    """Put questions in the label queues, ranked in the background if need be, or take them out. Their labels stay.
    Raises Gone, NotAllowed for a viewer."""
    with wb.write() as s:
        people.require(s, by, CHANGE_QUEUES)
        questions = [_lock(s, i) for i in sorted(question_ids)]
        corpora = {question.corpus_id for question in questions}
        for corpus_id in sorted(corpora):
            changes = [q.text for q in questions if q.corpus_id == corpus_id and q.queued != queued]
            _record_queue_change(s, wb, by, corpus_id, changes, queued=queued)
        rows.set_queued(s, question_ids, queued=queued)
    for corpus_id in corpora if queued else ():
        rank_in_background(wb, corpus_id)


def _record_queue_change(
    s: Session, wb: Workbench, by: int, corpus_id: int, texts: Sequence[str], *, queued: bool
) -> None:
    """One entry of the audit log, however many questions one act was about."""
    verb = INTO_QUEUES if queued else OUT_OF_QUEUES
    if len(texts) == 1:
        audit.record(s, wb.clock(), by, CHANGE_QUEUES, texts[0], verb)
    elif texts:
        detail = f"{len(texts):,} questions {verb}: {'; '.join(texts)}"
        audit.record(s, wb.clock(), by, CHANGE_QUEUES, s.get_one(Corpus, corpus_id).name, detail)


def preview_deletion(wb: Workbench, question_id: int, *, by: int) -> DeletionView:
    """What `delete_question` would delete. Raises Gone."""
    with wb.read() as s:
        question = s.get(Question, question_id)
        if question is None:
            raise _explain_absence()
        return _preview(s, question, by)


def delete_question(wb: Workbench, question_id: int, *, labels: int, by: int) -> None:
    """Delete a question with its candidates, labels and verdicts. `labels`: how many the person was told would go with
    it. Raises LabelsChanged if it carries another number now, Gone, NotAllowed for a viewer, and for an annotator if
    somebody else labelled it."""
    wb.later.finish(question_id)  # a run that was stored after its question would have none to belong to
    with wb.write(durable=True) as s:
        person = people.require(s, by, DELETE)
        question = _lock(s, question_id)
        preview, corpus = _preview(s, question, by), s.get_one(Corpus, question.corpus_id).name
        if preview.refusal:
            raise NotAllowed(preview.refusal, actor=person.name, act=DELETE, target=preview.text)
        if preview.labels != labels:
            now = count(preview.labels, "label")
            raise LabelsChanged(f"the question has {now} now, not {labels}: look at it again")
        rows.delete_question(s, question_id)
        audit.record(s, wb.clock(), by, DELETE, preview.text, f"of {corpus}; {count(labels, 'label')}")


def list_leftovers(wb: Workbench, corpus_id: int) -> tuple[int, ...]:
    """Ids of the questions that were typed on Ask, have no label, and are not in the label queues."""
    with wb.read() as s:
        return tuple(rows.list_leftovers(s, corpus_id))


def delete_leftovers(wb: Workbench, corpus_id: int, question_ids: Collection[int], *, by: int) -> tuple[int, ...]:
    """Delete those of `question_ids`, of which the person was told, that are still leftovers; returns these. Raises
    UnknownCorpus, NotAllowed for a viewer."""
    for question_id in question_ids:
        wb.later.finish(question_id)  # a run that was stored after its question would have none to belong to
    with wb.write(durable=True) as s:
        people.require(s, by, DELETE_LEFTOVERS)
        lock_corpus(s, corpus_id)
        leftovers = tuple(sorted(set(rows.list_leftovers(s, corpus_id)).intersection(question_ids)))
        for question_id in leftovers:
            rows.delete_question(s, question_id)
        corpus = s.get_one(Corpus, corpus_id)
        audit.record(s, wb.clock(), by, DELETE_LEFTOVERS, corpus.name, f"typed on Ask: {len(leftovers):,}")
    return leftovers


def _preview(s: Session, question: Question, by: int) -> DeletionView:
    records = rows.count_labels_by_name(s, question.id)
    others = [row.annotator for row in records if not row.imported and row.annotator_id != by]
    refusal = ""
    if others and not has_role(s, by, ADMIN):
        refusal = f"only an admin can delete a question that others labelled, here {', '.join(others)}"
    return DeletionView(question.id, question.text, tuple((row.annotator, row.labels) for row in records), refusal)


def _lock(s: Session, question_id: int) -> Question:
    question = rows.lock_question(s, question_id)
    if question is None:
        raise _explain_absence()
    return question


def _explain_absence() -> Gone:
    return Gone("this question no longer exists; reload the page")
