"""Model versions, which of them is active, and evaluations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, TypedDict, Unpack

from sqlalchemy import and_, delete, func, or_, select, update
from sqlalchemy.orm import Session

from db.models import Activation, Candidate, Evaluation, Job, ModelVersion, Question, Run, Score, current_label
from db.repositories.questions import RETRIEVED, is_ranked_by, is_run_of, upsert_into


class VersionDetails(TypedDict, total=False):
    parent: str | None
    note: str
    metrics: Mapping[str, Any] | None


def add_version(
    session: Session,
    name: str,
    *,
    kind: str,
    path: str,
    state: str,
    now: datetime,
    **details: Unpack[VersionDetails],
) -> ModelVersion:
    columns = {"parent": None, "note": "", **details, "metrics": dict(details.get("metrics") or {})}
    version = ModelVersion(name=name, kind=kind, path=path, state=state, created=now, **columns)
    session.add(version)
    session.flush()
    return version


def version_named(session: Session, name: str) -> ModelVersion | None:
    return session.scalar(select(ModelVersion).where(ModelVersion.name == name))


def version_at(session: Session, path: str) -> ModelVersion | None:
    """By its directory."""
    return session.scalar(select(ModelVersion).where(ModelVersion.path == path))


def version(session: Session, version_id: int) -> ModelVersion | None:
    return session.get(ModelVersion, version_id)


def lock_version(session: Session, version_id: int) -> ModelVersion | None:
    """Nobody else promotes or deletes it until the session ends."""
    return session.scalar(select(ModelVersion).where(ModelVersion.id == version_id).with_for_update())


def versions(session: Session, kind: str | None = None) -> list[ModelVersion]:
    """Newest first."""
    statement = select(ModelVersion).order_by(ModelVersion.id.desc())
    return list(session.scalars(statement.where(ModelVersion.kind == kind) if kind else statement))


def rename_version(session: Session, version_id: int, new: str) -> None:
    """The versions made from it name their parent anew, and so do retrains: those that may still run their base, those
    that are done what they made and from what."""
    row = session.get_one(ModelVersion, version_id)
    session.execute(update(ModelVersion).where(ModelVersion.parent == row.name).values(parent=new))
    for job in retrains_not_done(session):
        if job.settings.get("base") == row.name:
            job.settings = {**job.settings, "base": new}
    for job in session.scalars(select(Job).where(Job.kind == "retrain", Job.state == "done")):
        named = {key: new for key in ("version", "base") if job.result.get(key) == row.name}
        if named:
            job.result = {**job.result, **named}
    row.name = new


def retrains_not_done(session: Session) -> list[Job]:
    """Those that may still run."""
    return list(session.scalars(select(Job).where(Job.kind == "retrain", Job.state != "done")))


def set_note(session: Session, version_id: int, note: str) -> None:
    session.get_one(ModelVersion, version_id).note = note


def delete_version(session: Session, version_id: int) -> None:
    """With its activations, runs and scores."""
    session.execute(delete(ModelVersion).where(ModelVersion.id == version_id))


def jobs_from(session: Session, name: str) -> list[Job]:
    """Retrains under way that start from this version."""
    under_way = select(Job).where(Job.kind == "retrain", Job.state.in_(("queued", "running")))
    return [j for j in session.scalars(under_way) if j.settings.get("base") == name]


def shipped(session: Session, kind: str) -> ModelVersion | None:
    return session.scalar(
        select(ModelVersion)
        .where(ModelVersion.kind == kind, ModelVersion.state == "shipped")
        .order_by(ModelVersion.id)
        .limit(1)
    )


def newest_activation(session: Session, kind: str) -> Activation | None:
    """The promotion in force, None while the shipped version is active."""
    return session.scalar(
        select(Activation)
        .where(Activation.kind == kind, Activation.reverted.is_(None))
        .order_by(Activation.id.desc())
        .limit(1)
    )


def active(session: Session, kind: str) -> ModelVersion | None:
    newest = newest_activation(session, kind)
    return version(session, newest.version_id) if newest else shipped(session, kind)


def add_activation(session: Session, kind: str, version_id: int, reason: str, now: datetime) -> None:
    session.add(Activation(kind=kind, version_id=version_id, reason=reason, created=now, reverted=None))
    session.flush()


def promotion_reasons(session: Session, version_ids: Collection[int]) -> dict[int, list[tuple[str, datetime]]]:
    """Version -> why it was promoted and when, oldest first; only promotions that a reason was given for."""
    reasons: dict[int, list[tuple[str, datetime]]] = {}
    promotions = select(Activation).where(Activation.version_id.in_(version_ids)).order_by(Activation.id)
    for promotion in session.scalars(promotions):
        if promotion.reason.strip():
            reasons.setdefault(promotion.version_id, []).append((promotion.reason, promotion.created))
    return reasons


def adopt_newest_runs(session: Session, version_id: int) -> list[int]:
    """Have the candidates that a version scored once follow its newest run again; where it cut is not known any more.
    Returns the corpora they are of."""
    newest = (
        select(Run.question_id, func.max(Run.id).label("id"))
        .where(is_run_of(version_id))
        .group_by(Run.question_id)
        .subquery("newest")
    )
    scored = select(Score.candidate_id).where(Score.candidate_id == Candidate.id, Score.version_id == version_id)
    astray = (
        select(Candidate.id)
        .outerjoin(Run, Run.id == Candidate.run_id)
        .where(or_(Run.id.is_(None), Run.version_id != version_id), scored.exists())
    )
    of_them = select(Question.corpus_id).join(Candidate, Candidate.question_id == Question.id)
    corpora = session.scalars(of_them.where(Candidate.id.in_(astray)).distinct()).all()
    if corpora:
        unknown = dict.fromkeys(("cut_layer", "cut_rank", "cut_kept", "cut_margin"))
        moved = update(Candidate).where(Candidate.id.in_(astray), Candidate.question_id == newest.c.question_id)
        session.execute(moved.values(run_id=newest.c.id, **unknown), execution_options={"synchronize_session": False})
    return list(corpora)


def ranked_by_others(session: Session, version_id: int, corpus_id: int | None = None) -> list[Question]:
    """Questions that follow another version, or one that is deleted, with a candidate nobody labelled; newest first.
    So do those with such a candidate that only a version now deleted had found."""
    ran = or_(Candidate.run_id.is_not(None), Candidate.origin == RETRIEVED)
    ranked = select(Candidate.id).where(Candidate.question_id == Question.id, ran).exists()
    pair = and_(
        current_label.c.question_id == Candidate.question_id, current_label.c.sentence_id == Candidate.sentence_id
    )
    labelled = select(current_label.c.id).where(pair).exists()
    is_open = select(Candidate.id).where(Candidate.question_id == Question.id, ~labelled)
    lost = is_open.where(Candidate.run_id.is_(None), Candidate.origin == RETRIEVED).exists()
    stale = or_(and_(~is_ranked_by(version_id), is_open.exists()), lost)
    statement = select(Question).where(ranked, stale).order_by(Question.id.desc())
    return list(session.scalars(statement.where(Question.corpus_id == corpus_id) if corpus_id else statement))


def evaluation(session: Session, ranker_key: str, data_hash: str, setting: str) -> Evaluation | None:
    return session.scalar(
        select(Evaluation).where(
            Evaluation.ranker_key == ranker_key, Evaluation.data_hash == data_hash, Evaluation.setting == setting
        )
    )


def put_evaluation(
    session: Session,
    ranker_key: str,
    data_hash: str,
    setting: str,
    *,
    ranker: str,
    data: str,
    result: Mapping[str, Any],
    now: datetime,
) -> None:
    values = {"ranker": ranker, "data": data, "result": dict(result), "created": now}
    statement = upsert_into(session, Evaluation).values(
        ranker_key=ranker_key, data_hash=data_hash, setting=setting, **values
    )
    session.execute(
        statement.on_conflict_do_update(
            index_elements=[Evaluation.ranker_key, Evaluation.data_hash, Evaluation.setting], set_=values
        )
    )
