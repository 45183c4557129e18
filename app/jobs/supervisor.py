"""Seeing to what nobody runs: jobs whose worker was killed, a retrain that is due at night, the audit log's end.

The process of the pages runs it in a thread; a command that follows a job calls `attend` itself; the worker reaps.
"""

import logging
import threading
from datetime import timedelta

from sqlalchemy.orm import Session

from app.jobs import queue, retrain_rule
from app.jobs.process import is_dead, start_worker_if_needed
from app.jobs.queue import JobView, to_view
from app.workbench import audit_retention
from app.workbench.workbench import DatabaseOutage, Workbench
from db.models import Job
from db.repositories import jobs as rows

STALE = timedelta(seconds=25)  # with the two seconds between checks, a dead worker is noticed within 30
CHECK_SECONDS = 2.0

log = logging.getLogger(__name__)


def start_supervisor(wb: Workbench) -> threading.Thread:
    """Attend to the jobs every two seconds, until the workbench is closed."""
    thread = threading.Thread(target=_supervise, args=(wb,), name="job supervisor", daemon=True)
    thread.start()
    return thread


def _supervise(wb: Workbench) -> None:
    while not wb.is_closed.wait(CHECK_SECONDS):
        try:
            attend(wb)
            retrain_rule.wake_worker_if_due(wb)
            audit_retention.prune_daily(wb)
        except DatabaseOutage:
            continue  # logged when it began
        except Exception:
            if not wb.is_closed.is_set():
                log.exception("attending to the jobs")


def attend(wb: Workbench) -> None:
    """Queue lost jobs again, and start a worker if jobs wait for one."""
    if queue.has_work(wb):
        reap(wb)
        start_worker_if_needed(wb)


def list_silent(wb: Workbench) -> list[JobView]:
    """Jobs that are running by their rows, and whose worker is gone or has not been heard of."""
    with wb.read() as s:
        return [to_view(row) for row in _find_silent(wb, s)]


def _find_silent(wb: Workbench, session: Session, *, lock: bool = False) -> list[Job]:
    """Where the database was away a moment ago, only those whose worker is known to be dead: no other could be heard
    of meanwhile."""
    dead = [w for w in rows.list_running_workers(session) if is_dead(w)]
    was_away = wb.had_outage_within(STALE.total_seconds())
    heard_before = None if was_away else wb.clock() - STALE
    return rows.list_silent_jobs(session, heard_before=heard_before, dead_workers=dead, lock=lock)


def reap(wb: Workbench) -> None:
    """Turn runs whose heartbeat stopped into lost ones, queued again while attempts remain. A run that comes back finds
    that its attempt no longer counts, and can write nothing."""
    now = wb.clock()
    if not list_silent(wb):
        return
    with wb.write() as s:
        for row in _find_silent(wb, s, lock=True):
            goes_on = row.attempt < row.attempts and not row.cancelling
            rows.add_event(s, row.id, {"kind": "lost", "attempt": row.attempt, "goes_on": goes_on}, now)
            if row.cancelling:
                row.state, row.message, row.finished = "cancelled", "cancelled", now
            elif goes_on:
                row.state = "queued"
                row.message = (
                    f"the worker was interrupted in attempt {row.attempt}; the job goes on when the next one runs"
                )
            else:
                row.state, row.finished, row.message = "lost", now, ""
                row.error = f"the worker was interrupted {row.attempt} times; look into its log and run it again"
