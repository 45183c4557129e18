"""The current labels of a corpus as people look them up, and what became of one pair's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Label, Row, Select, func, or_, select
from sqlalchemy.orm import Session, aliased

from as2core.types import CORRECT, INCORRECT, UNSURE
from db.models import WITHDRAWN, Annotator, CurrentLabel, Document, LabelEvent, Question, Sentence
from db.repositories.labels import HANDED_OVER
from db.repositories.pairs import Pair, is_on


@dataclass(frozen=True, slots=True)
class LabelFilter:
    """Which labels of a corpus: of one person, with this label, and with each of `words` in the question or in the
    sentence; "" and () for all. `is_gone`: only those on sentences that left their documents."""

    corpus_id: int
    annotator: str = ""
    label: str = ""
    words: Sequence[str] = ()
    is_gone: bool = False

    def apply(self, statement: Select) -> Select:
        """To labels, with their questions, sentences and annotators joined."""
        statement = statement.where(Question.corpus_id == self.corpus_id)
        if self.annotator:
            statement = statement.where(Annotator.name == self.annotator)
        if self.label:
            statement = statement.where(CurrentLabel.label == self.label)
        if self.is_gone:
            statement = statement.where(Sentence.retired)
        for word in self.words:
            texts = (column.icontains(word, autoescape=True) for column in (Question.text, Sentence.text))
            statement = statement.where(or_(*texts))
        return statement


def list_labels(session: Session, which: LabelFilter, limit: int, offset: int = 0) -> list[Row]:
    """Rows (question_id, sentence_id, annotator_id, label, annotator, created, question, sentence, title, is_gone),
    newest first."""
    pair = CurrentLabel.question_id, CurrentLabel.sentence_id
    texts = Question.text.label("question"), Sentence.text.label("sentence"), Document.title
    is_gone = Sentence.retired.label("is_gone")
    by = CurrentLabel.annotator_id, CurrentLabel.label, Annotator.name.label("annotator"), CurrentLabel.created
    labels = _join(select(*pair, *by, *texts, is_gone)).join(Document, Document.id == Sentence.document_id)
    newest_first = which.apply(labels).order_by(CurrentLabel.id.desc())
    return list(session.execute(newest_first.limit(limit).offset(offset)))


def count_labels(session: Session, which: LabelFilter) -> int:
    return session.scalar(which.apply(_join(select(func.count())))) or 0


def _join(statement: Select) -> Select:
    return (
        statement.select_from(CurrentLabel)
        .join(Question, Question.id == CurrentLabel.question_id)
        .join(Sentence, Sentence.id == CurrentLabel.sentence_id)
        .join(Annotator, Annotator.id == CurrentLabel.annotator_id)
    )


def count_by_annotator(session: Session, corpus_id: int) -> list[Row]:
    """Rows (name, labels), most labels first."""
    return list(session.execute(_select_by_annotator(corpus_id)))


def count_by_person(session: Session, corpus_id: int, today: datetime) -> list[Row]:
    """Rows (name, labels, today, correct, incorrect, unsure, newest) of people, most labels first; `today`: when the
    day began."""
    kinds = (CORRECT, INCORRECT, UNSURE)
    counts = [func.count().filter(CurrentLabel.label == kind).label(kind) for kind in kinds]
    of_today = func.count().filter(CurrentLabel.created >= today).label("today")
    newest = func.max(CurrentLabel.created).label("newest")
    people = _select_by_annotator(corpus_id, of_today, *counts, newest).where(Annotator.imported.is_(False))
    return list(session.execute(people))


def _select_by_annotator(corpus_id: int, *more: ColumnElement) -> Select:
    """Rows (name, labels, and `more` of their current labels in the corpus), most labels first."""
    labels = func.count().label("labels")
    return (
        select(Annotator.name, labels, *more)
        .join(CurrentLabel, CurrentLabel.annotator_id == Annotator.id)
        .join(Question, Question.id == CurrentLabel.question_id)
        .where(Question.corpus_id == corpus_id)
        .group_by(Annotator.id, Annotator.name)
        .order_by(labels.desc(), Annotator.id)
    )


def list_history(session: Session, pair: Pair) -> list[Row]:
    """All that was done to a pair's labels, in order: rows (created, annotator_id, annotator, label, undoes, queue,
    moved). `moved`: when the label was moved here, or away where it is withdrawn; None where it was not."""
    columns = (LabelEvent.created, LabelEvent.annotator_id, Annotator.name.label("annotator"), LabelEvent.label)
    events = select(*columns, LabelEvent.undoes, LabelEvent.queue, _find_move()).join(Annotator)
    return list(session.execute(events.where(is_on(LabelEvent, pair)).order_by(LabelEvent.id)))


def _find_move() -> Label:
    """When the act of an event withdrew labels: one that gives some, too, has moved them."""
    away = aliased(LabelEvent)
    same = [getattr(away, name) == getattr(LabelEvent, name) for name in ("act", "annotator_id", "question_id")]
    withdrawals = select(func.max(away.created)).where(*same, away.label == WITHDRAWN, away.queue != HANDED_OVER)
    return withdrawals.where(LabelEvent.act != "").scalar_subquery().label("moved")
