"""What to label next: the candidates still open to an annotator, in the order of a queue.

The orders themselves are written in `app.labels.queues`, from the scores and conditions below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Row,
    Select,
    SQLColumnExpression,
    and_,
    case,
    cast,
    func,
    literal,
    or_,
    select,
)
from sqlalchemy.orm import Session, aliased

from db.models import (
    Annotator,
    Candidate,
    CurrentLabel,
    Document,
    Flag,
    ModelVersion,
    Question,
    Run,
    Score,
    Sentence,
    Suspicion,
)
from db.repositories.leases import Holder, is_leased
from db.repositories.pairs import Pair, is_on, is_same_pair
from db.repositories.questions import NON_TRAINING_SPLITS, is_offered
from db.repositories.reviews import label_stands

if TYPE_CHECKING:
    from sqlalchemy.sql._typing import _ColumnsClauseArgument

POOL_DEPTH = 10
MAX_HEAD_PAIRS = 1000  # read of a queue to meet its first questions: lists have some 100
_PRIME, _OFFSET, _STRETCH = 1_000_003, 271_828, 514_229  # see `shuffle`
LAST, EARLY, GENERATIVE = (aliased(Score, name=f"{name}_score") for name in ("last", "early", "generative"))


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """How a queue chooses and sorts candidates. `sort` gets them joined with their question, their sentence and
    `scores`: LAST is the last exit of the newest run, EARLY its first exit, GENERATIVE the other ranker; candidates
    without a LAST rank are left out. `is_review`: it offers what is labelled already. `asks_about`: which candidates it
    asks about, whoever labelled them."""

    sort: Callable[[Select, QueueRequest], Select]
    scores: tuple[type[Score], ...] = (LAST,)
    is_review: bool = False
    asks_about: ColumnElement[bool] | None = None


@dataclass(frozen=True, slots=True)
class QueueRequest:
    """What an annotator asks a queue for. `overlap`: people a pair. `pool`: the rankers whose first `POOL_DEPTH` are
    pooled, as (version id, last exit), and (0, 0) for retrieval. `excluded_ids`: questions. `only`: questions, if any
    are given, whether the queues offer them or not. `begun_id`: the question that the annotator is at."""

    corpus_id: int
    order: Order
    who: Holder
    overlap: int = 1
    pool: tuple[tuple[int, int], ...] = ()
    excluded_ids: tuple[int, ...] = ()
    only: tuple[int, ...] = ()
    begun_id: int | None = None


def list_open_pairs(session: Session, request: QueueRequest, now: datetime, limit: int) -> list[Row]:
    """The first `limit` candidates of a queue, as `_scored_candidates` gives them. Texts are read of those alone, not
    of all that are sorted."""
    _fix_join_order(session)
    return _read_rows(session, list(session.scalars(request.order.sort(_open(request, now), request).limit(limit))))


def list_open_questions(session: Session, request: QueueRequest, now: datetime, limit: int) -> list[Row]:
    """The first candidate of each of the first `limit` questions, as `list_open_pairs` gives them; of fewer questions
    where MAX_HEAD_PAIRS candidates have no more, and of one at least unless the queue is empty."""
    _fix_join_order(session)
    pairs = request.order.sort(_open(request, now).add_columns(Candidate.question_id), request).limit(MAX_HEAD_PAIRS)
    first: dict[int, int] = {}
    for candidate_id, question_id in session.execute(pairs):
        first.setdefault(question_id, candidate_id)
    return _read_rows(session, list(first.values())[:limit])


def _read_rows(session: Session, candidate_ids: list[int]) -> list[Row]:
    """In this order; without a query where there are none."""
    if not candidate_ids:
        return []
    rows = {r.id: r for r in session.execute(_scored_candidates().where(Candidate.id.in_(candidate_ids)))}
    return [rows[i] for i in candidate_ids if i in rows]


def list_open_question_ids(session: Session, request: QueueRequest, now: datetime, limit: int) -> list[int]:
    """The first `limit` questions with a candidate that the queue holds, in the order of their ids."""
    _fix_join_order(session)
    ids = request.order.sort(_open(request, now), request).with_only_columns(Candidate.question_id).distinct()
    return list(session.scalars(ids.order_by(None).order_by(Candidate.question_id).limit(limit)))


def count_open(session: Session, request: QueueRequest, now: datetime, *, leased: bool = True) -> int:
    """How many candidates the queue holds; with `leased`, those leased to others included."""
    _fix_join_order(session)
    inner = request.order.sort(_open(request, now, leased=leased), request).order_by(None)
    return session.scalar(select(func.count()).select_from(inner.subquery())) or 0


def count_questions_to_label(session: Session, request: QueueRequest) -> int:
    """Questions of the queues, or of `only`, that need one more person to label them, ranked or not."""
    with_labels = select_with_labels(request.corpus_id, request.who.annotator_id, request.overlap)
    where = Question.corpus_id == request.corpus_id, is_offered(request.only), Question.id.not_in(with_labels)
    return session.scalar(select(func.count(Question.id)).where(*where)) or 0


def _fix_join_order(session: Session) -> None:
    """Until the transaction ends. PostgreSQL takes as long to weigh the orders of so many joins as to make them, and,
    guessing that few rows stay, may choose one that takes five times as long."""
    if session.get_bind().dialect.name == "postgresql":
        session.connection().exec_driver_sql("SET LOCAL join_collapse_limit = 1")


@cache
def _candidates(*columns: _ColumnsClauseArgument, scores: tuple[type[Score], ...]) -> Select:
    """Candidates joined with the scores of the run that each follows."""
    statement = select(*columns).join_from(Candidate, Question).join(Sentence, Sentence.id == Candidate.sentence_id)
    if LAST in scores:
        statement = statement.outerjoin(Run, Run.id == Candidate.run_id)
        statement = statement.outerjoin(LAST, _is_score(LAST, Run.version_id, Run.last_exit))
    if EARLY in scores:
        first = aliased(Score, name="first")
        exits = select(func.min(first.exit)).where(_is_score(first, Run.version_id))
        statement = statement.outerjoin(EARLY, _is_score(EARLY, Run.version_id, exits.scalar_subquery()))
    if GENERATIVE in scores:
        statement = statement.outerjoin(GENERATIVE, _is_score(GENERATIVE, Run.generative_id, literal(0)))
    return statement


def _is_score(
    score: type[Score], version: SQLColumnExpression[int | None], exit_: SQLColumnExpression[int] | None = None
) -> ColumnElement[bool]:
    """Of the candidate, by a version, at that exit or at any."""
    of_version = and_(score.candidate_id == Candidate.id, score.version_id == version)
    return of_version if exit_ is None else and_(of_version, score.exit == exit_)


@cache
def _scored_candidates() -> Select:
    return _candidates(
        Candidate.id,
        Candidate.question_id,
        Candidate.sentence_id,
        Question.text.label("question"),
        Question.split,
        Candidate.retrieval_rank,
        Candidate.cut_layer,
        Candidate.cut_rank,
        Candidate.cut_kept,
        Sentence.text,
        Sentence.document_id,
        Sentence.position,
        Sentence.retired,
        Document.title,
        Sentence.heading,
        Run.version_id,
        Run.threshold,
        Run.last_exit,
        LAST.rank,
        LAST.probability,
        EARLY.rank.label("early_rank"),
        EARLY.exit.label("early_exit"),
        GENERATIVE.rank.label("generative_rank"),
        scores=(LAST, EARLY, GENERATIVE),
    ).join(Document, Document.id == Sentence.document_id)


def _open(request: QueueRequest, now: datetime, *, leased: bool = False) -> Select:
    """The ids of the candidates that the queue holds for the annotator, in no order."""
    order, annotator_id = request.order, request.who.annotator_id
    where = [Question.corpus_id == request.corpus_id, is_offered(request.only), Sentence.retired.is_(False)]
    if not leased:
        where.append(~is_leased(Candidate, request.who, now))
    if request.excluded_ids:
        where.append(Question.id.not_in(request.excluded_ids))
    if order.asks_about is not None:
        where.append(order.asks_about)
    if not order.is_review:
        question_id = Run.question_id if order.scores else Question.id
        where.append(still_open(request.overlap, annotator_id, question_id))
        if order.scores:
            where.append(LAST.rank.is_not(None))
    return _candidates(Candidate.id, scores=order.scores).where(*where)


def still_open(
    overlap: int, annotator_id: int, question_id: SQLColumnExpression[int] = Question.id
) -> ColumnElement[bool]:
    """Nobody's label from outside covers the candidate, and fewer than `overlap` people labelled it, this one not.
    `question_id`: its question's in another of the joined tables, or PostgreSQL counts people before it joins any, on
    the candidates of every corpus."""
    labels = select(CurrentLabel.id).join(Annotator).where(CurrentLabel.sentence_id == Candidate.sentence_id)
    of_pair = labels.where(CurrentLabel.question_id == Candidate.question_id)
    if overlap == 1:
        return ~of_pair.exists()
    covers = or_(Annotator.imported, CurrentLabel.annotator_id == annotator_id)
    people = labels.where(CurrentLabel.question_id == question_id).with_only_columns(func.count()).scalar_subquery()
    return and_(~of_pair.where(covers).exists(), people < overlap)


def select_with_labels(corpus_id: int, annotator_id: int, overlap: int) -> Select:
    """Ids of the corpus's questions that need no more people to label them: one with a label from outside, one that
    this annotator began, and one that `overlap` people did. Labels on sentences that left their documents do not
    count. To be found once: asked of every candidate, it takes PostgreSQL over 15 s at 100,000 labels."""
    of_corpus, sentence = aliased(Question, name="own_question"), aliased(Sentence, name="own_sentence")
    statement = select(CurrentLabel.question_id).join(of_corpus, of_corpus.id == CurrentLabel.question_id)
    statement = statement.join(sentence, sentence.id == CurrentLabel.sentence_id)
    statement = statement.where(of_corpus.corpus_id == corpus_id, sentence.retired.is_(False))
    if overlap == 1:
        return statement
    covers = or_(Annotator.imported, CurrentLabel.annotator_id == annotator_id)
    people = func.count(CurrentLabel.annotator_id.distinct())
    enough = or_(func.max(case((covers, 1), else_=0)) == 1, people >= overlap)
    return statement.join(Annotator).group_by(CurrentLabel.question_id).having(enough)


def pooled_rank(pool: tuple[tuple[int, int], ...]) -> SQLColumnExpression[int]:
    """The best rank that any of the pool's rankers gave the candidate; without a pool, its own run's."""
    if not pool:
        return LAST.rank
    pooled = aliased(Score, name="pooled")
    models = [and_(pooled.version_id == v, pooled.exit == e) for v, e in pool if v]
    ranks = select(func.min(pooled.rank)).where(pooled.candidate_id == Candidate.id, or_(False, *models))
    best = ranks.scalar_subquery()
    if len(models) == len(pool):
        return best
    first, nowhere = func.coalesce(Candidate.retrieval_rank, _PRIME), _PRIME
    return case((first < func.coalesce(best, nowhere), first), else_=best)


def sort_questions() -> tuple[SQLColumnExpression, ...]:
    """The order of questions in the queue of those without a label, ranked or not: shuffled, and those that a retrain
    may learn from before the others."""
    return Question.split.in_(NON_TRAINING_SPLITS), shuffle(Question.id), Question.id


def shuffle(key: SQLColumnExpression[int]) -> ColumnElement[int]:
    """The fifth power modulo a prime: a place of its own for each of a million keys in a row, since 5 and the prime
    less one have no factor in common. A product alone would lay them out at equal steps, which meets few questions.
    Every product stays in 64 bits."""
    x = cast(key, BigInteger) + _OFFSET
    square = x * x % _PRIME
    return square * square % _PRIME * x % _PRIME * _STRETCH % _PRIME


def oldest_flag() -> ColumnElement[int]:
    """The oldest flag on the candidate that nobody cleared, NULL if there is none."""
    return select(func.min(Flag.id)).where(is_same_pair(Flag, Candidate), Flag.cleared.is_(None)).scalar_subquery()


def doubt() -> ColumnElement[float]:
    """How much the candidate's label is doubted, NULL if it was reviewed or changed since."""
    unreviewed = (is_same_pair(Suspicion, Candidate), Suspicion.looked.is_(None), label_stands())
    return select(func.max(Suspicion.doubt)).where(*unreviewed).scalar_subquery()


def own_label(annotator_id: int) -> Select:
    of_pair = select(CurrentLabel.id).where(is_same_pair(CurrentLabel, Candidate))
    return of_pair.where(CurrentLabel.annotator_id == annotator_id)


def find_pair_row(session: Session, question_id: int, sentence_id: int) -> Row | None:
    """One candidate with its scores, as `list_open_pairs` gives them."""
    return session.execute(_scored_candidates().where(is_on(Candidate, (question_id, sentence_id)))).one_or_none()


def list_question_rows(session: Session, question_id: int, request: QueueRequest, now: datetime) -> list[Row]:
    """All candidates of a question as `list_open_pairs` gives them, the newest run's first, in each run best rank
    first; whether each is `asked`, since the queue asks about it, whether it is `leased` to another, and whether it
    is `free`: asked, open to this holder, or labelled by them."""
    who = request.who
    is_asked_about = literal(False) if request.order.asks_about is None else request.order.asks_about
    own = own_label(who.annotator_id).exists()
    leased = is_leased(Candidate, who, now)
    free = and_(~leased, or_(is_asked_about, still_open(request.overlap, who.annotator_id), own))
    best_first = (LAST.rank.is_(None), Candidate.run_id.desc(), LAST.rank, Candidate.ordinal, Candidate.id)
    flags = (is_asked_about.label("asked"), leased.label("leased"), free.label("free"))
    candidates = _scored_candidates().add_columns(*flags).order_by(*best_first)
    return list(session.execute(candidates.where(Candidate.question_id == question_id, Sentence.retired.is_(False))))


def is_open(session: Session, pair: Pair, annotator_id: int, overlap: int) -> bool:
    """Whether the annotator may still label the pair, as far as labels go."""
    return _holds(session, pair, still_open(overlap, annotator_id))


def is_asked_about(session: Session, pair: Pair, order: Order) -> bool:
    """Whether a review asks about the pair, whoever labelled it."""
    return order.asks_about is not None and _holds(session, pair, order.asks_about)


def _holds(session: Session, pair: Pair, condition: ColumnElement[bool]) -> bool:
    statement = select(Candidate.id).join(Question)
    return session.scalar(statement.where(is_on(Candidate, pair), condition)) is not None


def lock_candidate(session: Session, question_id: int, sentence_id: int) -> bool:
    """Hold a pair for this transaction: two people who label it are taken one after the other. False if it is no
    candidate."""
    statement = select(Candidate.id).where(is_on(Candidate, (question_id, sentence_id))).with_for_update()
    return session.scalar(statement) is not None


def list_pool_versions(session: Session, corpus_id: int) -> list[tuple[int, str, int]]:
    """(version id, name, last exit) of the rankers that scored this corpus's questions, newest first. The exit is the
    deepest where a version's runs differ."""
    exits: dict[int, int] = {}
    for version_id, last_exit in ((Run.version_id, Run.last_exit), (Run.generative_id, literal(0))):
        runs = select(version_id, func.max(last_exit)).join(Question, Question.id == Run.question_id)
        of_corpus = runs.where(Question.corpus_id == corpus_id, version_id.is_not(None))
        rows = session.execute(of_corpus.group_by(version_id))
        exits.update((row[0], row[1]) for row in rows)
    names = select(ModelVersion.id, ModelVersion.name).where(ModelVersion.id.in_(list(exits)))
    return [(i, name, exits[i]) for i, name in session.execute(names.order_by(ModelVersion.id.desc()))]
