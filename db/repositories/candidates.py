"""Candidates of questions: where they come from, their order, their ids in files, and their scores."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

from sqlalchemy import ColumnElement, Row, and_, case, func, null, or_, select, update
from sqlalchemy.orm import Session

from as2core.types import CORRECT
from db.models import Candidate, CurrentLabel, Document, Question, Run, Score, Sentence, Verdict, text_key
from db.repositories.pairs import Pair, is_same_pair
from db.repositories.questions import IMPORTED, is_run_of
from db.repositories.statements import split_batches, upsert, upsert_into

RETRIEVED = "retrieved"  # an origin, as IMPORTED is


class Cut(NamedTuple):
    """A cut near a candidate: at which layer, the candidate's rank there, how many stayed, and its margin in logits."""

    layer: int
    rank: int
    kept: int
    margin: float

    def columns(self) -> dict[str, float]:
        return dict(zip(CUT_COLUMNS, self, strict=True))


CUT_COLUMNS = tuple(f"cut_{name}" for name in Cut._fields)  # where a candidate stores it
CANDIDATE_KEY = ("question_id", "sentence_id")


@dataclass(frozen=True, slots=True)
class NewCandidate:
    """`cut` is the nearest one, on either side."""

    sentence_id: int
    ordinal: int
    retrieval_rank: int | None = None
    external_id: str | None = None
    grade: int | None = None
    cut: Cut | None = None


def load_scores_by_exit(session: Session, question_id: int, version_id: int) -> dict[int, dict[int, float]]:
    """Exit -> candidate id -> score, of the candidates last ranked by this version, in retrieval order."""
    scores = select(Score.exit, Score.candidate_id, Score.value).join(Candidate).join(Run, Run.id == Candidate.run_id)
    where = (Candidate.question_id == question_id, is_run_of(version_id), Score.version_id == version_id)
    in_order = scores.where(*where).order_by(Score.exit, Candidate.retrieval_rank, Candidate.id)
    by_exit: dict[int, dict[int, float]] = {}
    for exit_, candidate_id, value in session.execute(in_order):
        by_exit.setdefault(exit_, {})[candidate_id] = value
    return by_exit


def put_cuts(session: Session, cuts: Mapping[int, Cut]) -> None:
    """By candidate id."""
    if cuts:
        session.execute(update(Candidate), [{"id": c, **cut.columns()} for c, cut in cuts.items()])


def put_candidates(
    session: Session, question_id: int, rows: Sequence[NewCandidate], *, origin: str, run_id: int | None = None
) -> dict[int, int]:
    """Store or update candidates; returns sentence id -> candidate id.

    With a run, its candidates come first, in its order, and the others follow. Imported ones keep their order, their
    name and their place before all others.
    """
    if not rows:
        return {}
    if run_id is not None:
        session.execute(
            update(Candidate).where(Candidate.question_id == question_id).values(ordinal=Candidate.ordinal + len(rows))
        )
    values = [_candidate_values(question_id, r, origin, run_id) for r in rows]
    statement = upsert_into(session, Candidate)
    if run_id is None:
        statement = statement.on_conflict_do_nothing(index_elements=CANDIDATE_KEY)
    else:
        new = statement.excluded
        ordinal = case((Candidate.origin == IMPORTED, Candidate.ordinal), else_=new.ordinal)
        columns = {"ordinal": ordinal, **{name: new[name] for name in ("run_id", "retrieval_rank", *CUT_COLUMNS)}}
        statement = statement.on_conflict_do_update(index_elements=CANDIDATE_KEY, set_=columns)
    session.flush()
    session.connection().execute(statement, values)
    return find_candidate_ids(session, question_id, [r.sentence_id for r in rows])


def _candidate_values(question_id: int, row: NewCandidate, origin: str, run_id: int | None) -> dict[str, object]:
    values = {"question_id": question_id, "run_id": run_id, "origin": origin, **asdict(row)}
    cut = values.pop("cut")
    return values | (dict.fromkeys(CUT_COLUMNS) if cut is None else cut.columns())


def find_candidate_ids(session: Session, question_id: int, sentence_ids: Sequence[int] | None = None) -> dict[int, int]:
    """Sentence id -> candidate id; of all the question's candidates if no sentences are named."""
    ids = select(Candidate.sentence_id, Candidate.id).where(Candidate.question_id == question_id)
    if sentence_ids is not None:
        ids = ids.where(Candidate.sentence_id.in_(sentence_ids))
    return {r.sentence_id: r.id for r in session.execute(ids)}


def find_next_ordinals(session: Session, question_ids: Sequence[int]) -> dict[int, int]:
    """Question id -> the ordinal after its last candidate, of those that have any."""
    last = select(Candidate.question_id, func.max(Candidate.ordinal)).where(Candidate.question_id.in_(question_ids))
    return {question_id: place + 1 for question_id, place in session.execute(last.group_by(Candidate.question_id))}


def add_candidates(session: Session, rows: Sequence[tuple[int, NewCandidate]]) -> None:
    """Store imported candidates as (question id, candidate); of a stored one only the grade is updated."""
    if rows:
        statement = upsert_into(session, Candidate)
        grade = func.coalesce(statement.excluded.grade, Candidate.grade)
        statement = statement.on_conflict_do_update(index_elements=CANDIDATE_KEY, set_={"grade": grade})
        session.execute(statement, [_candidate_values(question_id, r, IMPORTED, None) for question_id, r in rows])


def put_scores(
    session: Session, version_id: int, exit_: int, rows: Iterable[tuple[int, float, float | None, int]]
) -> None:
    """Store (candidate id, value, probability, rank) of one version at one exit, replacing what is stored."""
    put_scores_by_exit(session, version_id, {exit_: rows})


def put_scores_by_exit(
    session: Session, version_id: int, by_exit: Mapping[int, Iterable[tuple[int, float, float | None, int]]]
) -> None:
    """`put_scores` for several exits in one statement."""
    names = ("candidate_id", "value", "probability", "rank")
    values = [
        {"version_id": version_id, "exit": exit_, **dict(zip(names, row, strict=True))}
        for exit_, rows in by_exit.items()
        for row in rows
    ]
    upsert(session, Score, ("candidate_id", "version_id", "exit"), values)


def count_ranked_with(session: Session, candidate_id: int) -> int:
    """How many candidates the newest run of this one ranked, itself included; 0 without a run. Runs of older programs
    did not store the number: then those are counted whose newest run it is."""
    run = session.scalar(select(Run).join(Candidate, Candidate.run_id == Run.id).where(Candidate.id == candidate_id))
    if run is None:
        return 0
    remaining = select(func.count()).where(Candidate.run_id == run.id)
    return run.settings.get("ranked") or session.scalar(remaining) or 0


def list_retrieval_ranks(session: Session, corpus_id: int, texts: Sequence[str]) -> list[Row]:
    """(question, text, retrieval_rank) of the candidates of these questions that were retrieved."""
    statement = (
        select(Question.text.label("question"), Sentence.text, Candidate.retrieval_rank)
        .join_from(Candidate, Question)
        .join(Sentence, Sentence.id == Candidate.sentence_id)
        .where(Question.corpus_id == corpus_id, Candidate.retrieval_rank.is_not(None))
    )
    return [r for some in split_batches(texts) for r in session.execute(statement.where(Question.text.in_(some)))]


def list_hits(session: Session, corpus_id: int, texts: Sequence[str], sentences: Collection[str]) -> list[Row]:
    """Rows (question, text): for each of these questions that has a retrieved candidate one whose `text` is None, and
    one for each of these sentences that was retrieved for one. No row is made of the other candidates, which are most
    by far."""
    is_retrieved = and_(Candidate.question_id == Question.id, Candidate.retrieval_rank.is_not(None))
    questions = select(Question.text.label("question")).where(Question.corpus_id == corpus_id)
    with_any = questions.add_columns(null().label("text")).where(select(Candidate.id).where(is_retrieved).exists())
    hits = questions.add_columns(Sentence.text).join_from(Question, Candidate, is_retrieved)
    hits = hits.join(Sentence, Sentence.id == Candidate.sentence_id)
    of_sentences = [hits.where(Sentence.text_key.in_(keys)) for keys in split_batches(map(text_key, sentences))]
    statements = [
        statement.where(Question.text.in_(some))
        for some in split_batches(texts)
        for statement in (with_any, *of_sentences)
    ]
    return [row for statement in statements for row in session.execute(statement)]


def has_label() -> ColumnElement[bool]:
    """Whether a candidate carries one."""
    return select(CurrentLabel.id).where(is_same_pair(CurrentLabel, Candidate)).exists()


def is_listed() -> ColumnElement[bool]:
    """Whether a candidate came from outside or carries a label."""
    return or_(Candidate.origin == IMPORTED, has_label())


def count_candidates(session: Session, corpus_id: int, *, with_unlabelled: bool) -> dict[str, int]:
    """External id -> how many candidates the question has that came from outside or carry a label; `with_unlabelled`:
    with all others that were ranked, but for those that a document lost since."""
    is_counted = is_listed()
    if with_unlabelled:
        is_counted |= Sentence.retired.is_(False)
    statement = (
        select(Question.external_id, func.count())
        .join_from(Question, Candidate)
        .join(Sentence, Sentence.id == Candidate.sentence_id)
        .where(Question.corpus_id == corpus_id, is_counted)
        .group_by(Question.id, Question.external_id)
    )
    return {row[0]: row[1] for row in session.execute(statement)}


def map_candidate_ids(session: Session, question_ids: Sequence[int]) -> dict[int, dict[str, Sentence]]:
    """Question id -> id in files -> sentence, of all its candidates: unique within a question, so that an export comes
    back to the same sentences. The id is the one a candidate came with, or its sentence's; where an older candidate has
    that one already, the sentence's own, or that with a number."""
    by_question: dict[int, dict[str, Sentence]] = {}
    for question_id, external_id, sentence in _list_candidate_sentences(session, question_ids):
        by_id, own = by_question.setdefault(question_id, {}), sentence.external_id
        ids = (own if external_id is None else external_id, own, *(f"{own} {n}" for n in range(2, len(by_id) + 3)))
        by_id[next(i for i in ids if i not in by_id)] = sentence
    return by_question


def make_unique_candidate_ids(session: Session, corpus_id: int) -> dict[Pair, str]:
    """(question id, sentence id) -> the candidate's id in files, of those questions of which two candidates have the
    same."""
    by_question = map_candidate_ids(session, _list_repeated_ids(session, corpus_id))
    return {(q, sentence.id): i for q, by_id in by_question.items() for i, sentence in by_id.items()}


def _list_candidate_sentences(session: Session, question_ids: Sequence[int]) -> list[Row]:
    """Rows (question_id, imported_id, Sentence) of their candidates, in the order they were stored; `imported_id` is
    the id a candidate was imported under, None if it was not imported."""
    candidates = (
        select(Candidate.question_id, Candidate.external_id.label("imported_id"), Sentence)
        .join(Sentence, Sentence.id == Candidate.sentence_id)
        .order_by(Candidate.id)
    )
    batches = split_batches(question_ids)
    return [row for ids in batches for row in session.execute(candidates.where(Candidate.question_id.in_(ids)))]


def _list_repeated_ids(session: Session, corpus_id: int) -> list[int]:
    """Ids of the questions of which two candidates have the same id in files."""
    by_id = (Candidate.question_id, _get_file_id())
    ids = select(Candidate.question_id).join(Question).join(Sentence, Sentence.id == Candidate.sentence_id)
    repeats = ids.where(Question.corpus_id == corpus_id).group_by(*by_id).having(func.count() > 1)
    return list(session.scalars(repeats.distinct().order_by(Candidate.question_id)))


def _get_file_id() -> ColumnElement[str]:
    return func.coalesce(Candidate.external_id, Sentence.external_id)


def list_candidate_rows(
    session: Session, corpus_id: int, *, with_unlabelled: bool = True, only_with_answers: bool = False
) -> list[Row]:
    """A row for every question of the corpus and each of its candidates, by question, then in their order; exports and
    snapshots are made of these. Without the unlabelled ones, which may be most by far, those that came from outside
    stay; `only_with_answers`: the unlabelled ones of questions to which somebody calls a candidate correct."""
    is_of_question = Candidate.question_id == Question.id
    if not with_unlabelled:
        is_of_question &= is_listed()
    elif only_with_answers:
        with_answer = select(CurrentLabel.question_id).where(CurrentLabel.label == CORRECT)
        with_verdict = select(Verdict.question_id).where(Verdict.label == CORRECT)
        is_of_question &= or_(is_listed(), Question.id.in_(with_answer), Question.id.in_(with_verdict))
    statement = (
        select(
            Question.id.label("question_id"),
            Question.external_id.label("qid"),
            Question.text.label("question"),
            Question.kind,
            Question.origin,
            Question.split,
            Question.queued,
            Candidate.sentence_id,
            _get_file_id().label("candidate"),
            Candidate.origin.label("candidate_origin"),
            Candidate.grade,
            Sentence.text,
            Sentence.retired,
            Document.title,
        )
        .join_from(Question, Candidate, is_of_question, isouter=True)
        .outerjoin(Sentence, Sentence.id == Candidate.sentence_id)
        .outerjoin(Document, Document.id == Sentence.document_id)
        .where(Question.corpus_id == corpus_id)
    )
    imported_first = case((Candidate.origin == IMPORTED, 0), else_=1)
    in_order = (Question.id, imported_first, Candidate.ordinal, Sentence.document_id, Sentence.position)
    return list(session.execute(statement.order_by(*in_order)))
