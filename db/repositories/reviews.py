"""Reviews of labels: verdicts, flags, labels in doubt; and the guidelines of a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Row, Select, case, delete, func, or_, select, update
from sqlalchemy.orm import Session

from db.models import (
    WITHDRAWN,
    Annotator,
    Document,
    Flag,
    Guideline,
    Question,
    Sentence,
    Suspicion,
    Verdict,
    current_label,
)
from db.repositories.labels import newest_verdicts
from db.repositories.pairs import Pair, is_on, is_same_pair


def add_verdict(session: Session, pair: Pair, annotator_id: int, label: str, note: str, now: datetime) -> Verdict:
    row = Verdict(
        question_id=pair[0], sentence_id=pair[1], annotator_id=annotator_id, label=label, note=note, created=now
    )
    session.add(row)
    session.flush()
    return row


def verdicts(session: Session, corpus_id: int) -> dict[Pair, Row]:
    """Pair -> (label, note, name of who gave it) of the verdicts in force in a corpus."""
    ruled = newest_verdicts()
    found = session.execute(
        select(ruled, Annotator.name)
        .join(Annotator, Annotator.id == ruled.c.annotator_id)
        .join(Question, Question.id == ruled.c.question_id)
        .where(Question.corpus_id == corpus_id)
    )
    return {(r.question_id, r.sentence_id): r for r in found}


def comparable_labels(session: Session, corpus_id: int) -> list[Row]:
    """Current labels of people on pairs that two or more of them label, or that a verdict settles: rows (question_id,
    sentence_id, annotator_id, name, label, created, kind, question, text, title), by pair, oldest first."""
    ruled = newest_verdicts()
    given = (
        select(
            current_label.c.question_id,
            current_label.c.sentence_id,
            current_label.c.annotator_id,
            Annotator.name,
            current_label.c.label,
            current_label.c.created,
            Question.kind,
            Question.text.label("question"),
            Sentence.text,
            Document.title,
            func.count().over(partition_by=(current_label.c.question_id, current_label.c.sentence_id)).label("people"),
        )
        .join(Annotator, Annotator.id == current_label.c.annotator_id)
        .join(Question, Question.id == current_label.c.question_id)
        .join(Sentence, Sentence.id == current_label.c.sentence_id)
        .join(Document, Document.id == Sentence.document_id)
        .where(Question.corpus_id == corpus_id, Annotator.imported.is_(False))
        .subquery()
    )
    has_verdict = select(ruled.c.id).where(is_same_pair(ruled.c, given.c)).exists()
    statement = select(given).where(or_(given.c.people > 1, has_verdict))
    return list(session.execute(statement.order_by(given.c.question_id, given.c.sentence_id, given.c.created)))


def add_flag(session: Session, pair: Pair, annotator_id: int, note: str, now: datetime) -> None:
    session.add(Flag(question_id=pair[0], sentence_id=pair[1], annotator_id=annotator_id, note=note, created=now))
    session.flush()


def flags(session: Session, pair: Pair) -> list[Row]:
    """(name, note) of the flags on a pair that nobody cleared, oldest first."""
    return list(
        session.execute(
            select(Annotator.name, Flag.note)
            .join(Annotator, Annotator.id == Flag.annotator_id)
            .where(is_on(Flag, pair), Flag.cleared.is_(None))
            .order_by(Flag.id)
        )
    )


def clear_flags(session: Session, pair: Pair, now: datetime) -> None:
    session.execute(update(Flag).where(is_on(Flag, pair), Flag.cleared.is_(None)).values(cleared=now))


def mark_reviewed(session: Session, pair: Pair, now: datetime) -> None:
    """The label in doubt was confirmed or corrected."""
    session.execute(update(Suspicion).where(is_on(Suspicion, pair), Suspicion.looked.is_(None)).values(looked=now))


def restore_reviews(session: Session, pair: Pair, then: datetime) -> None:
    """Bring back the flags and the doubt that a label given at `then` settled."""
    session.execute(update(Flag).where(is_on(Flag, pair), Flag.cleared == then).values(cleared=None))
    session.execute(update(Suspicion).where(is_on(Suspicion, pair), Suspicion.looked == then).values(looked=None))


def newest_guideline(session: Session, corpus_id: int) -> Row | None:
    """(Guideline, name of who wrote it)."""
    return session.execute(_guidelines(corpus_id).limit(1)).first()


def guidelines(session: Session, corpus_id: int) -> list[Row]:
    """As `newest_guideline`, newest first."""
    return list(session.execute(_guidelines(corpus_id)))


def _guidelines(corpus_id: int) -> Select:
    return (
        select(Guideline, Annotator.name)
        .join(Annotator, Annotator.id == Guideline.annotator_id)
        .where(Guideline.corpus_id == corpus_id)
        .order_by(Guideline.version.desc())
    )


def add_guideline(session: Session, corpus_id: int, version: int, text: str, annotator_id: int, now: datetime) -> None:
    session.add(Guideline(corpus_id=corpus_id, version=version, text=text, annotator_id=annotator_id, created=now))
    session.flush()


def suspicion(session: Session, pair: Pair) -> Suspicion | None:
    """The doubt about the label that the pair carries now, looked at or not."""
    return session.scalar(select(Suspicion).where(is_on(Suspicion, pair), label_stands()))


def label_stands() -> ColumnElement[bool]:
    """Whether the label that a suspicion is about is still what the pair's labels come to, settled as
    `app.labels.consensus` does, or the verdict on them."""
    verdict = (
        select(Verdict.label)
        .where(is_same_pair(Verdict, Suspicion))
        .order_by(Verdict.id.desc())
        .limit(1)
        .correlate(Suspicion)
        .scalar_subquery()
    )

    def surplus(*, imported: bool) -> ColumnElement[int]:
        """Correct less incorrect, NULL if nobody said either."""
        return (
            select(func.sum(case((current_label.c.label == "correct", 1), else_=-1)))
            .join(Annotator, Annotator.id == current_label.c.annotator_id)
            .where(
                is_same_pair(current_label.c, Suspicion),
                current_label.c.label.in_(("correct", "incorrect")),
                Annotator.imported.is_(imported),
            )
            .correlate(Suspicion)
            .scalar_subquery()
        )

    counts = func.coalesce(surplus(imported=False), surplus(imported=True))
    return case(
        (verdict != WITHDRAWN, verdict == Suspicion.label), (Suspicion.label == "correct", counts > 0), else_=counts < 0
    )


def put_suspicions(session: Session, corpus_id: int, found: Sequence[tuple[Pair, str, float]], now: datetime) -> int:
    """Replace a corpus's (pair, label, doubt), but for those that somebody looked at and left as they were; returns how
    many wait for a look."""
    of_corpus = select(Question.id).where(Question.corpus_id == corpus_id)
    looked = {
        ((x.question_id, x.sentence_id), x.label)
        for x in session.scalars(
            select(Suspicion).where(Suspicion.question_id.in_(of_corpus), Suspicion.looked.is_not(None))
        )
    }
    fresh = [f for f in found if (f[0], f[1]) not in looked]
    session.execute(delete(Suspicion).where(Suspicion.question_id.in_(of_corpus), Suspicion.looked.is_(None)))
    for pair in {p for p, _ in looked} & {f[0] for f in fresh}:  # the label was changed since
        session.execute(delete(Suspicion).where(is_on(Suspicion, pair)))
    session.add_all(
        Suspicion(question_id=q, sentence_id=c, label=label, doubt=doubt, created=now) for (q, c), label, doubt in fresh
    )
    session.flush()
    return len(fresh)


def count_suspicions(session: Session, corpus_id: int) -> int:
    """How many nobody looked at whose label stands."""
    return (
        session.scalar(
            select(func.count())
            .select_from(Suspicion)
            .join(Question, Question.id == Suspicion.question_id)
            .where(Question.corpus_id == corpus_id, Suspicion.looked.is_(None), label_stands())
        )
        or 0
    )
