"""Model versions, which of them is active, and evaluations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import TypedDict, Unpack

from sqlalchemy import Row, Select, and_, func, or_, select, update
from sqlalchemy.orm import Session

from db.models import Activation, Candidate, Evaluation, Job, ModelVersion, Question, Run, Score
from db.repositories.candidates import CUT_COLUMNS, RETRIEVED, has_label
from db.repositories.questions import is_ranked_by, is_run_of
from db.repositories.statements import add_row, lock, upsert

NAMES_LOCK = 7265  # any number that nothing else here locks


class VersionDetails(TypedDict, total=False):
    parent: str | None
    note: str
    metrics: Mapping[str, object]


def lock_names(session: Session) -> None:
    """Until this transaction ends, no other takes a free name."""
    lock(session, NAMES_LOCK)


def add_version(
    session: Session, name: str, *, kind: str, path: str, state: str, now: datetime, **details: Unpack[VersionDetails]
) -> ModelVersion:
    return add_row(session, ModelVersion(name=name, kind=kind, path=path, state=state, created=now, **details))


def find_version(session: Session, **column: str) -> ModelVersion | None:
    """By its `name`, or by its `path`."""
    return session.scalar(select(ModelVersion).filter_by(**column))


def list_versions(session: Session, kind: str | None = None) -> list[ModelVersion]:
    """Newest first."""
    statement = select(ModelVersion).order_by(ModelVersion.id.desc())
    return list(session.scalars(statement.where(ModelVersion.kind == kind) if kind else statement))


def rename_version(session: Session, version_id: int, new: str) -> None:
    """The versions made from it name their parent anew."""
    row = session.get_one(ModelVersion, version_id)
    session.execute(update(ModelVersion).where(ModelVersion.parent == row.name).values(parent=new))
    row.name = new


def list_unfinished_retrains(session: Session) -> list[Job]:
    """Those that may still run."""
    return list(session.scalars(select(Job).where(Job.kind == "retrain", Job.state != "done")))


def list_retrained_names(session: Session) -> list[Row]:
    """Rows (corpus_id, version) of the retrains that made one, whether it is still there or not; the corpus is None if
    it was deleted."""
    version = Job.result["version"].as_string().label("version")
    made_one = select(Job.corpus_id, version).where(Job.kind == "retrain", Job.state == "done", version != "")
    return list(session.execute(made_one))


def find_shipped(session: Session, kind: str) -> ModelVersion | None:
    of_kind = select(ModelVersion).filter_by(kind=kind, state="shipped")
    return session.scalar(of_kind.order_by(ModelVersion.id).limit(1))


def find_newest_activation(session: Session, kind: str) -> Activation | None:
    """The promotion in force, None while the shipped version is active."""
    in_force = select(Activation).filter_by(kind=kind, reverted=None)
    return session.scalar(in_force.order_by(Activation.id.desc()).limit(1))


def find_active(session: Session, kind: str) -> ModelVersion | None:
    newest = find_newest_activation(session, kind)
    return session.get(ModelVersion, newest.version_id) if newest else find_shipped(session, kind)


def list_activations(session: Session) -> list[Activation]:
    """In the order of the promotions."""
    return list(session.scalars(select(Activation).order_by(Activation.id)))


def find_active_ids(versions: Iterable[ModelVersion], activations: Iterable[Activation]) -> dict[str, int]:
    """Kind -> the id of the version that `find_active` finds. `versions`: all of their kinds."""
    shipped = {v.kind: v.id for v in sorted(versions, key=lambda v: -v.id) if v.state == "shipped"}
    return shipped | {a.kind: a.version_id for a in activations if a.reverted is None}


def find_previous(session: Session, kind: str) -> ModelVersion | None:
    """What is active once the promotion in force is reverted."""
    in_force = select(Activation).filter_by(kind=kind, reverted=None)
    newest = session.scalars(in_force.order_by(Activation.id.desc()).limit(2)).all()
    if len(newest) == 2:
        return session.get(ModelVersion, newest[1].version_id)
    return find_shipped(session, kind) if newest else None


def add_activation(session: Session, kind: str, version_id: int, reason: str, now: datetime) -> None:
    session.add(Activation(kind=kind, version_id=version_id, reason=reason, created=now))


def list_promotion_reasons(session: Session, version_ids: Collection[int]) -> dict[int, list[tuple[str, datetime]]]:
    """Version -> why it was promoted and when, oldest first; only promotions that a reason was given for."""
    promotions = select(Activation).where(Activation.version_id.in_(version_ids)).order_by(Activation.id)
    return group_reasons(session.scalars(promotions))


def group_reasons(activations: Iterable[Activation]) -> dict[int, list[tuple[str, datetime]]]:
    """As `list_promotion_reasons` gives them."""
    reasons: dict[int, list[tuple[str, datetime]]] = {}
    for promotion in activations:
        if promotion.reason.strip():
            reasons.setdefault(promotion.version_id, []).append((promotion.reason, promotion.created))
    return reasons


def adopt_newest_runs(session: Session, version_id: int) -> list[int]:
    """Have the candidates that a version scored once follow its newest run again; where it cut is not known any more.
    Returns the corpora they are of."""
    runs = select(Run.question_id, func.max(Run.id).label("id")).where(is_run_of(version_id))
    newest = runs.group_by(Run.question_id).subquery("newest")
    has_score = select(Score.candidate_id).where(Score.candidate_id == Candidate.id, Score.version_id == version_id)
    astray = (
        select(Candidate.id)
        .outerjoin(Run, Run.id == Candidate.run_id)
        .where(or_(Run.id.is_(None), Run.version_id != version_id), has_score.exists())
    )
    of_them = select(Question.corpus_id).join(Candidate)
    corpora = session.scalars(of_them.where(Candidate.id.in_(astray)).distinct()).all()
    if corpora:
        unknown = dict.fromkeys(CUT_COLUMNS)
        moved = update(Candidate).where(Candidate.id.in_(astray), Candidate.question_id == newest.c.question_id)
        session.execute(moved.values(run_id=newest.c.id, **unknown), execution_options={"synchronize_session": False})
    return list(corpora)


def list_ranked_by_others(session: Session, version_id: int, corpus_id: int | None = None) -> list[Question]:
    """Questions of the queues that follow another version, or one that is deleted, with a candidate nobody labelled;
    newest first. So do those with such a candidate that only a version now deleted had found."""
    has_orphan = _open_candidates().where(Candidate.run_id.is_(None), Candidate.origin == RETRIEVED).exists()
    stale = or_(and_(~is_ranked_by(version_id), _open_candidates().exists()), has_orphan)
    return list(session.scalars(_select_with_ranking(corpus_id).where(stale)))


def list_open_questions(session: Session, corpus_id: int) -> list[Question]:
    """Questions of the queues that a version has ranked, with a candidate nobody labelled; newest first."""
    return list(session.scalars(_select_with_ranking(corpus_id).where(_open_candidates().exists())))


def _select_with_ranking(corpus_id: int | None) -> Select[Question]:
    """Questions of the queues that a version has ranked, of all corpora or of one; newest first."""
    ran = or_(Candidate.run_id.is_not(None), Candidate.origin == RETRIEVED)
    is_ranked = select(Candidate.id).where(Candidate.question_id == Question.id, ran).exists()
    statement = select(Question).where(Question.queued, is_ranked).order_by(Question.id.desc())
    return statement.where(Question.corpus_id == corpus_id) if corpus_id else statement


def _open_candidates() -> Select[int]:
    """Those of the question that nobody labelled."""
    return select(Candidate.id).where(Candidate.question_id == Question.id, ~has_label())


def find_evaluation(session: Session, ranker_key: str, data_hash: str, setting: str) -> Evaluation | None:
    key = {"ranker_key": ranker_key, "data_hash": data_hash, "setting": setting}
    return session.scalar(select(Evaluation).filter_by(**key))


def put_evaluation(
    session: Session,
    ranker_key: str,
    data_hash: str,
    setting: str,
    *,
    ranker: str,
    data: str,
    result: Mapping[str, object],
    now: datetime,
) -> None:
    key = {"ranker_key": ranker_key, "data_hash": data_hash, "setting": setting}
    upsert(session, Evaluation, list(key), [{**key, "ranker": ranker, "data": data, "result": result, "created": now}])
