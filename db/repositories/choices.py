"""The labels a retrain selects from: every current one with its annotator, its time, and the verdict on its pair."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Row, and_, func, select
from sqlalchemy.orm import Session

from db.models import Annotator, Corpus, Question, current_label
from db.repositories.labels import newest_verdicts


def votes(session: Session, corpus_id: int) -> list[Row]:
    """Rows (question_id, sentence_id, annotator, imported, label, created, verdict), oldest first; `verdict` is None
    where the pair has none."""
    ruled = newest_verdicts()
    pair = and_(ruled.c.question_id == current_label.c.question_id, ruled.c.sentence_id == current_label.c.sentence_id)
    statement = (
        select(
            current_label.c.question_id,
            current_label.c.sentence_id,
            Annotator.name.label("annotator"),
            Annotator.imported,
            current_label.c.label,
            current_label.c.created,
            ruled.c.label.label("verdict"),
        )
        .join(Question, Question.id == current_label.c.question_id)
        .join(Annotator, Annotator.id == current_label.c.annotator_id)
        .outerjoin(ruled, pair)
        .where(Question.corpus_id == corpus_id)
        .order_by(current_label.c.id)
    )
    return list(session.execute(statement))


def labelled_since(session: Session, corpus_id: int, when: datetime | None) -> int:
    """How many current labels people gave after that moment; all of them for None."""
    statement = (
        select(func.count())
        .select_from(current_label)
        .join(Question, Question.id == current_label.c.question_id)
        .join(Annotator, Annotator.id == current_label.c.annotator_id)
        .where(Question.corpus_id == corpus_id, Annotator.imported.is_(False))
    )
    if when is not None:
        statement = statement.where(current_label.c.created > when)
    return int(session.scalar(statement) or 0)


def automatic_corpora(session: Session) -> list[Corpus]:
    """Those with automatic retraining."""
    return [c for c in session.scalars(select(Corpus).order_by(Corpus.id)) if c.automatic]
