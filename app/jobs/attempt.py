"""Running one job: one attempt, from the claim to its end.

A slot of the worker runs one job at a time, the most urgent first; background work of many steps (vectors, scores for
queues, the search for suspicious labels) steps back when something more urgent waits for the slot, and resumes later.
A paused run holds between two steps and keeps what is in its memory; when another job waits for its slot it gives way,
and goes on from its last checkpoint later. Where the database goes away or is busy, the job is queued again.
"""

import logging
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from app.jobs.process import name_worker
from app.jobs.queue import PRIORITIES, find_slot
from app.workbench.workbench import DatabaseContention, DatabaseOutage, DatabaseTrouble, Workbench
from as2core.errors import FULL_DISK, As2Error, Cancelled, is_disk_full
from db.models import Job, JsonObject
from db.repositories import jobs as rows

log = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 1.0
PAUSED_POLL_SECONDS = 0.1
MAX_ENDING_TRIES = 10
LONG_SECONDS = 60.0  # a run that lasted longer has not broken its connection by itself
CANCEL_SECONDS = 3.0  # a cancelled run has to stop by itself before its job is called cancelled regardless


class SteppedBack(Exception):
    """The run made room for a more urgent job; its job is queued again."""


class JobRun:
    """One attempt at a job, as its runner sees it.

    Progress and events are collected here and written once a second with the heartbeat, so that a runner may report as
    often as it likes.
    """

    def __init__(self, wb: Workbench, row: Job, is_stopping: Callable[[], bool]) -> None:
        self.wb, self.id, self.kind = wb, row.id, row.kind
        self.attempt, self.attempts = row.attempt, row.attempts  # this one, and how many the job has
        self.settings, self.corpus_id = dict(row.settings), row.corpus_id
        self.earlier_result = dict(row.result)  # what attempts before it published
        self.cancelled = self.disowned = self.paused = self.gave_way = False
        self._is_stopping = is_stopping
        self._lock, self._over = threading.Lock(), threading.Event()
        self._values: dict[str, object] = {}
        self._events: list[JsonObject] = []
        self._began = self._cancelled_at = self._paused_seconds = 0.0
        self._heart = threading.Thread(target=self._send_heartbeats, name=f"job-{row.id}", daemon=True)

    @property
    def folder(self) -> Path:
        """The job's own; it stays between attempts."""
        path = self.wb.settings.jobs_dir / str(self.id)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def progress(self, share: float, message: str) -> None:
        """`share` from 0 to 1."""
        with self._lock:
            self._values |= {"progress": min(1.0, max(0.0, share)), "message": message}

    def publish(self, result: Mapping[str, object]) -> None:
        """Store what is known already: the job's result so far, until it ends with another."""
        with self._lock:
            self._values |= {"result": dict(result)}

    def event(self, payload: Mapping[str, object]) -> None:
        """Add an event to the job; of several "step" events within one heartbeat the last is stored."""
        with self._lock:
            if self._events and payload.get("kind") == "step" == self._events[-1].get("kind"):
                self._events.pop()
            self._events.append(dict(payload))

    def should_stop(self) -> bool:
        """Whether the run is to end now. Called between steps; while the job is paused it waits."""
        began = time.monotonic()
        while self.paused and not self._ending():
            time.sleep(PAUSED_POLL_SECONDS)
        self._paused_seconds += time.monotonic() - began
        return self._ending()

    def seconds(self) -> float:
        """A clock that stands still while the job is paused."""
        return time.monotonic() - self._paused_seconds

    def _ending(self) -> bool:
        return self.cancelled or self.disowned or self.gave_way or self._is_stopping()

    def check(self) -> None:
        """Raises Cancelled when the run is to end now."""
        if self.should_stop():
            raise Cancelled("cancelled")

    def step_back(self) -> None:
        """Raises SteppedBack if a more urgent job waits for the slot, Cancelled when the run is to end now."""
        self.check()
        with self.wb.read() as s:
            waiting = rows.find_next_queued(s, find_slot(self.kind))
        if waiting is not None and PRIORITIES[waiting.kind] > PRIORITIES[self.kind]:
            raise SteppedBack

    def run(self, runner: "Runner") -> None:
        """Run it, and write down how it ended."""
        self._heart.start()
        self._began = time.monotonic()
        try:
            result = runner(self)
        except SteppedBack:
            self._end("queued", message="making room for a more urgent job")
        except Cancelled:
            if self._is_stopping() and not self.cancelled:
                self._end("queued", message="the worker was stopped; it goes on when one runs")
            elif self.gave_way and not self.cancelled:
                self._end("queued", message="made room for another job while it was paused")
            else:
                self._end("cancelled", message="cancelled")
        except (DatabaseOutage, DatabaseContention) as e:
            self._end_without_database(e)
        except Exception as e:
            self._fail(e)
        else:
            self._end("done", message="done", progress=1.0, result=result or {})
        finally:
            self._over.set()  # a heart that beats on would keep a run alive whose end could not be written

    def _end_without_database(self, error: DatabaseTrouble) -> None:
        """Queue it again. It keeps its attempt where the database is away or the run was long; otherwise the attempt
        counts, as a job that breaks its own connection, or needs a lock that stays held, would run for ever."""
        is_busy = isinstance(error, DatabaseContention)
        if time.monotonic() - self._began > LONG_SECONDS or (not is_busy and self._is_database_away()):
            trouble = "busy" if is_busy else "away"
            self._end("queued", message=f"the database was {trouble}; it goes on when the worker comes to it")
        elif self.attempt < self.attempts:
            trouble = "found the database busy" if is_busy else "lost its connection to the database"
            self._end("queued", message=f"{trouble}; tried again", attempts=self.attempts)
        elif is_busy:
            self._fail(error)
        else:
            text = "the job lost its connection to the database, which answers; look into its log and run it again"
            self._fail(As2Error(text))

    def _is_database_away(self) -> bool:
        try:
            with self.wb.read() as s:
                rows.is_paused(s, self.id)
        except DatabaseOutage:
            return True
        return False

    def _fail(self, error: Exception) -> None:
        log.exception("job %s (%s) failed", self.id, self.kind)
        text = str(error) if isinstance(error, As2Error) else f"{type(error).__name__}: {error}"
        if is_disk_full(error) and not isinstance(error, As2Error):
            text = FULL_DISK
        self._end("failed", message="failed", error=" ".join(text.split())[:500], log=self._write_error_log())

    def _write_error_log(self) -> str:
        """The file that the current error was added to; "" where it cannot be written, as on a full disk."""
        try:
            file = self.folder / "error.log"
            with file.open("a", encoding="utf-8", errors="backslashreplace") as f:
                f.write(f"{self.wb.clock():%Y-%m-%d %H:%M:%S} UTC, attempt {self.attempt}\n{traceback.format_exc()}\n")
        except OSError as e:
            log.warning("job %s: its error log cannot be written (%s)", self.id, e)
            return ""
        return str(file)

    def _end(self, state: str, **values: object) -> None:
        """Write the end down, with what was not yet written, however long the database is away. A run that is to be
        cancelled is not queued again."""
        self._over.set()
        self._heart.join()
        pending, events = self._take_pending()
        tries = 0
        while True:
            try:
                with self.wb.write() as s:
                    is_cancelling = rows.beat(s, self.id, self.attempt, self.wb.clock(), pending, events)
                    if is_cancelling and state == "queued":
                        state, values = "cancelled", {"message": "cancelled"}
                    if is_cancelling is not None:
                        rows.finish(s, self.id, self.attempt, state, self.wb.clock(), {"cancelling": False, **values})
                return  # also where the attempt no longer counts: it was lost, or called cancelled
            except As2Error as e:
                if tries == 0:
                    log.warning("job %s: its end cannot be written yet (%s)", self.id, e)
                tries += 1
                is_patient = isinstance(e, DatabaseOutage) and not self._is_stopping()
                if tries >= MAX_ENDING_TRIES and not is_patient:
                    raise
                time.sleep(HEARTBEAT_SECONDS)

    def _take_pending(self) -> tuple[dict[str, object], list[JsonObject]]:
        """Progress and events since the last heartbeat."""
        with self._lock:
            values, events = self._values, self._events
            self._values, self._events = {}, []
        return values, events

    def _send_heartbeats(self) -> None:
        is_failing = False
        while not self._over.wait(HEARTBEAT_SECONDS):
            values, events = self._take_pending()
            try:
                is_cancelling = self._beat(values, events)
            except As2Error as e:
                if not is_failing:
                    log.warning("job %s: no heartbeat (%s)", self.id, e)
                is_failing = True
                with self._lock:  # so that nothing is lost
                    self._values = {**values, **self._values}
                    self._events = [*events, *self._events]
                continue
            is_failing = False
            if is_cancelling is None:
                self.disowned = True
            elif is_cancelling and not self.cancelled:
                self.cancelled, self._cancelled_at = True, time.monotonic()

    def _beat(self, values: Mapping[str, object], events: list[JsonObject]) -> bool | None:
        with self.wb.write() as s:
            is_cancelling = rows.beat(s, self.id, self.attempt, self.wb.clock(), values, events)
            self.paused = rows.is_paused(s, self.id)
            if self.paused and rows.find_next_queued(s, find_slot(self.kind)) is not None:
                self.gave_way = True  # and stays so: the runner may have seen it
            if is_cancelling and self._cancelled_at and time.monotonic() - self._cancelled_at > CANCEL_SECONDS:
                rows.finish(s, self.id, self.attempt, "cancelled", self.wb.clock(), {"message": "cancelled"})
        return is_cancelling


Runner: TypeAlias = Callable[[JobRun], JsonObject | None]  # what does the work of a kind; returns the job's result


def run_next(
    wb: Workbench,
    runners: Mapping[str, Runner],
    slot: Mapping[str, int] = PRIORITIES,
    *,
    stopping: Callable[[], bool] = lambda: False,
) -> bool:
    """Claim and run the most urgent job of the slot's kinds; False if none waits."""
    with wb.read() as s:  # the usual answer is no, and costs no writer anything
        if rows.find_next_queued(s, slot) is None:
            return False
    with wb.write() as s:
        row = rows.claim_next(s, slot, name_worker(), wb.clock())
    if row is None:  # another worker was quicker
        return False
    try:
        job, runner = JobRun(wb, row, stopping), runners[row.kind]
    except (KeyError, TypeError, ValueError) as e:  # a damaged row, or one of a newer program
        log.error("job %s cannot be run: %r", row.id, e)
        with wb.write() as s:
            error = f"this program cannot run a job of the kind {row.kind!r} with such settings: update it, or cancel"
            rows.finish(s, row.id, row.attempt, "failed", wb.clock(), {"message": "failed", "error": error})
        return True
    job.run(runner)
    return True


def run_queued(wb: Workbench, runners: Mapping[str, Runner]) -> int:
    """Run what is queued, one job after another, until nothing is left; returns how many were run."""
    count = 0
    while run_next(wb, runners):
        count += 1
    return count
