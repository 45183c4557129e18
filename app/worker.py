"""The worker's process: `python -m app.worker`, `as2 worker`, or started by the app when there is work.

It runs jobs in threads, one a slot (`app.jobs.queue.SLOTS`), so that a long job holds up no short one. A worker that
the app started ends after a while without work.
"""

import argparse
import contextlib
import ctypes
import gc
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from app.adapt import schedule
from app.adapt.measuring import run_measure
from app.adapt.retrain import run_retrain
from app.adapt.second_looks import run_second_looks
from app.ask.proposals import run_propose
from app.bootstrap import open as open_workbench
from app.compare.comparison_job import run_compare
from app.compare.deciding import run_decision
from app.compare.promotions import run_promotion
from app.jobs import process, queue, supervisor
from app.jobs.attempt import Runner, run_next
from app.jobs.kinds import JobKind
from app.ranking.embed_job import run_embed
from app.ranking.score_job import run_score
from app.workbench.models import LoadedModels
from app.workbench.parent_process import end_with_parent
from app.workbench.settings import get_settings
from app.workbench.workbench import DatabaseOutage, Workbench
from as2core.errors import As2Error

log = logging.getLogger(__name__)

RUNNERS: dict[str, Runner] = {
    JobKind.RETRAIN: run_retrain,
    JobKind.COMPARE: run_compare,
    JobKind.PROMOTE: run_promotion,
    JobKind.DECIDE: run_decision,
    JobKind.SCORE: run_score,
    JobKind.PROPOSE: run_propose,
    JobKind.SECOND_LOOKS: run_second_looks,
    JobKind.EMBED: run_embed,
    JobKind.MEASURE: run_measure,
}
NICENESS = 10  # a retrain must not slow the pages
POLL_SECONDS = 0.5  # between two checks of a free slot
CHECK_SECONDS = 2.0  # between two checks for lost jobs and due retrains
MAX_PAUSE_SECONDS = 60.0  # between two tries of what fails
ENDING_SECONDS = 10.0  # for the running jobs to write down where they stopped; else they are found lost


def run(wb: Workbench, *, idle: float | None = None) -> None:
    """Work until SIGTERM or SIGINT, or for `idle` seconds without work. Raises AlreadyRunning."""
    with process.hold_worker_lock(wb.settings, wait_seconds=process.LOCK_SECONDS):
        _lower_priority()
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with contextlib.suppress(KeyboardInterrupt):
            Worker(wb, idle).work()


def _lower_priority() -> None:
    """Leave the processor to the pages. Where Linux groups processes by session, niceness counts inside a session
    alone, and the session's own has to be lowered too."""
    with contextlib.suppress(OSError, AttributeError):
        os.nice(NICENESS)
        if os.getsid(0) == os.getpid():  # a session of ours alone: started by the app, not in somebody's terminal
            Path("/proc/self/autogroup").write_text(str(NICENESS))


class Worker:
    """The slots of one process, and a check every two seconds for jobs whose worker died and for what is due."""

    def __init__(self, wb: Workbench, idle: float | None, runners: Mapping[str, Runner] = RUNNERS) -> None:
        self.wb, self.idle, self.runners = wb, idle, runners
        self.stop = threading.Event()

    def work(self) -> None:
        """Until `stop` is set, KeyboardInterrupt, or `idle` seconds without work; then the running jobs are stopped and
        queued again."""
        with contextlib.suppress(Exception):  # it is tried again below, which reports it
            supervisor.reap(self.wb)  # so that what was interrupted goes before what was queued later
        slots = [threading.Thread(target=self._run_slot, args=(kinds,), daemon=True) for kinds in queue.SLOTS]
        for slot in slots:
            slot.start()
        log.info("worker %s is ready", process.name_worker())
        try:
            self._watch()
        finally:
            self.stop.set()
            deadline = time.monotonic() + ENDING_SECONDS
            for slot in slots:
                slot.join(max(0.0, deadline - time.monotonic()))

    def _watch(self) -> None:
        began = time.monotonic()
        last_work, pause = time.monotonic(), Pause("checking the jobs", CHECK_SECONDS)
        while not self.stop.wait(pause.seconds):
            try:
                supervisor.reap(self.wb)
                schedule.start_due(self.wb)
                schedule.start_measuring(self.wb)
                if queue.has_work(self.wb):
                    last_work = time.monotonic()
                if time.monotonic() - began > process.CRASH_SECONDS:
                    process.forget_failure(self.wb.settings)
                pause.end()
            except Exception as e:
                pause.extend(e)
            if self.idle is not None and time.monotonic() - last_work > self.idle:
                log.info("nothing to do for %d seconds: ending", self.idle)
                return

    def _run_slot(self, kinds: Mapping[str, int]) -> None:
        """With models of its own: a retrain changes the engine of a ranker that a comparison may be running."""
        wb = replace(self.wb, models=LoadedModels.from_settings(self.wb.settings))
        pause = Pause("looking for a job", POLL_SECONDS)
        while not self.stop.is_set():
            try:
                is_done = run_next(wb, self.runners, kinds, stopping=self.stop.is_set)
                pause.end()
                if is_done:
                    give_memory_back()
                    continue
            except Exception as e:
                pause.extend(e)
            self.stop.wait(pause.seconds)


def give_memory_back() -> None:
    """To the system, what a job is done with. A training's tensors are freed all over the heap, and glibc keeps such
    pages: a worker that waits for work would hold a gigabyte for nobody."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError, TypeError):  # another C library has no such call
        ctypes.CDLL(None).malloc_trim(0)


class Pause:
    """Between two tries of something that may fail for long, such as reading a damaged database: twice as long after
    each failure, up to MAX_PAUSE_SECONDS, and the same failure is reported once."""

    def __init__(self, act: str, seconds: float) -> None:
        self.act, self.base = act, seconds
        self.seconds, self._reason = seconds, ""

    def extend(self, error: Exception) -> None:
        self.seconds = min(MAX_PAUSE_SECONDS, 2 * self.seconds)
        if (reason := f"{type(error).__name__}: {error}") != self._reason:
            self._reason = reason
            trace = None if isinstance(error, DatabaseOutage) else error  # that was logged when it began
            log.error("%s failed and is tried again later (`as2 check` may say why)", self.act, exc_info=trace)

    def end(self) -> None:
        if self._reason:
            log.info("%s works again", self.act)
        self.seconds, self._reason = self.base, ""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="app.worker", description="Run background jobs.")
    parser.add_argument("--idle", type=float, default=None, help="end after so many seconds without work")
    idle = parser.parse_args(arguments).idle
    end_with_parent()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    try:
        run(open_workbench(get_settings()), idle=idle)
    except process.AlreadyRunning as e:
        log.info("%s", e)
        return 0
    except As2Error as e:
        log.error("%s", e)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
