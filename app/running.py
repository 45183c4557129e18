"""Running one job: one attempt, from the claim to its end, whatever that is.

One worker runs one job at a time, the more urgent kind first; long background work (vectors, scores for queues) steps
back when something more urgent waits, and resumes later. A paused run holds between two steps and keeps what is in its
memory; when another job waits for the worker it gives way, and goes on from its last checkpoint once it may.
"""

from __future__ import annotations

import importlib
import logging
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from app.jobs import PRIORITY, worker_name
from app.services.workbench import Workbench
from as2core.errors import As2Error, Cancelled
from db.models import Job
from db.repositories import jobs as rows

log = logging.getLogger(__name__)

RUNNERS = {
    "retrain": "app.services.retraining:run_retrain",
    "compare": "app.services.comparing:run_compare",
    "score": "app.services.scoring:run_score",
    "propose": "app.services.proposing:run_propose",
    "doubt": "app.services.doubts:run_doubt",
    "embed": "app.services.indexing:run_embed",
}
BEAT = 1.0  # seconds between signs of life
NAP = 0.1  # seconds between looks of a paused run
ENDING_TRIES = 10
PATIENCE = 3.0  # seconds a cancelled run has to stop by itself before it is called cancelled over its head


def runner_of(kind: str) -> Callable[[Running], dict[str, Any] | None]:
    """What does a kind's work; imported when it is needed."""
    module, _, name = RUNNERS[kind].partition(":")
    return getattr(importlib.import_module(module), name)


class SteppedBack(Exception):
    """The run made room for a more urgent job; its job is queued again."""


class Running:
    """One attempt at a job, as its runner sees it.

    Progress and events are collected here and written once a second with the heartbeat, so that a runner may report as
    often as it likes.
    """

    def __init__(self, wb: Workbench, row: Job, attempt: int, stopping: Callable[[], bool]) -> None:
        self.wb, self.id, self.kind, self.attempt = wb, row.id, row.kind, attempt
        self.settings, self.corpus_id = dict(row.settings), row.corpus_id
        self.cancelled = self.disowned = self.paused = self.gave_way = False
        self._stopping = stopping
        self._lock, self._over = threading.Lock(), threading.Event()
        self._values: dict[str, Any] = {}
        self._said: list[dict[str, Any]] = []
        self._cancelled_at = self._held = 0.0
        self._heart = threading.Thread(target=self._beat_on, name=f"job-{row.id}", daemon=True)

    @property
    def folder(self) -> Path:
        """The job's own, kept between attempts."""
        path = self.wb.settings.jobs_dir / str(self.id)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def progress(self, share: float, message: str) -> None:
        """`share` from 0 to 1."""
        with self._lock:
            self._values = {"progress": min(1.0, max(0.0, share)), "message": message}

    def event(self, payload: Mapping[str, Any]) -> None:
        """Something to remember; of several "step" events within one heartbeat the last is kept."""
        with self._lock:
            if self._said and payload.get("kind") == "step" == self._said[-1].get("kind"):
                self._said.pop()
            self._said.append(dict(payload))

    def should_stop(self) -> bool:
        """Whether the run is to end now. While the job is paused this waits: asked between steps, it holds the run."""
        began = time.monotonic()
        while self.paused and not self._ending():
            time.sleep(NAP)
        self._held += time.monotonic() - began
        return self._ending()

    def seconds(self) -> float:
        """A clock that stands still while the job is paused."""
        return time.monotonic() - self._held

    def _ending(self) -> bool:
        return self.cancelled or self.disowned or self.gave_way or self._stopping()

    def check(self) -> None:
        """Raises Cancelled when the run is to end now."""
        if self.should_stop():
            raise Cancelled("cancelled")

    def step_back(self) -> None:
        """Raises SteppedBack if a more urgent job waits, Cancelled when the run is to end now."""
        self.check()
        with self.wb.read() as s:
            waiting = rows.next_queued(s, PRIORITY)
        if waiting is not None and PRIORITY.get(waiting.kind, 0) > PRIORITY.get(self.kind, 0):
            raise SteppedBack

    def run(self) -> None:
        """Run it to its end, whatever that is, and write the end down."""
        self._heart.start()
        try:
            result = runner_of(self.kind)(self)
        except SteppedBack:
            self._end("queued", message="making room for a more urgent job", forgive=True)
        except Cancelled:
            if self._stopping() and not self.cancelled:
                self._end("queued", message="the worker was stopped; it goes on when one runs", forgive=True)
            elif self.gave_way and not self.cancelled:
                self._end("queued", message="made room for another job while it was paused", forgive=True)
            else:
                self._end("cancelled", message="cancelled")
        except Exception as e:
            self._fail(e)
        else:
            self._end("done", message="done", progress=1.0, result=result or {})
        finally:
            self._over.set()  # a heart that beats on would keep a run alive whose end could not be written

    def _fail(self, error: Exception) -> None:
        log.exception("job %s (%s) failed", self.id, self.kind)
        plain = str(error) if isinstance(error, As2Error) else f"{type(error).__name__}: {error}"
        self._end("failed", message="failed", error=" ".join(plain.split())[:500], log=self._error_log())

    def _error_log(self) -> str:
        """The file the error in hand was added to; none ("") where it cannot be written, as on a full disk."""
        try:
            file = self.folder / "error.log"
            with file.open("a", encoding="utf-8", errors="backslashreplace") as f:
                f.write(f"{self.wb.clock():%Y-%m-%d %H:%M:%S} UTC, attempt {self.attempt}\n{traceback.format_exc()}\n")
        except OSError as e:
            log.warning("job %s: its error log cannot be written (%s)", self.id, e)
            return ""
        return str(file)

    def _end(self, state: str, **values: Any) -> None:
        """Write the end down, with what was not yet told. A run that was asked to cancel is not queued again."""
        self._over.set()
        self._heart.join()
        with self._lock:
            said, pending = self._said, self._values
            self._said, self._values = [], {}
        for left in reversed(range(ENDING_TRIES)):
            try:
                with self.wb.write() as s:
                    asked = rows.beat(s, self.id, self.attempt, self.wb.clock(), pending, said)
                    if asked and state == "queued":
                        state, values = "cancelled", {"message": "cancelled"}
                    if asked is not None:
                        rows.finish(s, self.id, self.attempt, state, self.wb.clock(), **{"cancelling": False, **values})
                return  # an attempt given up for lost, or cancelled over our head, ends without a word
            except As2Error as e:
                log.warning("job %s: its end cannot be written (%s)", self.id, e)
                if not left:
                    raise
                time.sleep(BEAT)

    def _beat_on(self) -> None:
        while not self._over.wait(BEAT):
            with self._lock:
                values, said = self._values, self._said
                self._values, self._said = {}, []
            try:
                with self.wb.write() as s:
                    asked = rows.beat(s, self.id, self.attempt, self.wb.clock(), values, said)
                    self.paused = rows.is_paused(s, self.id)
                    if self.paused and rows.next_queued(s, PRIORITY) is not None:
                        self.gave_way = True  # and stays so: the runner may have been told
                    if asked and self._cancelled_at and time.monotonic() - self._cancelled_at > PATIENCE:
                        rows.finish(s, self.id, self.attempt, "cancelled", self.wb.clock(), message="cancelled")
            except As2Error as e:
                log.warning("job %s: no heartbeat (%s)", self.id, e)
                with self._lock:  # nothing said is lost
                    self._values = {**values, **self._values}
                    self._said = [*said, *self._said]
                continue
            if asked is None:
                self.disowned = True
            elif asked and not self.cancelled:
                self.cancelled, self._cancelled_at = True, time.monotonic()


def run_queued(wb: Workbench, *, stopping: Callable[[], bool] = lambda: False) -> int:
    """Run what is queued, the most urgent first, until nothing is left; returns how many were run."""
    ran = 0
    while not stopping():
        with wb.read() as s:
            row = rows.next_queued(s, PRIORITY)
        if row is None:
            return ran
        with wb.write() as s:
            attempt = rows.claim(s, row.id, worker_name(), wb.clock())
            row = rows.job(s, row.id)  # as it is now: its base may have been renamed before the claim
        if attempt is not None and row is not None:
            Running(wb, row, attempt, stopping).run()
            ran += 1
    return ran
