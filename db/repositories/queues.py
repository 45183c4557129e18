"""What to label next: the candidates that are still open to somebody, in the order of a queue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Float,
    Row,
    Select,
    and_,
    case,
    cast,
    false,
    func,
    literal,
    or_,
    select,
    text,
)
from sqlalchemy.orm import Session, aliased

from db.models import (
    Annotator,
    Candidate,
    Document,
    Flag,
    LabelEvent,
    Lease,
    ModelVersion,
    Question,
    Run,
    Score,
    Sentence,
    Suspicion,
    current_label,
)
from db.repositories.leases import Holder, Pair, held_by
from db.repositories.reviews import label_stands

REVIEWS = ("flagged", "second", "own")  # of what is labelled already
POOL_DEPTH = 10
_PRIME, _AWAY, _STRETCH = 1_000_003, 271_828, 514_229  # see `_shuffled`


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of a corpus's candidates. `overlap`: how many people label a pair. `pool`: the rankers whose first
    `POOL_DEPTH` make the queue "tops", as (version id, last exit), and (0, 0) for retrieval. `without`: questions."""

    corpus_id: int
    order: str
    overlap: int = 1
    pool: tuple[tuple[int, int], ...] = ()
    without: tuple[int, ...] = ()


def open_pairs(session: Session, wanted: Wanted, who: Holder, now: datetime, limit: int) -> list[Row]:
    """The first `limit` candidates of a queue, as `_scored_candidates` gives them. Texts are read of those alone, not
    of all that are put in order."""
    _join_as_written(session)
    head = list(session.scalars(_ordered(_open(wanted, who, now), wanted, who).limit(limit)))
    if not head:
        return []
    rows = {r.id: r for r in session.execute(_scored_candidates().where(Candidate.id.in_(head)))}
    return [rows[i] for i in head if i in rows]


def count_open(session: Session, wanted: Wanted, who: Holder, now: datetime) -> int:
    """How many they are, with those that somebody is looking at."""
    _join_as_written(session)
    inner = _ordered(_open(wanted, who, now, leased=True), wanted, who).order_by(None)
    return session.scalar(select(func.count()).select_from(inner.subquery())) or 0


def _join_as_written(session: Session) -> None:
    """Until the transaction ends. PostgreSQL takes as long to weigh the orders of so many joins as to make them, and,
    guessing that few rows stay, may choose one that takes five times as long."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text("SET LOCAL join_collapse_limit = 1"))


_last, _generative = aliased(Score, name="last_score"), aliased(Score, name="generative_score")
_early = aliased(Score, name="early_score")


@cache
def _candidates(*columns: Any, order: str | None = None) -> Select:
    """With what an order of `_ordered` needs of the scores of the run that each follows; without one, with all."""
    found = (
        select(*columns)
        .select_from(Candidate)
        .join(Question, Question.id == Candidate.question_id)
        .join(Sentence, Sentence.id == Candidate.sentence_id)
    )
    if order in ("random", *REVIEWS):
        return found
    found = found.outerjoin(Run, Run.id == Candidate.run_id).outerjoin(
        _last, _score(_last, Run.version_id, Run.last_exit)
    )
    if order in ("early", None):
        first = aliased(Score, name="first")
        first_exit = (
            select(func.min(first.exit))
            .where(first.candidate_id == Candidate.id, first.version_id == Run.version_id)
            .scalar_subquery()
        )
        found = found.outerjoin(_early, _score(_early, Run.version_id, first_exit))
    if order in ("disagree", None):
        found = found.outerjoin(_generative, _score(_generative, Run.generative_id, 0))
    return found


def _score(of: Any, version: Any, exit_: Any) -> ColumnElement[bool]:
    return and_(of.candidate_id == Candidate.id, of.version_id == version, of.exit == exit_)


@cache
def _scored_candidates() -> Select:
    return _candidates(
        Candidate.id,
        Candidate.question_id,
        Candidate.sentence_id,
        Question.text.label("question"),
        Candidate.retrieval_rank,
        Candidate.cut_layer,
        Candidate.cut_rank,
        Candidate.cut_kept,
        Sentence.text,
        Sentence.document_id,
        Sentence.position,
        Document.title,
        Run.version_id,
        Run.threshold,
        Run.last_exit,
        _last.rank,
        _last.probability,
        _early.rank.label("early_rank"),
        _early.exit.label("early_exit"),
        _generative.rank.label("generative_rank"),
    ).join(Document, Document.id == Sentence.document_id)


def _open(wanted: Wanted, who: Holder, now: datetime, *, leased: bool = False) -> Select:
    found = _candidates(Candidate.id, order=wanted.order).where(
        Question.corpus_id == wanted.corpus_id, Sentence.retired.is_(False)
    )
    if not leased:
        found = found.where(~_taken(who, now))
    if wanted.without:
        found = found.where(Question.id.not_in(wanted.without))
    if wanted.order in REVIEWS:
        return found
    asked = Question.id if wanted.order == "random" else Run.question_id
    return found.where(still_open(wanted.overlap, who.annotator_id, asked))


def _taken(who: Holder, now: datetime) -> ColumnElement[bool]:
    """Somebody else is looking at it."""
    return (
        select(Lease.token)
        .where(
            Lease.question_id == Candidate.question_id,
            Lease.sentence_id == Candidate.sentence_id,
            ~held_by(who),
            Lease.expires > now,
        )
        .exists()
    )


def still_open(overlap: int, annotator_id: int, question_id: Any = Question.id) -> ColumnElement[bool]:
    """Nobody's label from outside covers the candidate, and fewer than `overlap` people labelled it, this one not.
    `question_id`: its question's in another of the joined tables, or PostgreSQL counts people before it joins any, on
    the candidates of every corpus."""
    label = current_label.alias("given")
    given = _labels(label, Candidate.question_id)
    if overlap == 1:
        return ~given.exists()
    covers = or_(Annotator.imported, label.c.annotator_id == annotator_id)
    people = _labels(label, question_id).with_only_columns(func.count()).order_by(None).scalar_subquery()
    return and_(~given.where(covers).exists(), people < overlap)


def _labels(label: Any, question_id: Any) -> Select:
    """The ids of the candidate's labels, with who gave them."""
    return (
        select(label.c.id)
        .join(Annotator, Annotator.id == label.c.annotator_id)
        .where(label.c.question_id == question_id, label.c.sentence_id == Candidate.sentence_id)
    )


def _ordered(statement: Select, wanted: Wanted, who: Holder) -> Select:
    """`uncertain`: probability nearest to the threshold. `disagree`, `early`: two ranks furthest apart as a ratio, so
    that 1 against 20 comes before 50 against 100. `dropped`: nearest to a cut. `tops`: best rank. `unlabelled`: best
    rank in questions without any label. `random`: shuffled. `second`: the most doubted. `own`: one's newest."""
    order, shuffle = wanted.order, _shuffled(Candidate.id)
    if order == "random":
        return statement.order_by(shuffle, Candidate.id)
    if order == "flagged":
        return statement.where(_flag().is_not(None)).order_by(_flag(), Candidate.id)
    if order == "second":
        return statement.where(_doubt().is_not(None)).order_by(_doubt().desc(), Candidate.id)
    if order == "own":
        mine = _mine(who.annotator_id)
        return statement.where(mine.exists()).order_by(mine.scalar_subquery().desc())
    statement = statement.where(_last.rank.is_not(None))
    if order == "uncertain":
        return statement.order_by(func.abs(_last.probability - Run.threshold), Candidate.id)
    if order == "dropped":
        return statement.where(Candidate.cut_margin.is_not(None)).order_by(Candidate.cut_margin, Candidate.id)
    if order == "tops":
        best = pooled_rank(wanted.pool)
        shallow = statement.where(best <= POOL_DEPTH) if wanted.pool else statement
        return shallow.order_by(best, shuffle)
    if order == "unlabelled":
        asked = aliased(Question, name="asked")
        labelled = (  # found once: asked of every candidate, it takes PostgreSQL over 15 s at 100,000 labels
            select(current_label.c.question_id)
            .join(asked, asked.id == current_label.c.question_id)
            .where(asked.corpus_id == wanted.corpus_id)
        )
        return statement.where(Question.id.not_in(labelled)).order_by(
            _shuffled(Question.id), Question.id, _last.rank, Candidate.id
        )
    other = _generative.rank if order == "disagree" else _early.rank
    a, b = cast(_last.rank, Float), cast(other, Float)
    return statement.where(other.is_not(None), other != _last.rank).order_by(
        case((a > b, a / b), else_=b / a).desc(), Candidate.id
    )


def pooled_rank(pool: tuple[tuple[int, int], ...]) -> ColumnElement[int]:
    """The best rank that any of the pool's rankers gave the candidate; without a pool, its own run's."""
    if not pool:
        return _last.rank
    pooled = aliased(Score, name="pooled")
    models = [and_(pooled.version_id == v, pooled.exit == e) for v, e in pool if v]
    best = (
        select(func.min(pooled.rank)).where(pooled.candidate_id == Candidate.id, or_(False, *models)).scalar_subquery()
    )
    if len(models) == len(pool):
        return best
    nowhere = _PRIME
    first = func.coalesce(Candidate.retrieval_rank, nowhere)
    return case((first < func.coalesce(best, nowhere), first), else_=best)


def _shuffled(key: ColumnElement[int]) -> ColumnElement[int]:
    """The fifth power modulo a prime: a place of its own for each of a million keys in a row, since 5 and the prime
    less one have no factor in common. A product alone would lay them out at equal steps, which meets few questions.
    Every product stays in 64 bits."""
    x = cast(key, BigInteger) + _AWAY
    square = x * x % _PRIME
    return square * square % _PRIME * x % _PRIME * _STRETCH % _PRIME


def _flag() -> ColumnElement[int]:
    """The oldest flag on the candidate that nobody cleared, NULL if there is none."""
    return (
        select(func.min(Flag.id))
        .where(
            Flag.question_id == Candidate.question_id,
            Flag.sentence_id == Candidate.sentence_id,
            Flag.cleared.is_(None),
        )
        .scalar_subquery()
    )


def _doubt() -> ColumnElement[float]:
    """How much the candidate's label is doubted, NULL if nobody need look at it: somebody did, or it was changed."""
    return (
        select(func.max(Suspicion.doubt))
        .where(
            Suspicion.question_id == Candidate.question_id,
            Suspicion.sentence_id == Candidate.sentence_id,
            Suspicion.looked.is_(None),
            label_stands(),
        )
        .scalar_subquery()
    )


def _mine(annotator_id: int) -> Select:
    label = current_label.alias("mine")
    return select(label.c.id).where(
        label.c.question_id == Candidate.question_id,
        label.c.sentence_id == Candidate.sentence_id,
        label.c.annotator_id == annotator_id,
    )


def pair_row(session: Session, question_id: int, sentence_id: int) -> Row | None:
    """One candidate with its scores, as `open_pairs` gives them."""
    return session.execute(
        _scored_candidates().where(Candidate.question_id == question_id, Candidate.sentence_id == sentence_id)
    ).one_or_none()


def question_rows(
    session: Session, question_id: int, who: Holder, overlap: int, now: datetime, queue: str = ""
) -> list[Row]:
    """All candidates of a question as `open_pairs` gives them, the newest run's first, in each run best rank first;
    whether each is `asked`, as flagged or doubted if that is the queue, and whether it is `free`: asked, open to this
    holder, or labelled by them."""
    asked = {"flagged": _flag().is_not(None), "second": _doubt().is_not(None)}.get(queue, false())
    mine = _mine(who.annotator_id).exists()
    free = and_(~_taken(who, now), or_(asked, still_open(overlap, who.annotator_id), mine))
    return list(
        session.execute(
            _scored_candidates()
            .add_columns(asked.label("asked"), free.label("free"))
            .where(Candidate.question_id == question_id, Sentence.retired.is_(False))
            .order_by(_last.rank.is_(None), Candidate.run_id.desc(), _last.rank, Candidate.ordinal, Candidate.id)
        )
    )


def is_open(session: Session, pair: Pair, annotator_id: int, overlap: int) -> bool:
    """Whether the annotator may still label the pair, as far as labels go."""
    statement = select(Candidate.id).join(Question, Question.id == Candidate.question_id)
    statement = statement.where(Candidate.question_id == pair[0], Candidate.sentence_id == pair[1])
    return session.scalar(statement.where(still_open(overlap, annotator_id))) is not None


def lock_candidate(session: Session, question_id: int, sentence_id: int) -> None:
    """Hold a pair for this transaction: two people who label it are taken one after the other."""
    session.execute(
        select(Candidate.id)
        .where(Candidate.question_id == question_id, Candidate.sentence_id == sentence_id)
        .with_for_update()
    )


def pool_versions(session: Session, corpus_id: int) -> list[tuple[int, str, int]]:
    """(version id, name, last exit) of the rankers that scored this corpus's questions, newest first."""
    runs = select(Run.version_id, Run.last_exit).join(Question, Question.id == Run.question_id)
    models = runs.where(Question.corpus_id == corpus_id).distinct()
    generators = (
        select(Run.generative_id, literal(0))
        .join(Question, Question.id == Run.question_id)
        .where(Question.corpus_id == corpus_id, Run.generative_id.is_not(None))
        .distinct()
    )
    exits = {**dict(session.execute(models).all()), **dict(session.execute(generators).all())}
    names = session.execute(
        select(ModelVersion.id, ModelVersion.name)
        .where(ModelVersion.id.in_(list(exits)))
        .order_by(ModelVersion.id.desc())
    )
    return [(i, name, exits[i]) for i, name in names]


def count_events(session: Session, annotator_id: int) -> int:
    """How often the annotator has acted: what the draw of the control share counts by."""
    return session.scalar(select(func.count()).where(LabelEvent.annotator_id == annotator_id)) or 0
