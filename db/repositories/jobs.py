"""Job rows: who may run a job, whether it is alive, and what it says.

Every write of a running job names its attempt, so that a run which was given up for lost can no longer speak for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import and_, case, func, insert, or_, select, update
from sqlalchemy.orm import Session

from db.models import Job, JobEvent

ATTEMPTS = 3


def add_job(
    session: Session, kind: str, settings: Mapping[str, Any], now: datetime, *, corpus_id: int | None = None
) -> Job:
    job = Job(
        kind=kind,
        corpus_id=corpus_id,
        state="queued",
        progress=0.0,
        message="waiting for the worker",
        settings=dict(settings),
        result={},
        error="",
        log="",
        attempt=0,
        attempts=ATTEMPTS,
        cancelling=False,
        worker="",
        heartbeat=None,
        created=now,
        started=None,
        finished=None,
    )
    session.add(job)
    session.flush()
    return job


def job(session: Session, job_id: int) -> Job | None:
    return session.get(Job, job_id)


def lock_job(session: Session, job_id: int) -> Job | None:
    return session.scalar(select(Job).where(Job.id == job_id).with_for_update())


def jobs(session: Session, kind: str | None, limit: int, *, corpus_id: int | None = None) -> list[Job]:
    """Newest first."""
    statement = select(Job).order_by(Job.id.desc()).limit(limit)
    if corpus_id is not None:
        statement = statement.where(Job.corpus_id == corpus_id)
    return list(session.scalars(statement.where(Job.kind == kind) if kind else statement))


def active_jobs(session: Session, kind: str | None = None, corpus_id: int | None = None) -> list[Job]:
    statement = select(Job).where(Job.state.in_(("queued", "running"))).order_by(Job.id)
    if kind is not None:
        statement = statement.where(Job.kind == kind)
    if corpus_id is not None:
        statement = statement.where(Job.corpus_id == corpus_id)
    return list(session.scalars(statement))


def newest_job(session: Session, kind: str, corpus_id: int, state: str | None = None) -> Job | None:
    """Of a corpus; `state` None for any."""
    statement = select(Job).where(Job.kind == kind, Job.corpus_id == corpus_id).order_by(Job.id.desc()).limit(1)
    return session.scalar(statement if state is None else statement.where(Job.state == state))


def events(session: Session, job_ids: Sequence[int], limit: int) -> dict[int, list[dict[str, Any]]]:
    """Each job's events, oldest first. Of a job with more than `limit` the newest and all but the "step" events are
    told, of these every second, third and so on: few enough, and still from the first to the last."""
    of = (
        select(JobEvent.job_id, func.count().label("number"), func.max(JobEvent.id).label("newest"))
        .where(JobEvent.job_id.in_(job_ids))
        .group_by(JobEvent.job_id)
        .subquery()
    )
    every = (of.c.number - 1) // limit + 1
    is_no_step = JobEvent.payload["kind"].as_string().is_distinct_from("step")
    rows = session.execute(
        select(JobEvent.job_id, JobEvent.payload)
        .join(of, of.c.job_id == JobEvent.job_id)
        .where(or_(JobEvent.id % every == 0, JobEvent.id == of.c.newest, is_no_step))
        .order_by(JobEvent.id)
    )
    found: dict[int, list[dict[str, Any]]] = {i: [] for i in job_ids}
    for r in rows:
        found[r.job_id].append(r.payload)
    return found


def next_queued(session: Session, priorities: Mapping[str, int]) -> Job | None:
    """The queued job of the highest priority, the oldest of those; paused ones wait."""
    rank = case(priorities, value=Job.kind, else_=0)
    waiting = and_(Job.state == "queued", Job.paused.is_(False))
    return session.scalar(select(Job).where(waiting).order_by(rank.desc(), Job.id).limit(1))


def claim(session: Session, job_id: int, worker: str, now: datetime) -> int | None:
    """Take a queued job: the number of this attempt, None if someone else was quicker."""
    return session.scalar(
        update(Job)
        .where(Job.id == job_id, Job.state == "queued")
        .values(
            state="running",
            attempt=Job.attempt + 1,
            worker=worker,
            heartbeat=now,
            started=func.coalesce(Job.started, now),
            finished=None,
            error="",
            log="",
            message="starting",
        )
        .returning(Job.attempt)
    )


def beat(
    session: Session,
    job_id: int,
    attempt: int,
    now: datetime,
    values: Mapping[str, Any],
    said: Iterable[dict[str, Any]],
) -> bool | None:
    """Sign of life with what is new. True: asked to cancel. None: this attempt no longer counts."""
    cancelling = session.scalar(
        update(Job)
        .where(Job.id == job_id, Job.attempt == attempt, Job.state == "running")
        .values(heartbeat=now, **values)
        .returning(Job.cancelling)
    )
    rows = [{"job_id": job_id, "payload": payload, "created": now} for payload in said]
    if cancelling is not None and rows:
        session.execute(insert(JobEvent), rows)
    return cancelling


def is_paused(session: Session, job_id: int) -> bool:
    return bool(session.scalar(select(Job.paused).where(Job.id == job_id)))


def finish(
    session: Session, job_id: int, attempt: int, state: str, now: datetime, *, forgive: bool = False, **values: Any
) -> bool:
    """End an attempt; False if it no longer counts. `forgive`: the attempt is not counted against the job."""
    if forgive:
        values["attempts"] = Job.attempts + 1
    done = session.scalar(
        update(Job)
        .where(Job.id == job_id, Job.attempt == attempt, Job.state == "running")
        .values(state=state, finished=None if state == "queued" else now, **values)
        .returning(Job.id)
    )
    return done is not None


def say(session: Session, job_id: int, payload: Mapping[str, Any], now: datetime) -> None:
    session.execute(insert(JobEvent), [{"job_id": job_id, "payload": dict(payload), "created": now}])


def silent_jobs(session: Session, *, beaten_before: datetime, dead_workers: Sequence[str]) -> list[Job]:
    """Running jobs whose heart stopped, or whose worker is known to be dead."""
    return list(
        session.scalars(
            select(Job)
            .where(
                and_(Job.state == "running", or_(Job.heartbeat < beaten_before, Job.worker.in_(dead_workers))),
            )
            .with_for_update()
        )
    )


def running_workers(session: Session) -> list[str]:
    return list(session.scalars(select(Job.worker).where(Job.state == "running").distinct()))
