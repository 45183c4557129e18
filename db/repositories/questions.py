"""Questions, their candidates, the runs that ranked them and the scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, case, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session, aliased

from db.models import Candidate, Document, ModelVersion, Question, Run, Score, Sentence, current_label, text_key

IMPORTED, RETRIEVED = "imported", "retrieved"
Cut = tuple[int, int, int, float]  # layer, rank, kept, margin


@dataclass(frozen=True, slots=True)
class NewCandidate:
    """`cut` is where it came nearest to being dropped, or nearest to staying."""

    sentence_id: int
    ordinal: int
    retrieval_rank: int | None = None
    external_id: str | None = None
    grade: int | None = None
    cut: Cut | None = None


def upsert_into(session: Session, table: Any) -> Any:
    """An insert that knows `on_conflict_do_update` on either engine."""
    return (sqlite if session.get_bind().dialect.name == "sqlite" else postgresql).insert(table)


def add_question(
    session: Session, corpus_id: int, text: str, *, external_id: str, origin: str, now: datetime
) -> Question:
    question = new_question(corpus_id, text, external_id=external_id, origin=origin, now=now)
    session.add(question)
    session.flush()
    return question


def new_question(
    corpus_id: int, text: str, *, external_id: str, origin: str, now: datetime, kind: str = "", split: str = ""
) -> Question:
    """Not in any session yet."""
    return Question(
        corpus_id=corpus_id,
        external_id=external_id,
        text=text,
        text_key=text_key(text),
        kind=kind,
        origin=origin,
        split=split,
        created=now,
    )


def question(session: Session, question_id: int) -> Question | None:
    return session.get(Question, question_id)


def questions_named(session: Session, corpus_id: int, external_ids: Sequence[str]) -> dict[str, Question]:
    found = session.scalars(
        select(Question).where(Question.corpus_id == corpus_id, Question.external_id.in_(external_ids))
    )
    return {q.external_id: q for q in found}


def question_reading(session: Session, corpus_id: int, text: str) -> Question | None:
    """The first question of that wording, white space aside."""
    return session.scalar(
        select(Question)
        .where(Question.corpus_id == corpus_id, Question.text_key == text_key(text))
        .order_by(Question.id)
        .limit(1)
    )


def questions(session: Session, corpus_id: int) -> list[Question]:
    return list(session.scalars(select(Question).where(Question.corpus_id == corpus_id).order_by(Question.id)))


def questions_without_run(session: Session, corpus_id: int, version_id: int, limit: int) -> list[Question]:
    """Those that do not follow this version, newest first."""
    waiting = select(Question).where(Question.corpus_id == corpus_id, ~follows(version_id))
    return list(session.scalars(waiting.order_by(Question.id.desc()).limit(limit)))


def ran_by(version_id: int) -> ColumnElement[bool]:
    """Whether a run is this version's with the weights it has now: a shipped one's begin anew with the program's."""
    since = select(ModelVersion.created).where(ModelVersion.id == version_id).scalar_subquery()
    return and_(Run.version_id == version_id, Run.created >= since)


def follows(version_id: int) -> ColumnElement[bool]:
    """Whether this version ran last of all on the question, or ranked whatever candidates of it are ranked."""
    newest = aliased(Run, name="newest")
    last = select(func.max(newest.id)).where(newest.question_id == Question.id).correlate(Question).scalar_subquery()
    ran_last = select(Run.id).where(ran_by(version_id), Run.id == last).exists()
    by_it, by_others = (_of_runs(which).exists() for which in (ran_by(version_id), ~ran_by(version_id)))
    return or_(ran_last, and_(by_it, ~by_others))


def _of_runs(which: ColumnElement[bool]) -> Select:
    """The question's candidates by their newest run."""
    return select(Candidate.id).join(Run, Run.id == Candidate.run_id).where(Candidate.question_id == Question.id, which)


def uncut(session: Session, corpus_id: int, version_id: int) -> list[int]:
    """Questions that follow a version without any of their candidates knowing its cuts, newest first."""
    of_it = ran_by(version_id)
    known = _of_runs(and_(of_it, Candidate.cut_margin.is_not(None))).exists()
    waiting = select(Question.id).where(Question.corpus_id == corpus_id, _of_runs(of_it).exists(), ~known)
    return list(session.scalars(waiting.order_by(Question.id.desc())))


def scores_by_exit(session: Session, question_id: int, version_id: int) -> dict[int, dict[int, float]]:
    """Exit -> candidate id -> score, of the candidates that a version ranked last; as they were retrieved."""
    found: dict[int, dict[int, float]] = {}
    for exit_, candidate_id, value in session.execute(
        select(Score.exit, Score.candidate_id, Score.value)
        .join(Candidate, Candidate.id == Score.candidate_id)
        .join(Run, Run.id == Candidate.run_id)
        .where(Candidate.question_id == question_id, ran_by(version_id), Score.version_id == version_id)
        .order_by(Score.exit, Candidate.retrieval_rank, Candidate.id)
    ):
        found.setdefault(exit_, {})[candidate_id] = value
    return found


def put_cuts(session: Session, cuts: Mapping[int, Cut]) -> None:
    """By candidate id."""
    if cuts:
        names = ("cut_layer", "cut_rank", "cut_kept", "cut_margin")
        session.execute(update(Candidate), [{"id": c, **dict(zip(names, cut, strict=True))} for c, cut in cuts.items()])


def add_run(
    session: Session,
    question_id: int,
    version_id: int,
    *,
    last_exit: int,
    threshold: float,
    settings: Mapping[str, Any],
    seconds: Mapping[str, float],
    now: datetime,
) -> Run:
    run = Run(
        question_id=question_id,
        version_id=version_id,
        generative_id=None,
        last_exit=last_exit,
        threshold=threshold,
        settings=dict(settings),
        seconds=dict(seconds),
        created=now,
    )
    session.add(run)
    session.flush()
    return run


def put_candidates(
    session: Session, question_id: int, rows: Sequence[NewCandidate], *, origin: str, run_id: int | None = None
) -> dict[int, int]:
    """Store or refresh candidates; returns sentence id -> candidate id.

    With a run, its candidates come first from now on, in its order, and those it did not see follow. Imported ones keep
    their own order, their name and their place before all others.
    """
    if not rows:
        return {}
    if run_id is not None:
        session.execute(
            update(Candidate).where(Candidate.question_id == question_id).values(ordinal=Candidate.ordinal + len(rows))
        )
    values = [_candidate(question_id, r, origin, run_id) for r in rows]
    statement = upsert_into(session, Candidate)
    fresh = ("run_id", "retrieval_rank", "cut_layer", "cut_rank", "cut_kept", "cut_margin")
    key = [Candidate.question_id, Candidate.sentence_id]
    if run_id is None:
        statement = statement.on_conflict_do_nothing(index_elements=key)
    else:
        statement = statement.on_conflict_do_update(
            index_elements=key,
            set_={
                "ordinal": case((Candidate.origin == IMPORTED, Candidate.ordinal), else_=statement.excluded.ordinal),
                **{name: getattr(statement.excluded, name) for name in fresh},
            },
        )
    session.execute(statement, values)
    return candidate_ids(session, question_id, [r.sentence_id for r in rows])


def _candidate(question_id: int, row: NewCandidate, origin: str, run_id: int | None) -> dict[str, Any]:
    layer, rank, kept, margin = row.cut or (None, None, None, None)
    return {
        "question_id": question_id,
        "sentence_id": row.sentence_id,
        "run_id": run_id,
        "ordinal": row.ordinal,
        "retrieval_rank": row.retrieval_rank,
        "origin": origin,
        "external_id": row.external_id,
        "grade": row.grade,
        "cut_layer": layer,
        "cut_rank": rank,
        "cut_kept": kept,
        "cut_margin": margin,
    }


def candidate_ids(session: Session, question_id: int, sentence_ids: Sequence[int]) -> dict[int, int]:
    """Sentence id -> candidate id."""
    rows = session.execute(
        select(Candidate.sentence_id, Candidate.id).where(
            Candidate.question_id == question_id, Candidate.sentence_id.in_(sentence_ids)
        )
    )
    return {r.sentence_id: r.id for r in rows}


def candidate_ids_of(session: Session, question_id: int) -> list[int]:
    return list(session.scalars(select(Candidate.id).where(Candidate.question_id == question_id)))


def answerable(session: Session, corpus_id: int, limit: int) -> list[Question]:
    """Questions with a sentence that somebody labels correct at present."""
    answered = (
        select(current_label.c.id)
        .where(current_label.c.question_id == Question.id, current_label.c.label == "correct")
        .exists()
    )
    return list(
        session.scalars(
            select(Question).where(Question.corpus_id == corpus_id, answered).order_by(Question.id).limit(limit)
        )
    )


def next_ordinals(session: Session, question_ids: Sequence[int]) -> dict[int, int]:
    """Question id -> the place after its last candidate, of those that have any."""
    last = select(Candidate.question_id, func.max(Candidate.ordinal)).where(Candidate.question_id.in_(question_ids))
    return {question_id: place + 1 for question_id, place in session.execute(last.group_by(Candidate.question_id))}


def add_candidates(session: Session, rows: Sequence[tuple[int, NewCandidate]]) -> None:
    """Store imported candidates as (question id, candidate); one that is there already stays as it is, but for a grade
    that comes with it."""
    if rows:
        statement = upsert_into(session, Candidate)
        statement = statement.on_conflict_do_update(
            index_elements=[Candidate.question_id, Candidate.sentence_id],
            set_={"grade": func.coalesce(statement.excluded.grade, Candidate.grade)},
        )
        session.execute(statement, [_candidate(question_id, r, IMPORTED, None) for question_id, r in rows])


def put_scores(
    session: Session, version_id: int, exit_: int, rows: Iterable[tuple[int, float, float | None, int]]
) -> None:
    """Store (candidate id, value, probability, rank) of one version at one exit, over what it said before."""
    values = [
        {
            "candidate_id": c,
            "version_id": version_id,
            "exit": exit_,
            "value": value,
            "probability": probability,
            "rank": rank,
        }
        for c, value, probability, rank in rows
    ]
    if not values:
        return
    statement = upsert_into(session, Score)
    statement = statement.on_conflict_do_update(
        index_elements=[Score.candidate_id, Score.version_id, Score.exit],
        set_={name: getattr(statement.excluded, name) for name in ("value", "probability", "rank")},
    )
    session.execute(statement, values)


def run(session: Session, run_id: int) -> Run | None:
    return session.get(Run, run_id)


def ranked_with(session: Session, candidate_id: int) -> int:
    """How many candidates the newest run of this one ranked, itself included; 0 if none did. A run of an older program
    does not tell: those are counted that no later one ranked."""
    run = session.scalar(select(Run).join(Candidate, Candidate.run_id == Run.id).where(Candidate.id == candidate_id))
    if run is None:
        return 0
    left = select(func.count()).where(Candidate.run_id == run.id)
    return run.settings.get("ranked") or session.scalar(left) or 0


def with_candidates(session: Session, corpus_id: int) -> list[Row]:
    """One row a candidate of the corpus, by question, then in their order: what exports and snapshots are made of."""
    statement: Select = (
        select(
            Question.id.label("question_id"),
            Question.external_id.label("qid"),
            Question.text.label("question"),
            Question.kind,
            Question.origin,
            Question.split,
            Candidate.sentence_id,
            func.coalesce(Candidate.external_id, Sentence.external_id).label("candidate"),
            Candidate.origin.label("candidate_origin"),
            Candidate.grade,
            Sentence.text,
            Document.title,
        )
        .select_from(Question)
        .outerjoin(Candidate, Candidate.question_id == Question.id)
        .outerjoin(Sentence, Sentence.id == Candidate.sentence_id)
        .outerjoin(Document, Document.id == Sentence.document_id)
        .where(Question.corpus_id == corpus_id)
        .order_by(
            Question.id,
            case((Candidate.origin == IMPORTED, 0), else_=1),
            Candidate.ordinal,
            Sentence.document_id,
            Sentence.position,
        )
    )
    return list(session.execute(statement))
