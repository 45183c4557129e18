"""Reviews of labels: verdicts, flags, labels in doubt; and the guidelines of a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Row, Select, delete, func, or_, select, update
from sqlalchemy.orm import Session

from db.models import (
    Annotator,
    CurrentLabel,
    Document,
    Flag,
    Guideline,
    Question,
    Sentence,
    Suspicion,
    Verdict,
)
from db.repositories.labels import select_labels, verdict_on, verdict_stands
from db.repositories.outcomes import name_outcome, sum_votes
from db.repositories.pairs import Pair, is_on, is_same_pair
from db.repositories.statements import add_row


def add_verdict(session: Session, pair: Pair, annotator_id: int, label: str, note: str, now: datetime) -> Verdict:
    about = {"question_id": pair[0], "sentence_id": pair[1], "annotator_id": annotator_id}
    return add_row(session, Verdict(**about, label=label, note=note, created=now))


def find_signed_verdicts(
    session: Session, corpus_id: int, question_ids: Sequence[int] | None = None
) -> dict[Pair, Row]:
    """Pair -> (label, note, name of who gave it, id) of the verdicts in force in a corpus, or on questions of it."""
    standing = _signed_verdicts(corpus_id).where(verdict_stands())
    rows = session.execute(standing if question_ids is None else standing.where(Verdict.question_id.in_(question_ids)))
    return {(r.question_id, r.sentence_id): r for r in rows}


def list_signed_verdicts(session: Session, corpus_id: int) -> list[Row]:
    """As `find_signed_verdicts`, all that were ever given, withdrawals included, oldest first."""
    return list(session.execute(_signed_verdicts(corpus_id).order_by(Verdict.id)))


def _signed_verdicts(corpus_id: int) -> Select:
    columns = (Verdict.question_id, Verdict.sentence_id, Verdict.label, Verdict.note, Annotator.name, Verdict.id)
    signed = select(*columns).join(Annotator).join(Question, Question.id == Verdict.question_id)
    return signed.where(Question.corpus_id == corpus_id)


def find_signed_verdict(session: Session, pair: Pair) -> Row | None:
    """(label, annotator_id, name of who gave it, id) of the verdict in force on a pair."""
    signed = select(Verdict.label, Verdict.annotator_id, Annotator.name, Verdict.id).join(Annotator)
    return session.execute(signed.where(is_on(Verdict, pair), verdict_stands())).first()


def copy_verdict(session: Session, pair: Pair, other: Pair) -> None:
    """Have the verdict in force on a pair count for another pair, too, unless that has one."""
    verdict = session.scalar(select(Verdict).where(is_on(Verdict, pair), verdict_stands()))
    if verdict is not None and find_signed_verdict(session, other) is None:
        add_verdict(session, other, verdict.annotator_id, verdict.label, verdict.note, verdict.created)


def list_comparable_labels(session: Session, corpus_id: int) -> list[Row]:
    """Current labels of people on pairs that two or more of them label, or that a verdict settles: as `select_labels`,
    with (created, kind, question, text, title, heading, document_id, position, is_gone), by pair, oldest first."""
    people = func.count().over(partition_by=(CurrentLabel.question_id, CurrentLabel.sentence_id)).label("people")
    question = Question.text.label("question")
    place = (Document.title, Sentence.heading, Sentence.document_id, Sentence.position)
    is_gone = Sentence.retired.label("is_gone")
    labels = (
        select_labels(CurrentLabel.created, Question.kind, question, Sentence.text, *place, is_gone, people)
        .join(Sentence, Sentence.id == CurrentLabel.sentence_id)
        .join(Document, Document.id == Sentence.document_id)
        .where(Question.corpus_id == corpus_id, Annotator.imported.is_(False))
        .order_by(None)
        .subquery()
    )
    comparable = select(labels).where(or_(labels.c.people > 1, verdict_on(labels.c).is_not(None)))
    return list(session.execute(comparable.order_by(labels.c.question_id, labels.c.sentence_id, labels.c.created)))


def add_flag(session: Session, pair: Pair, annotator_id: int, note: str, now: datetime) -> Flag:
    about = {"question_id": pair[0], "sentence_id": pair[1], "annotator_id": annotator_id}
    return add_row(session, Flag(**about, note=note, created=now))


def list_flags(session: Session, pair: Pair) -> list[Row]:
    """(name, note) of the flags on a pair that nobody cleared, oldest first."""
    signed = select(Annotator.name, Flag.note).join_from(Flag, Annotator)
    return list(session.execute(signed.where(is_on(Flag, pair), Flag.cleared.is_(None)).order_by(Flag.id)))


def list_flagged(session: Session, question_id: int) -> list[int]:
    """Ids of the question's sentences with a flag that nobody cleared."""
    of_question = (Flag.question_id == question_id, Flag.cleared.is_(None))
    return list(session.scalars(select(Flag.sentence_id).where(*of_question)))


def clear_flags(session: Session, pair: Pair, now: datetime) -> None:
    session.execute(update(Flag).where(is_on(Flag, pair), Flag.cleared.is_(None)).values(cleared=now))


def clear_flag(session: Session, flag_id: int, annotator_id: int, now: datetime) -> None:
    """One flag of this annotator, if nobody cleared it."""
    of_annotator = (Flag.id == flag_id, Flag.annotator_id == annotator_id, Flag.cleared.is_(None))
    session.execute(update(Flag).where(*of_annotator).values(cleared=now))


def has_acts_since(session: Session, question_id: int, flag_id: int) -> bool:
    """Whether a flag on the question is not cleared, or a label on it was given after that flag."""
    then = select(Flag.created).where(Flag.id == flag_id).scalar_subquery()
    flags = select(Flag.id).where(Flag.question_id == question_id, Flag.cleared.is_(None))
    labels = select(CurrentLabel.id).where(CurrentLabel.question_id == question_id, CurrentLabel.created >= then)
    return bool(session.scalar(select(or_(flags.exists(), labels.exists()))))


def mark_reviewed(session: Session, pair: Pair, now: datetime) -> None:
    """The label in doubt was confirmed or corrected."""
    session.execute(update(Suspicion).where(is_on(Suspicion, pair), Suspicion.looked.is_(None)).values(looked=now))


def restore_reviews(session: Session, pair: Pair, then: datetime) -> None:
    """Bring back the flags and the doubt that a label given at `then` settled."""
    session.execute(update(Flag).where(is_on(Flag, pair), Flag.cleared == then).values(cleared=None))
    session.execute(update(Suspicion).where(is_on(Suspicion, pair), Suspicion.looked == then).values(looked=None))


def find_newest_guideline(session: Session, corpus_id: int) -> Row | None:
    """(Guideline, name of who wrote it)."""
    return session.execute(_guidelines(corpus_id).limit(1)).first()


def list_guidelines(session: Session, corpus_id: int) -> list[Row]:
    """As `find_newest_guideline`, newest first."""
    return list(session.execute(_guidelines(corpus_id)))


def _guidelines(corpus_id: int) -> Select:
    signed = select(Guideline, Annotator.name).join_from(Guideline, Annotator)
    return signed.where(Guideline.corpus_id == corpus_id).order_by(Guideline.version.desc())


def add_guideline(session: Session, corpus_id: int, version: int, text: str, annotator_id: int, now: datetime) -> None:
    session.add(Guideline(corpus_id=corpus_id, version=version, text=text, annotator_id=annotator_id, created=now))


def find_suspicion(session: Session, pair: Pair) -> Suspicion | None:
    """The doubt about the label that the pair carries now, looked at or not."""
    return session.scalar(select(Suspicion).where(is_on(Suspicion, pair), label_stands()))


def label_stands() -> ColumnElement[bool]:
    """Whether the label that a suspicion is about is still what the pair's labels come to, or the verdict on them."""
    labels = select(name_outcome(sum_votes())).join_from(CurrentLabel, Annotator)
    outcome = labels.where(is_same_pair(CurrentLabel, Suspicion)).correlate(Suspicion).scalar_subquery()
    return func.coalesce(verdict_on(Suspicion), outcome) == Suspicion.label


def put_suspicions(
    session: Session, corpus_id: int, suspicions: Sequence[tuple[Pair, str, float]], now: datetime
) -> int:
    """Replace a corpus's (pair, label, doubt), but for those that somebody looked at and left as they were; returns how
    many wait for a look."""
    of_corpus = Suspicion.question_id.in_(select(Question.id).where(Question.corpus_id == corpus_id))
    rows = session.scalars(select(Suspicion).where(of_corpus, Suspicion.looked.is_not(None)))
    reviewed_keys = {((x.question_id, x.sentence_id), x.label) for x in rows}
    fresh = [f for f in suspicions if (f[0], f[1]) not in reviewed_keys]
    session.execute(delete(Suspicion).where(of_corpus, Suspicion.looked.is_(None)))
    for pair in {p for p, _ in reviewed_keys} & {f[0] for f in fresh}:  # the label was changed since
        session.execute(delete(Suspicion).where(is_on(Suspicion, pair)))
    session.add_all(
        Suspicion(question_id=q, sentence_id=c, label=label, doubt=doubt, created=now) for (q, c), label, doubt in fresh
    )
    session.flush()
    return len(fresh)


def count_suspicions(session: Session, corpus_id: int) -> int:
    """How many nobody looked at whose label stands."""
    of_corpus = select(func.count()).join_from(Suspicion, Question).where(Question.corpus_id == corpus_id)
    return session.scalar(of_corpus.where(Suspicion.looked.is_(None), label_stands())) or 0
