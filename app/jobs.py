"""Background jobs. The job's row is the truth; huey only carries the wake-up call to the worker's process.

A run signs its row with a heartbeat and its attempt's number. When the heart stops, or the worker's process is gone,
the reaper gives the run up for lost and queues the job again while attempts remain; should the old run come back, its
attempt no longer counts and it can write nothing. See `running` for how a job is run, `worker` for the process.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from app.services.views import JobView
from app.services.workbench import Workbench
from as2core.errors import As2Error
from db.models import Job
from db.repositories import jobs as rows

log = logging.getLogger(__name__)

PRIORITY = {"retrain": 30, "compare": 20, "doubt": 15, "propose": 12, "score": 10, "embed": 0}
STALE = timedelta(seconds=25)  # with the two seconds between looks, a dead worker is noticed within 30
EVENTS_SHOWN = 2000  # of a job with more, the steps of its training are thinned out


class UnknownJob(As2Error):
    """No job of that number."""


# --- asking for jobs -------------------------------------------------------------------------------------------------


def enqueue(wb: Workbench, kind: str, settings: Mapping[str, Any], *, corpus_id: int | None = None) -> JobView:
    """Put a job in the queue and see that a worker wakes up."""
    with wb.write() as s:
        row = rows.add_job(s, kind, settings, wb.clock(), corpus_id=corpus_id)
        made = view(row, [])
    wake(wb)
    return made


def get(wb: Workbench, job_id: int) -> JobView:
    """Raises UnknownJob."""
    attend(wb)
    with wb.read() as s:
        row = rows.job(s, job_id)
        if row is None:
            raise UnknownJob(f"no job {job_id}: it may belong to another database")
        return view(row, rows.events(s, [job_id], EVENTS_SHOWN)[job_id])


def listed(wb: Workbench, kind: str | None = None, limit: int = 20) -> list[JobView]:
    """Newest first."""
    attend(wb)
    with wb.read() as s:
        found = rows.jobs(s, kind, limit)
        said = rows.events(s, [j.id for j in found], EVENTS_SHOWN)
        return [view(j, said[j.id]) for j in found]


def active(wb: Workbench, kind: str | None = None, corpus_id: int | None = None) -> list[JobView]:
    """Those that wait or run, oldest first, without their events."""
    attend(wb)
    with wb.read() as s:
        return [view(j, []) for j in rows.active_jobs(s, kind, corpus_id)]


def newest(wb: Workbench, kind: str, corpus_id: int) -> JobView | None:
    """A corpus's last job of a kind, without its events."""
    attend(wb)
    with wb.read() as s:
        row = rows.newest_job(s, kind, corpus_id)
        return None if row is None else view(row, [])


def recent(wb: Workbench, corpus_id: int, limit: int = 10) -> list[JobView]:
    """A corpus's last jobs of all kinds, newest first, without their events."""
    attend(wb)
    with wb.read() as s:
        return [view(j, []) for j in rows.jobs(s, None, limit, corpus_id=corpus_id)]


def cancel(wb: Workbench, job_id: int) -> JobView:
    """A queued job is cancelled at once, a running one within seconds; one that is over stays as it is."""
    with wb.write() as s:
        row = rows.lock_job(s, job_id)
        if row is not None and row.state == "queued":
            row.state, row.message, row.finished = "cancelled", "cancelled before it ran", wb.clock()
        elif row is not None and row.state == "running":
            row.cancelling, row.message = True, "stopping"
    return get(wb, job_id)


def pause(wb: Workbench, job_id: int) -> JobView:
    """Let a job wait, queued or between two of its steps, for somebody who needs the machine. A running one holds the
    worker until another job waits for it; then it is queued, and takes up its last checkpoint once it may go on."""
    return _set_paused(wb, job_id, True)


def resume(wb: Workbench, job_id: int) -> JobView:
    """Let a paused job go on where it waits."""
    made = _set_paused(wb, job_id, False)
    wake(wb)
    return made


def _set_paused(wb: Workbench, job_id: int, paused: bool) -> JobView:
    now = wb.clock()
    with wb.write() as s:
        row = rows.lock_job(s, job_id)
        if row is not None and row.state in ("queued", "running") and row.paused != paused:
            row.paused = paused
            rows.say(s, job_id, {"kind": "paused" if paused else "resumed"}, now)
    return get(wb, job_id)


def retry(wb: Workbench, job_id: int) -> JobView:
    """Queue a failed, cancelled or lost job again; it resumes from what it left. Raises As2Error for any other."""
    with wb.write() as s:
        row = rows.lock_job(s, job_id)
        if row is not None and row.state not in ("failed", "cancelled", "lost"):
            raise As2Error(f"job {job_id} is {row.state}: only one that failed, was cancelled or lost can be run again")
        if row is not None:
            row.state, row.cancelling, row.error, row.finished = "queued", False, "", None
            row.paused = False
            row.attempts, row.message = row.attempt + rows.ATTEMPTS, "waiting for the worker"
    wake(wb)
    return get(wb, job_id)


def view(row: Job, events: list[dict[str, Any]]) -> JobView:
    return JobView(
        id=row.id,
        kind=row.kind,
        state=row.state,
        progress=row.progress,
        message=row.message,
        events=tuple(events),
        result=dict(row.result),
        error=row.error,
        log=row.log,
        settings=dict(row.settings),
        corpus_id=row.corpus_id,
        attempt=row.attempt,
        cancelling=row.cancelling,
        paused=row.paused and row.state in ("queued", "running"),
        created=row.created,
        started=row.started,
        finished=row.finished,
    )


# --- the queue and who looks after it --------------------------------------------------------------------------------


def connect(wb: Workbench, run: Callable[[], None] = lambda: None) -> Any:
    """The huey queue of these settings with its one task, `wake`, whose body is `run`; returns (huey, task)."""
    import huey

    settings = wb.settings
    if settings.redis_url:
        queue = huey.RedisHuey("as2", url=settings.redis_url, results=False)
    else:
        queue = huey.SqliteHuey("as2", filename=str(settings.queue_file), results=False)

    def wake() -> None:
        run()

    return queue, queue.task()(wake)


def wake(wb: Workbench) -> None:
    """Call the worker, starting one if that is our business. A lost call costs seconds: the worker looks by itself."""
    try:
        connect(wb)[1]()
    except Exception as e:
        log.warning("the job queue cannot be reached (%s); the worker will find the job when it looks", e)
    start_worker_if_needed(wb)


def attend(wb: Workbench) -> None:
    """Give up lost runs, and start a worker if jobs wait for one or a retrain is due. Cheap: at most every two
    seconds."""
    from app.services import automatic

    if time.monotonic() - wb.marks.get("attended", -9.0) < 2.0:
        return
    wb.marks["attended"] = time.monotonic()
    with wb.read() as s:
        waiting = any(j.state == "running" or not j.paused for j in rows.active_jobs(s))
    if waiting:
        reap(wb)
        start_worker_if_needed(wb)
    automatic.call(wb)


def start_worker_if_needed(wb: Workbench) -> None:
    """Start the worker's process unless one runs, or `AS2_WORKER=external`."""
    from app import worker

    if wb.settings.worker == "external" or worker.is_running(wb.settings):
        return
    if time.monotonic() - wb.marks.get("started worker", -99.0) < 10.0:
        return  # it is still on its way up
    wb.marks["started worker"] = time.monotonic()
    worker.start(wb.settings)


def reap(wb: Workbench) -> None:
    """Turn runs whose heart stopped into lost ones, queued again while attempts remain."""
    now = wb.clock()
    with wb.read() as s:
        dead = [w for w in rows.running_workers(s) if is_dead(w)]
        if not dead and not rows.silent_jobs(s, beaten_before=now - STALE, dead_workers=[]):
            return
    with wb.write() as s:
        for row in rows.silent_jobs(s, beaten_before=now - STALE, dead_workers=dead):
            rows.say(s, row.id, {"kind": "lost", "attempt": row.attempt}, now)
            if row.cancelling:
                row.state, row.message, row.finished = "cancelled", "cancelled", now
            elif row.attempt < row.attempts:
                row.state = "queued"
                row.message = f"the worker stopped without a word; queued again after attempt {row.attempt}"
            else:
                row.state, row.finished, row.message = "lost", now, ""
                row.error = f"the worker stopped without a word {row.attempt} times; look into its log and run it again"


def worker_name() -> str:
    """This process, so that others on the same machine can tell whether it still lives."""
    return f"{socket.gethostname()}:{os.getpid()}:{_born(os.getpid())}"


def is_dead(worker: str) -> bool:
    """Whether a worker of this machine is gone; of others only the heartbeat tells."""
    host, _, rest = worker.rpartition(":")[0].rpartition(":")
    if host != socket.gethostname() or not rest.isdigit():
        return False
    return str(_born(int(rest))) != worker.rpartition(":")[2]


def _born(pid: int) -> int:
    """When a process began, 0 if it is gone; a number used again belongs to another birth."""
    import psutil

    try:
        process = psutil.Process(pid)
        return 0 if process.status() == psutil.STATUS_ZOMBIE else int(process.create_time() * 100)
    except psutil.NoSuchProcess:
        return 0


def anything_queued(wb: Workbench) -> bool:
    with wb.read() as s:
        return rows.next_queued(s, PRIORITY) is not None
