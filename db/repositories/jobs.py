"""Job rows: claiming a job, its heartbeat, its progress and events, its end.

Every write of a running job names its attempt, so that a run which was given up for lost can no longer change the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from sqlalchemy import Select, Update, case, func, insert, or_, select, update
from sqlalchemy.orm import Session

from db.models import Job, JobEvent, JsonObject
from db.repositories.statements import add_row

MAX_ATTEMPTS = 3
ACTIVE_STATES = ("queued", "running")


def add_job(
    session: Session,
    kind: str,
    settings: Mapping[str, object],
    now: datetime,
    *,
    corpus_id: int | None = None,
    annotator_id: int | None = None,
) -> Job:
    of = {"corpus_id": corpus_id, "annotator_id": annotator_id}
    return add_row(session, Job(kind=kind, settings=dict(settings), attempts=MAX_ATTEMPTS, created=now, **of))


def lock_job(session: Session, job_id: int) -> Job | None:
    return session.get(Job, job_id, with_for_update=True)


def list_jobs(
    session: Session,
    kind: str | None = None,
    corpus_id: int | None = None,
    *,
    states: Sequence[str] = (),
    limit: int | None = None,
) -> list[Job]:
    """Newest first; None and () stand for any."""
    columns = {"kind": kind, "corpus_id": corpus_id}
    statement = select(Job).filter_by(**{name: value for name, value in columns.items() if value is not None})
    if states:
        statement = statement.where(Job.state.in_(states))
    return list(session.scalars(statement.order_by(Job.id.desc()).limit(limit)))


def list_active_jobs(session: Session, kind: str | None = None, corpus_id: int | None = None) -> list[Job]:
    """Those that wait or run, oldest first."""
    return list_jobs(session, kind, corpus_id, states=ACTIVE_STATES)[::-1]


def find_newest_job(session: Session, kind: str, corpus_id: int | None, *states: str) -> Job | None:
    """Of a corpus or of any, in one of these states or in any."""
    return next(iter(list_jobs(session, kind, corpus_id, states=states, limit=1)), None)


def list_events(session: Session, job_ids: Sequence[int], limit: int) -> dict[int, list[JsonObject]]:
    """Each job's events, oldest first. Of a job with more than `limit` the newest and all but the "step" events are
    read, of these every second, third and so on: few enough, and still from the first to the last."""
    of = (
        select(JobEvent.job_id, func.count().label("number"), func.max(JobEvent.id).label("newest"))
        .where(JobEvent.job_id.in_(job_ids))
        .group_by(JobEvent.job_id)
        .subquery()
    )
    every = (of.c.number - 1) // limit + 1
    is_no_step = JobEvent.payload["kind"].as_string().is_distinct_from("step")
    is_read = or_(JobEvent.id % every == 0, JobEvent.id == of.c.newest, is_no_step)
    payloads = select(JobEvent.job_id, JobEvent.payload).join(of, of.c.job_id == JobEvent.job_id).where(is_read)
    by_job: dict[int, list[JsonObject]] = {i: [] for i in job_ids}
    for job_id, payload in session.execute(payloads.order_by(JobEvent.id)):
        by_job[job_id].append(payload)
    return by_job


def _select_next(priorities: Mapping[str, int]) -> Select[Job]:
    rank = case(priorities, value=Job.kind)
    waiting = Job.state == "queued", Job.paused.is_(False), Job.kind.in_(priorities)
    return select(Job).where(*waiting).order_by(rank.desc(), Job.id).limit(1)


def find_next_queued(session: Session, priorities: Mapping[str, int]) -> Job | None:
    """The queued job of the highest priority, the oldest of those, among the kinds that have one; paused ones wait."""
    return session.scalar(_select_next(priorities))


def claim_next(session: Session, priorities: Mapping[str, int], worker: str, now: datetime) -> Job | None:
    """Take that job for a worker and count the attempt. Two workers never get the same row: on PostgreSQL a row that
    another transaction holds is passed over, on SQLite the transaction is the only one that writes."""
    job = session.scalar(_select_next(priorities).with_for_update(skip_locked=True))
    if job is not None:
        job.state, job.message, job.error, job.log = "running", "starting", "", ""
        job.attempt, job.worker, job.heartbeat = job.attempt + 1, worker, now
        job.started, job.finished = job.started or now, None
        session.flush()
    return job


def beat(
    session: Session,
    job_id: int,
    attempt: int,
    now: datetime,
    values: Mapping[str, object],
    events: Iterable[JsonObject],
) -> bool | None:
    """Write a heartbeat with what is new. True: the run is to be cancelled. None: this attempt no longer counts."""
    alive = _update_run(job_id, attempt).values(heartbeat=now, **values)
    cancelling = session.scalar(alive.returning(Job.cancelling))
    rows = [{"job_id": job_id, "payload": payload, "created": now} for payload in events]
    if cancelling is not None and rows:
        session.execute(insert(JobEvent), rows)
    return cancelling


def is_paused(session: Session, job_id: int) -> bool:
    return bool(session.scalar(select(Job.paused).where(Job.id == job_id)))


def finish(
    session: Session, job_id: int, attempt: int, state: str, now: datetime, values: Mapping[str, object]
) -> bool:
    """End an attempt; False if it no longer counts. One that is queued again is not counted against the job, unless
    `values` has the number of `attempts`."""
    if state == "queued":
        values = {"attempts": Job.attempts + 1, **values}
    ended = _update_run(job_id, attempt).values(state=state, finished=None if state == "queued" else now, **values)
    return session.scalar(ended.returning(Job.id)) is not None


def _update_run(job_id: int, attempt: int) -> Update:
    return update(Job).where(Job.id == job_id, Job.attempt == attempt, Job.state == "running")


def add_event(session: Session, job_id: int, payload: Mapping[str, object], now: datetime) -> None:
    session.execute(insert(JobEvent), [{"job_id": job_id, "payload": dict(payload), "created": now}])


def rename_data(session: Session, old: str, new: str) -> None:
    """Of the jobs that are about the data set `old`."""
    for job in session.scalars(select(Job).where(Job.settings["data"].as_string() == old)):
        job.settings = {**job.settings, "data": new}


def list_silent_jobs(
    session: Session, *, heard_before: datetime | None, dead_workers: Sequence[str], lock: bool = False
) -> list[Job]:
    """Running jobs without a heartbeat since then (None: however long ago), or whose worker is known to be dead."""
    is_dead = Job.worker.in_(dead_workers)
    is_silent = is_dead if heard_before is None else or_(Job.heartbeat < heard_before, is_dead)
    statement = select(Job).where(Job.state == "running", is_silent)
    return list(session.scalars(statement.with_for_update() if lock else statement))


def list_running_workers(session: Session) -> list[str]:
    return list(session.scalars(select(Job.worker).where(Job.state == "running").distinct()))
