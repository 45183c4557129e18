"""The questions of a corpus as people look them up: all of them, those somebody asked last, and deleting one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Row, Select, delete, func, select, update
from sqlalchemy.orm import Session

from as2core.types import CORRECT
from db.models import ASKED, Annotator, CurrentLabel, Flag, Question, Run, Sentence


@dataclass(frozen=True, slots=True)
class QuestionFilter:
    """Which questions of a corpus: those whose text has each of `words`, of this `origin`, that the label queues offer
    or not, that have a label or not, and that had no answer when they were asked last, and have none labelled correct;
    (), "" and None for all."""

    corpus_id: int
    words: Sequence[str] = ()
    origin: str = ""
    is_queued: bool | None = None
    is_labelled: bool | None = None
    is_unanswered: bool | None = None

    def apply(self, statement: Select) -> Select:
        statement = statement.where(Question.corpus_id == self.corpus_id)
        for word in self.words:
            statement = statement.where(Question.text.icontains(word, autoescape=True))
        if self.is_queued is not None:
            statement = statement.where(Question.queued == self.is_queued)
        if self.is_labelled is not None:
            has_label = select(CurrentLabel.id).where(CurrentLabel.question_id == Question.id).exists()
            statement = statement.where(has_label if self.is_labelled else ~has_label)
        if self.is_unanswered:
            statement = statement.where(_had_no_answer())
        return statement.where(Question.origin == self.origin) if self.origin else statement


def list_questions_with_counts(session: Session, which: QuestionFilter, limit: int, offset: int = 0) -> list[Row]:
    """Rows (id, text, origin, queued, asked_at, labels, orphans), last asked or made first. `asked_at`: when last, None
    if never. `labels`: pairs that anyone labels at present; `orphans`: those whose sentence left its document."""
    asked_at = select(func.max(Run.created)).where(Run.question_id == Question.id, _was_asked()).scalar_subquery()
    pairs = select(func.count(func.distinct(CurrentLabel.sentence_id))).where(CurrentLabel.question_id == Question.id)
    columns = (Question.id, Question.text, Question.origin, Question.queued, asked_at.label("asked_at"))
    orphans = pairs.join(Sentence, Sentence.id == CurrentLabel.sentence_id).where(Sentence.retired)
    counts = pairs.scalar_subquery().label("labels"), orphans.scalar_subquery().label("orphans")
    query = which.apply(select(*columns, *counts))
    newest_first = (func.coalesce(asked_at, Question.created).desc(), Question.id.desc())
    return list(session.execute(query.order_by(*newest_first).limit(limit).offset(offset)))


def _was_asked() -> ColumnElement[bool]:
    """Whether somebody asked for the run; runs of the first programs do not say, and all were made by Ask."""
    return func.coalesce(Run.settings["by"].as_string(), "ask") == "ask"


def _had_no_answer() -> ColumnElement[bool]:
    of_question = Run.question_id == Question.id, _was_asked()
    newest = select(func.max(Run.id)).where(*of_question).correlate(Question).scalar_subquery()
    has_none = select(Run.id).where(Run.id == newest, Run.settings["is_answered"].as_boolean().is_(False)).exists()
    labels = select(CurrentLabel.id).join(Sentence, Sentence.id == CurrentLabel.sentence_id)
    correct = labels.where(CurrentLabel.question_id == Question.id, CurrentLabel.label == CORRECT, ~Sentence.retired)
    return has_none & ~correct.exists()


def count_questions(session: Session, which: QuestionFilter) -> int:
    return session.scalar(which.apply(select(func.count()).select_from(Question))) or 0


def count_origins(session: Session, corpus_id: int) -> dict[str, int]:
    origins = select(Question.origin, func.count()).where(Question.corpus_id == corpus_id).group_by(Question.origin)
    return {row[0]: row[1] for row in session.execute(origins)}


def count_queued(session: Session, corpus_id: int) -> int:
    queued = select(func.count()).select_from(Question).where(Question.corpus_id == corpus_id, Question.queued)
    return session.scalar(queued) or 0


def list_leftovers(session: Session, corpus_id: int) -> list[int]:
    """Ids of the questions that somebody typed on Ask and nobody labelled, flagged or put in the label queues."""
    with_label = select(CurrentLabel.id).where(CurrentLabel.question_id == Question.id).exists()
    with_flag = select(Flag.id).where(Flag.question_id == Question.id, Flag.cleared.is_(None)).exists()
    ids = select(Question.id).where(Question.corpus_id == corpus_id, Question.origin == ASKED)
    return list(session.scalars(ids.where(~Question.queued, ~with_label, ~with_flag).order_by(Question.id)))


def list_asked_by(session: Session, corpus_id: int, annotator_id: int, limit: int) -> list[str]:
    """The texts of the questions this person asked last, newest first."""
    mine = select(Question.text).join(Run, Run.question_id == Question.id)
    mine = mine.where(Question.corpus_id == corpus_id, Run.annotator_id == annotator_id)
    newest_first = mine.group_by(Question.id, Question.text).order_by(func.max(Run.id).desc())
    return list(session.scalars(newest_first.limit(limit)))


def set_queued(session: Session, question_ids: Collection[int], *, queued: bool) -> None:
    session.execute(update(Question).where(Question.id.in_(question_ids)).values(queued=queued))


def ensure_queued(session: Session, question_id: int) -> None:
    """Once it is held against who takes it out; labels on it wait for nobody. It is not written again within one
    transaction: PostgreSQL would then lock the corpus, too."""
    question = session.get(Question, question_id, with_for_update={"key_share": True})
    if question is not None and not question.queued:
        set_queued(session, [question_id], queued=True)


def lock_question(session: Session, question_id: int) -> Question | None:
    """Hold it for this transaction."""
    return session.get(Question, question_id, with_for_update=True)


def count_labels_by_name(session: Session, question_id: int) -> list[Row]:
    """Rows (annotator_id, annotator, imported, labels) of the current labels on a question, the most first."""
    columns = (CurrentLabel.annotator_id, Annotator.name.label("annotator"), Annotator.imported)
    query = select(*columns, func.count().label("labels")).join_from(CurrentLabel, Annotator)
    by_name = query.where(CurrentLabel.question_id == question_id).group_by(*columns)
    return list(session.execute(by_name.order_by(func.count().desc(), Annotator.name)))


def delete_question(session: Session, question_id: int) -> None:
    """With its candidates, runs, labels and verdicts."""
    session.execute(delete(Question).where(Question.id == question_id))
