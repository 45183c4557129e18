"""The queue of background jobs: adding, reading, cancelling, pausing. The rows of the database are the queue entirely.

Whoever started a job may cancel, pause and run it again, and so may annotators and admins: they share the machine.

A worker claims a row (`app.jobs.attempt`), and signs it with a heartbeat and its attempt's number. Nothing here that
reads a job changes one or starts a worker; the supervisor (`app.jobs.supervisor`) sees to jobs that nobody runs.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import datetime
from typing import cast

from sqlalchemy.orm import Session, object_session

from app.jobs.kinds import JobKind
from app.jobs.process import start_worker_if_needed
from app.workbench import audit
from app.workbench.people import ADMIN, ANNOTATOR, VIEWER, AnnotatorView, allow
from app.workbench.workbench import Workbench
from as2core.errors import As2Error
from db.models import Job, JsonObject
from db.repositories import jobs as rows
from db.repositories.corpora import lock_corpus

# What the audit log calls the start of a job, by kind; those of the other kinds are not in it.
START_RETRAIN, START_COMPARISON, START_DECISION = "start a retrain", "start a comparison", "start a decision"
STARTS: Mapping[str, str] = {
    JobKind.RETRAIN: START_RETRAIN,
    JobKind.COMPARE: START_COMPARISON,
    JobKind.DECIDE: START_DECISION,
}
MAX_EVENTS = 2000  # of a job with more, the steps of its training are thinned out


# A worker's slots: the kinds of job that each runs, with their priorities. Of the jobs that wait for a slot, the one of
# the highest priority goes first. A long kind has a slot of its own; the short kinds share one, vectors before
# scores: what is ranked without them is ranked again.
SLOTS: tuple[Mapping[str, int], ...] = (
    {JobKind.RETRAIN: 30},
    {JobKind.COMPARE: 20, JobKind.DECIDE: 25},
    {JobKind.PROMOTE: 40},
    {JobKind.PROPOSE: 12, JobKind.EMBED: 11, JobKind.SCORE: 10, JobKind.SECOND_LOOKS: 5, JobKind.MEASURE: -10},
)
PRIORITIES = {kind: priority for slot in SLOTS for kind, priority in slot.items()}
SINGLE_KINDS = (JobKind.RETRAIN, JobKind.MEASURE)  # of a corpus one at a time waits or runs


def find_slot(kind: str) -> Mapping[str, int]:
    """The slot that runs jobs of this kind."""
    return next(slot for slot in SLOTS if kind in slot)


class UnknownJob(As2Error):
    """No job of that number."""


class JobActive(As2Error):
    """A job of this kind and corpus waits or runs already."""


@dataclass(frozen=True, slots=True)
class JobView:
    """A background job as its row has it. `progress` is 0 to 1; `log` is the path of the full error, if any.
    `annotator_id`: who started it, None where nobody did or it is not known."""

    id: int
    kind: str
    state: str
    progress: float
    message: str
    events: tuple[JsonObject, ...]
    result: JsonObject
    error: str
    log: str
    settings: JsonObject
    corpus_id: int | None
    attempt: int
    cancelling: bool
    created: datetime
    started: datetime | None
    finished: datetime | None
    paused: bool = False
    annotator_id: int | None = None

    @property
    def is_active(self) -> bool:
        return self.state in rows.ACTIVE_STATES


def to_view(row: Job, events: Iterable[JsonObject] = ()) -> JobView:
    values = {f.name: getattr(row, f.name) for f in fields(JobView) if f.name != "events"}
    values["paused"] = row.paused and row.state in rows.ACTIVE_STATES
    return JobView(**values, events=tuple(events))


def enqueue(
    wb: Workbench,
    kind: str,
    settings: Mapping[str, object],
    *,
    corpus_id: int | None = None,
    by: int | None = None,
    detail: str = "",
    once: bool = False,
) -> JobView:
    """Add a job and see that a worker runs. `by`: who starts it, None for the program or the command line; `detail`:
    for the audit log; `once`: if another waits or runs that does the same, as after a double click, it is that one.
    Raises JobActive if it is of SINGLE_KINDS and its corpus has another."""
    with wb.write() as s:
        if corpus_id is not None and (once or kind in SINGLE_KINDS):
            lock_corpus(s, corpus_id)
            _check_single(s, kind, corpus_id)
        if once and (same := _find_same(s, kind, settings, corpus_id)):
            return to_view(same)
        job = to_view(rows.add_job(s, kind, settings, wb.clock(), corpus_id=corpus_id, annotator_id=by))
        if by is not None and (act := STARTS.get(kind)):
            audit.record(s, wb.clock(), by, act, f"job {job.id}", detail)
    start_worker_if_needed(wb)
    return job


def _check_single(s: Session, kind: str, corpus_id: int | None) -> None:
    """Raises JobActive. The corpus is locked, so that of two who ask at once one is the first."""
    if kind in SINGLE_KINDS and corpus_id is not None and (others := rows.list_active_jobs(s, kind, corpus_id)):
        raise JobActive(f"job {others[0].id} ({kind}) of this corpus is not over: wait for it or cancel it")


def _find_same(s: Session, kind: str, settings: Mapping[str, object], corpus_id: int | None) -> Job | None:
    """The corpus's job of these settings that waits or runs and is not about to be cancelled."""
    values = json.loads(json.dumps(settings))  # as a row has them
    active = (j for j in rows.list_active_jobs(s, kind, corpus_id) if not j.cancelling)
    return next((j for j in active if j.settings == values and j.corpus_id == corpus_id), None)


def load_job(wb: Workbench, job_id: int) -> JobView:
    """Raises UnknownJob."""
    with wb.read() as s:
        row = s.get(Job, job_id)
        if row is None:
            raise UnknownJob(f"no job {job_id}: it may belong to another database")
        return to_view(row, rows.list_events(s, [job_id], MAX_EVENTS)[job_id])


def list_jobs(wb: Workbench, kind: str | None = None, limit: int = 20) -> list[JobView]:
    """Newest first, of one of `PRIORITIES` or of all."""
    with wb.read() as s:
        jobs = rows.list_jobs(s, kind, limit=limit)
        events = rows.list_events(s, [j.id for j in jobs], MAX_EVENTS)
        return [to_view(j, events[j.id]) for j in jobs]


def list_active(wb: Workbench, kind: str | None = None, corpus_id: int | None = None) -> list[JobView]:
    """Those that wait or run, oldest first, without their events."""
    with wb.read() as s:
        return [to_view(j) for j in rows.list_active_jobs(s, kind, corpus_id)]


def list_recent(wb: Workbench, corpus_id: int, limit: int = 10) -> list[JobView]:
    """A corpus's last jobs of all kinds, newest first, without their events."""
    with wb.read() as s:
        return [to_view(j) for j in rows.list_jobs(s, corpus_id=corpus_id, limit=limit)]


def find_newest(wb: Workbench, kind: str, corpus_id: int | None, *states: str) -> JobView | None:
    """The last job of a kind, of a corpus or of any, in one of these states or in any; without its events."""
    with wb.read() as s:
        row = rows.find_newest_job(s, kind, corpus_id, *states)
        return None if row is None else to_view(row)


def has_work(wb: Workbench) -> bool:
    """Whether a job runs, or waits and is not paused."""
    with wb.read() as s:
        return any(j.state == "running" or not j.paused for j in rows.list_active_jobs(s))


def may_control(job: JobView, person: AnnotatorView) -> bool:
    """Whether this person may cancel, pause or repeat the job."""
    return person.role in (ADMIN, ANNOTATOR) or (job.annotator_id == person.id and person.role == VIEWER)


def cancel(wb: Workbench, job_id: int, *, by: int | None = None) -> JobView:
    """A queued job is cancelled at once, a running one within seconds; one that is over stays as it is. What it did so
    far stays for another run. `by` None is the command line. Raises NotAllowed for a viewer who did not start it."""
    with _change(wb, job_id, "cancel a job", by) as row:
        if row is not None and row.state == "queued":
            row.state, row.message, row.finished = "cancelled", "cancelled before it ran", wb.clock()
        elif row is not None and row.state == "running":
            row.cancelling, row.message = True, "stopping"
    return load_job(wb, job_id)


def pause(wb: Workbench, job_id: int, *, by: int | None = None) -> JobView:
    """Let a job wait for somebody who needs the machine: a running one holds between two of its steps. If another job
    waits for its slot it makes room, and goes on from its last checkpoint later. `by` and NotAllowed as in `cancel`."""
    return _set_paused(wb, job_id, True, by)


def resume(wb: Workbench, job_id: int, *, by: int | None = None) -> JobView:
    """Let a paused job go on where it waits. `by` and NotAllowed as in `cancel`."""
    job = _set_paused(wb, job_id, False, by)
    start_worker_if_needed(wb)
    return job


def _set_paused(wb: Workbench, job_id: int, is_paused: bool, by: int | None) -> JobView:
    with _change(wb, job_id, "pause a job" if is_paused else "resume a job", by) as row:
        if row is not None and row.state in rows.ACTIVE_STATES and row.paused != is_paused:
            row.paused = is_paused
            event = {"kind": "paused" if is_paused else "resumed"}
            rows.add_event(cast(Session, object_session(row)), job_id, event, wb.clock())
    return load_job(wb, job_id)


def update_settings(
    wb: Workbench, job_id: int, act: str, values: Mapping[str, object], *, by: int | None = None
) -> JobView:
    """Ask an active job for something else. A run sees it where it calls `read_settings`. `by` and NotAllowed as in
    `cancel`."""
    with _change(wb, job_id, act, by) as row:
        if row is not None and row.state in rows.ACTIVE_STATES:
            row.settings = {**row.settings, **values}
    return load_job(wb, job_id)


def read_settings(wb: Workbench, job_id: int) -> JsonObject:
    """What a job is asked now; empty where it is gone."""
    with wb.read() as s:
        row = s.get(Job, job_id)
        return dict(row.settings) if row is not None else {}


def retry(wb: Workbench, job_id: int, *, by: int | None = None) -> JobView:
    """Queue a failed, cancelled or lost job again; it resumes from what it left. Raises As2Error for any other,
    JobActive as `enqueue` does; NotAllowed as in `cancel`."""
    with _change(wb, job_id, "repeat a job", by, locks_corpus=True) as row:
        if row is not None and row.state not in ("failed", "cancelled", "lost"):
            raise As2Error(f"job {job_id} is {row.state}: only one that failed, was cancelled or lost can be run again")
        if row is not None:
            _check_single(cast(Session, object_session(row)), row.kind, row.corpus_id)
            row.state, row.cancelling, row.error, row.finished = "queued", False, "", None
            row.paused = False
            row.attempts, row.message = row.attempt + rows.MAX_ATTEMPTS, "waiting for the worker"
    start_worker_if_needed(wb)
    return load_job(wb, job_id)


@contextmanager
def _change(
    wb: Workbench, job_id: int, act: str, by: int | None, *, locks_corpus: bool = False
) -> Iterator[Job | None]:
    """The job's row, locked, for somebody who may change it; None if there is none. Recorded in the audit log."""
    with wb.write() as s:
        job = s.get(Job, job_id) if locks_corpus else None
        if job is not None and job.kind in SINGLE_KINDS and job.corpus_id is not None:
            lock_corpus(s, job.corpus_id)  # before the job, as whoever deletes the corpus does
        row = rows.lock_job(s, job_id)
        is_own = row is not None and by is not None and row.annotator_id == by
        allow(s, by, act, VIEWER if is_own else ANNOTATOR)
        if row is not None:
            audit.record(s, wb.clock(), by, act, f"{row.kind}, job {job_id}")
        yield row
