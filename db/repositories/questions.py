"""Questions, their candidates, the runs that ranked them and the scores."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import (
    ColumnElement,
    Row,
    Select,
    SQLColumnExpression,
    and_,
    case,
    false,
    func,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Session, aliased

from as2core.types import CORRECT
from db.models import (
    ASKED,
    Annotator,
    Candidate,
    Corpus,
    CurrentLabel,
    Document,
    ModelVersion,
    Question,
    Run,
    Score,
    Sentence,
    Verdict,
    text_key,
)
from db.repositories.pairs import Pair, is_same_pair
from db.repositories.statements import add_row, split_batches, upsert, upsert_into

IMPORTED, RETRIEVED = "imported", "retrieved"
LISTED, PROPOSED = "listed", "proposed"
NON_TRAINING_SPLITS = ("test", "dev")  # splits of questions that no retrain learns from
WRITTEN_HERE = (ASKED, LISTED)  # origins of questions that came without a sentence


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


def add_question(
    session: Session, corpus_id: int, text: str, *, external_id: str, origin: str, now: datetime
) -> Question:
    question = Question(corpus_id=corpus_id, text=text, external_id=external_id, origin=origin, created=now)
    return add_row(session, question)


def find_questions(session: Session, corpus_id: int, external_ids: Sequence[str]) -> dict[str, Question]:
    """External id -> question, of those that are stored."""
    query = select(Question).where(Question.corpus_id == corpus_id, Question.external_id.in_(external_ids))
    return {q.external_id: q for q in session.scalars(query)}


def find_question(session: Session, corpus_id: int, text: str) -> Question | None:
    """The first question of that wording, white space aside."""
    same_text = select(Question).where(Question.corpus_id == corpus_id, Question.text_key == text_key(text))
    return session.scalar(same_text.order_by(Question.id).limit(1))


def find_questions_by_text(session: Session, corpus_id: int, texts: Iterable[str]) -> list[Question]:
    """Those of these wordings, white space aside, in the order of their ids."""
    of_corpus = select(Question).where(Question.corpus_id == corpus_id)
    batches = split_batches(map(text_key, texts))
    rows = [q for keys in batches for q in session.scalars(of_corpus.where(Question.text_key.in_(keys)))]
    return sorted(rows, key=lambda q: q.id)


def list_texts(session: Session, corpus_id: int) -> list[str]:
    """Of all questions, the oldest first."""
    return list(session.scalars(select(Question.text).where(Question.corpus_id == corpus_id).order_by(Question.id)))


def list_questions(session: Session, corpus_id: int) -> list[Question]:
    return list(session.scalars(select(Question).where(Question.corpus_id == corpus_id).order_by(Question.id)))


def is_offered(only: Collection[int]) -> SQLColumnExpression[bool]:
    """Whether a question is for the queues: one of `only` if any are given, else any of theirs."""
    return Question.id.in_(only) if only else Question.queued


def list_unranked_questions(
    session: Session,
    corpus_id: int,
    version_id: int,
    limit: int | None,
    *,
    only: Collection[int] = (),
    but: Select | None = None,
    busy: Collection[int] = (),
    order: Sequence[SQLColumnExpression] = (),
) -> list[Question]:
    """Those that are not `is_ranked_by` this version, or are `is_outdated`: of the queues, or of `only` if any are
    given, without those whose ids `but` selects and those that are `busy`. By default first those that a retrain may
    learn from, newest first, then the others."""
    needs_ranking = or_(~is_ranked_by(version_id), is_outdated(find_search_change(session, corpus_id)))
    unranked = select(Question).where(Question.corpus_id == corpus_id, is_offered(only), needs_ranking)
    if but is not None:
        unranked = unranked.where(Question.id.not_in(but))
    if busy:
        unranked = unranked.where(Question.id.not_in(busy))
    newest_first = Question.split.in_(NON_TRAINING_SPLITS), Question.id.desc()
    return list(session.scalars(unranked.order_by(*order or newest_first).limit(limit)))


def list_outdated_questions(session: Session, corpus_id: int, only: Collection[int] = ()) -> list[int]:
    """Ids of those that are `is_outdated`, of the queues, or of `only` if any are given; newest first."""
    changed = find_search_change(session, corpus_id)
    ids = select(Question.id).where(Question.corpus_id == corpus_id, is_offered(only), is_outdated(changed))
    return list(session.scalars(ids.order_by(Question.id.desc())))


def find_search_change(session: Session, corpus_id: int) -> datetime | None:
    """When what a search of the corpus finds last changed."""
    return session.scalar(select(Corpus.search_changed).where(Corpus.id == corpus_id))


def is_outdated(changed: datetime | None) -> ColumnElement[bool]:
    """Whether the question's last run is older than this change of what a search finds, and no person has labelled a
    candidate of it that is still in its document: who has begun a list goes on with the list that they began."""
    if changed is None:
        return false()
    last = select(func.max(Run.created)).where(Run.question_id == Question.id).correlate(Question).scalar_subquery()
    labels = select(CurrentLabel.id).join(Annotator).join(Sentence, Sentence.id == CurrentLabel.sentence_id)
    by_people = labels.where(CurrentLabel.question_id == Question.id, ~Annotator.imported, ~Sentence.retired)
    return and_(last < changed, ~by_people.exists())


def is_run_of(version_id: int) -> ColumnElement[bool]:
    """Whether a run is by this version with its present weights; an update of the program replaces a shipped one's."""
    since = select(ModelVersion.created).where(ModelVersion.id == version_id).scalar_subquery()
    return and_(Run.version_id == version_id, Run.created >= since)


def is_ranked_by(version_id: int) -> ColumnElement[bool]:
    """Whether the question's last run is this version's, or all its ranked candidates were last ranked by it."""
    newest = aliased(Run, name="newest")
    last = select(func.max(newest.id)).where(newest.question_id == Question.id).correlate(Question).scalar_subquery()
    ran_last = select(Run.id).where(is_run_of(version_id), Run.id == last).exists()
    by_it, by_others = _candidates_by_run(is_run_of(version_id)), _candidates_by_run(~is_run_of(version_id))
    return or_(ran_last, and_(by_it.exists(), ~by_others.exists()))


def _candidates_by_run(which: ColumnElement[bool]) -> Select:
    """The question's candidates whose newest run is one of these."""
    return select(Candidate.id).join(Run, Run.id == Candidate.run_id).where(Candidate.question_id == Question.id, which)


def list_questions_without_cuts(session: Session, corpus_id: int, version_id: int) -> list[int]:
    """Ids of questions of the queues, ranked by this version, where no candidate has its nearest cut stored, newest
    first."""
    of_it = is_run_of(version_id)
    has_cuts = _candidates_by_run(and_(of_it, Candidate.cut_margin.is_not(None))).exists()
    queued = select(Question.id).where(Question.corpus_id == corpus_id, Question.queued)
    without = queued.where(_candidates_by_run(of_it).exists(), ~has_cuts)
    return list(session.scalars(without.order_by(Question.id.desc())))


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


def find_corpus_of_pair(session: Session, pair: Pair) -> tuple[Corpus, bool] | None:
    """The corpus that both the question and the sentence belong to, and whether the sentence left its document."""
    question_id, sentence_id = pair
    of_both = select(Corpus, Sentence.retired).join(Question).join(Sentence, Sentence.corpus_id == Corpus.id)
    row = session.execute(of_both.where(Question.id == question_id, Sentence.id == sentence_id)).first()
    return None if row is None else (row[0], row[1])


def find_candidate_ids(session: Session, question_id: int, sentence_ids: Sequence[int] | None = None) -> dict[int, int]:
    """Sentence id -> candidate id; of all the question's candidates if no sentences are named."""
    ids = select(Candidate.sentence_id, Candidate.id).where(Candidate.question_id == question_id)
    if sentence_ids is not None:
        ids = ids.where(Candidate.sentence_id.in_(sentence_ids))
    return {r.sentence_id: r.id for r in session.execute(ids)}


def list_answered_questions(session: Session, corpus_id: int, limit: int) -> list[Question]:
    """Questions with a sentence that somebody labels correct at present."""
    correct = select(CurrentLabel.id).where(CurrentLabel.question_id == Question.id, CurrentLabel.label == CORRECT)
    query = select(Question).where(Question.corpus_id == corpus_id, correct.exists())
    return list(session.scalars(query.order_by(Question.id).limit(limit)))


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


def list_repeated_ids(session: Session, corpus_id: int) -> list[int]:
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
