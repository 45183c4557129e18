"""What to label next: candidates that carry no label and nobody else is looking at, in the order of a queue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Float,
    Row,
    Select,
    and_,
    case,
    cast,
    delete,
    func,
    literal,
    or_,
    select,
)
from sqlalchemy.orm import Session, aliased

from db.models import Candidate, Lease, Question, Run, Score, Sentence, current_label
from db.repositories.questions import upsert_into

ORDERS = ("uncertain", "disagree", "dropped", "tops", "random")
_PRIME, _RANGE = 2_654_435_761, 1_000_003


@dataclass(frozen=True, slots=True)
class Holder:
    """One annotator at one desk: two sessions under the same name are two holders."""

    annotator_id: int
    desk: str = ""


def _held_by(who: Holder) -> ColumnElement[bool]:
    return and_(Lease.annotator_id == who.annotator_id, Lease.holder == who.desk)


def open_pairs(session: Session, corpus_id: int, who: Holder, order: str, now: datetime, limit: int) -> list[Row]:
    """The first `limit` candidates of a queue: rows (Candidate, Sentence.text, last score, generative score, Run)."""
    return list(session.execute(_ordered(_open(corpus_id, who, now), order).limit(limit)))


def count_open(session: Session, corpus_id: int, who: Holder, order: str, now: datetime) -> int:
    inner = _ordered(_open(corpus_id, who, now), order).order_by(None).subquery()
    return session.scalar(select(func.count()).select_from(inner)) or 0


_last, _generative = aliased(Score, name="last_score"), aliased(Score, name="generative_score")


def _scored_candidates() -> Select:
    return (
        select(
            Candidate.id,
            Candidate.question_id,
            Candidate.sentence_id,
            Candidate.cut_layer,
            Candidate.cut_rank,
            Candidate.cut_kept,
            Sentence.text,
            Run.version_id,
            Run.threshold,
            Run.last_exit,
            _last.rank,
            _last.probability,
            _generative.rank.label("generative_rank"),
        )
        .join(Question, Question.id == Candidate.question_id)
        .join(Sentence, Sentence.id == Candidate.sentence_id)
        .outerjoin(Run, Run.id == Candidate.run_id)
        .outerjoin(
            _last,
            and_(_last.candidate_id == Candidate.id, _last.version_id == Run.version_id, _last.exit == Run.last_exit),
        )
        .outerjoin(
            _generative,
            and_(
                _generative.candidate_id == Candidate.id,
                _generative.version_id == Run.generative_id,
                _generative.exit == 0,
            ),
        )
    )


def _open(corpus_id: int, who: Holder, now: datetime) -> Select:
    labelled = (
        select(current_label.c.id)
        .where(
            current_label.c.question_id == Candidate.question_id, current_label.c.sentence_id == Candidate.sentence_id
        )
        .exists()
    )
    taken = (
        select(Lease.token)
        .where(
            Lease.question_id == Candidate.question_id,
            Lease.sentence_id == Candidate.sentence_id,
            ~_held_by(who),
            Lease.expires > now,
        )
        .exists()
    )
    return _scored_candidates().where(Question.corpus_id == corpus_id, Sentence.retired.is_(False), ~labelled, ~taken)


def _ordered(statement: Select, order: str) -> Select:
    """`uncertain`: probability nearest to the threshold. `disagree`: the two ranks furthest apart as a ratio, so that
    1 against 20 comes before 50 against 100. `dropped`: nearest to a cut. `tops`: best rank. `random`: shuffled."""
    shuffle = (cast(Candidate.id, BigInteger) * literal(_PRIME, BigInteger)) % _RANGE
    if order == "random":
        return statement.order_by(shuffle, Candidate.id)
    statement = statement.where(_last.rank.is_not(None))
    if order == "uncertain":
        return statement.order_by(func.abs(_last.probability - Run.threshold), Candidate.id)
    if order == "dropped":
        return statement.where(Candidate.cut_margin.is_not(None)).order_by(Candidate.cut_margin, Candidate.id)
    if order == "tops":
        return statement.order_by(_last.rank, shuffle)
    a, b = cast(_last.rank, Float), cast(_generative.rank, Float)
    return statement.where(_generative.rank.is_not(None)).order_by(
        case((a > b, a / b), else_=b / a).desc(), Candidate.id
    )


def pair_row(session: Session, question_id: int, sentence_id: int) -> Row | None:
    """One candidate with its scores, as `open_pairs` gives them."""
    return session.execute(
        _scored_candidates().where(Candidate.question_id == question_id, Candidate.sentence_id == sentence_id)
    ).one_or_none()


def held(session: Session, corpus_id: int, who: Holder, queue: str, now: datetime) -> Lease | None:
    """What they were last given from this queue, if the lease is alive."""
    return session.scalar(
        select(Lease)
        .join(Question, Question.id == Lease.question_id)
        .where(Question.corpus_id == corpus_id, _held_by(who), Lease.queue == queue, Lease.expires > now)
        .order_by(Lease.expires.desc())
        .limit(1)
    )


def lease(
    session: Session, pair: tuple[int, int], who: Holder, *, queue: str, token: str, expires: datetime, now: datetime
) -> bool:
    """Take or renew a pair (question id, sentence id); False if somebody else holds it."""
    values = {
        "annotator_id": who.annotator_id,
        "holder": who.desk,
        "queue": queue,
        "token": token,
        "expires": expires,
    }
    statement = upsert_into(session, Lease).values(question_id=pair[0], sentence_id=pair[1], **values)
    statement = statement.on_conflict_do_update(
        index_elements=[Lease.question_id, Lease.sentence_id],
        set_=values,
        where=or_(_held_by(who), Lease.expires <= now),
    ).returning(Lease.token)
    return session.scalar(statement) is not None


def release(session: Session, question_id: int, sentence_id: int, annotator_id: int) -> None:
    """Give a pair back, whichever desk of theirs holds it."""
    session.execute(
        delete(Lease).where(
            Lease.question_id == question_id, Lease.sentence_id == sentence_id, Lease.annotator_id == annotator_id
        )
    )


def release_all(session: Session, who: Holder, but: tuple[int, int] | None = None) -> None:
    """Give back what the desk holds, except the pair in front of it."""
    where = [_held_by(who)]
    if but is not None:
        where.append(~and_(Lease.question_id == but[0], Lease.sentence_id == but[1]))
    session.execute(delete(Lease).where(*where))


def candidates_unlabelled_by(session: Session, corpus_id: int, annotator_id: int) -> int:
    """Candidates of the corpus on which this annotator has no label at present."""
    mine = (
        select(current_label.c.id)
        .where(
            current_label.c.question_id == Candidate.question_id,
            current_label.c.sentence_id == Candidate.sentence_id,
            current_label.c.annotator_id == annotator_id,
        )
        .exists()
    )
    return (
        session.scalar(
            select(func.count())
            .select_from(Candidate)
            .join(Question, Question.id == Candidate.question_id)
            .where(Question.corpus_id == corpus_id, ~mine)
        )
        or 0
    )
