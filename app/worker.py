"""The worker's process: `python -m app.worker`, `as2 worker`, or started by the app when there is work.

Only one runs per home: it holds a lock that the operating system lets go of when the process dies, however it dies.
One that the app started ends by itself after a while without work.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from app import jobs
from app.running import run_queued
from app.services import Workbench, automatic
from app.services import open as open_workbench
from app.settings import REPO, Settings, get_settings
from as2core.errors import As2Error

log = logging.getLogger(__name__)

IDLE = 300  # seconds without work after which a worker that the app started ends
LOOK = 2  # seconds; who asks whether a worker runs holds its lock for a moment
NICE = 10  # a retrain must not slow the pages


class AlreadyRunning(As2Error):
    """Another worker holds this home."""


@contextlib.contextmanager
def _only_one(settings: Settings, *, patience: float = 0) -> Iterator[None]:
    """Hold the home's worker lock, waiting at most so many seconds for it: an exclusive SQLite transaction, which works
    alike on every system."""
    settings.home.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(settings.worker_lock, timeout=patience, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as e:
        connection.close()
        raise AlreadyRunning(f"a worker is already running for {settings.home}") from e
    try:
        yield
    finally:
        connection.close()


def is_running(settings: Settings) -> bool:
    try:
        with _only_one(settings):
            return False
    except AlreadyRunning:
        return True


def start(settings: Settings, *, idle: float | None = IDLE) -> subprocess.Popen:
    """Start a worker that outlives this process and ends after `idle` seconds without work (None: when told to); what
    it says goes to `worker.log` in the home."""
    command = [sys.executable, "-m", "app.worker"] + ([] if idle is None else ["--idle", str(idle)])
    settings.home.mkdir(parents=True, exist_ok=True)
    with settings.worker_log.open("ab") as out:
        process = subprocess.Popen(
            command,
            cwd=REPO,
            env={**os.environ, **told(settings)},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    threading.Thread(target=process.wait, name="worker's end", daemon=True).start()  # or it stays behind as a zombie
    return process


def told(settings: Settings) -> dict[str, str]:
    """The settings as the environment of a process that shall have the same."""
    return {f"AS2_{k.upper()}": str(v) for k, v in settings.model_dump(exclude_none=True).items()}


def run(wb: Workbench, *, idle: float | None = None) -> None:
    """Work until told to stop (SIGTERM, SIGINT), or for `idle` seconds without work. Raises AlreadyRunning."""
    with _only_one(wb.settings, patience=LOOK):
        _step_back()
        Shift(wb, idle).work()


def _step_back() -> None:
    """Leave the processor to the pages. Where Linux groups processes by session, niceness counts inside a session
    alone, and the session's own has to be lowered too."""
    with contextlib.suppress(OSError, AttributeError):
        os.nice(NICE)
        if os.getsid(0) == os.getpid():  # a session of ours alone: started by the app, not in somebody's terminal
            Path("/proc/self/autogroup").write_text(str(NICE))


class Shift:
    """One worker's life: huey's consumer with one thread that runs jobs, and a look around every two seconds."""

    def __init__(self, wb: Workbench, idle: float | None) -> None:
        self.wb, self.idle = wb, idle
        self._busy = threading.Lock()
        self._last_work = time.monotonic()
        self.queue, self._wake = jobs.connect(wb, self._on_call)
        self.consumer = self.queue.create_consumer(
            workers=1, periodic=False, initial_delay=0.1, max_delay=0.5, shutdown_timeout=10
        )

    def work(self) -> None:
        threading.Thread(target=self._look_around, name="look around", daemon=True).start()
        log.info("worker %s is ready", jobs.worker_name())
        self.consumer.run()
        self._busy.acquire(timeout=10)  # the running job writes down where it stopped, or is found lost

    def _stopping(self) -> bool:
        return self.consumer.stop_flag.is_set()

    def _on_call(self) -> None:
        with self._busy:
            if run_queued(self.wb, stopping=self._stopping):
                self._last_work = time.monotonic()

    def _look_around(self) -> None:
        while not self.consumer.stop_flag.wait(2.0):
            if self._busy.locked():
                self._last_work = time.monotonic()
            try:
                jobs.reap(self.wb)
                automatic.look(self.wb)
                if not self._busy.locked() and jobs.anything_queued(self.wb):
                    self._wake()
            except Exception:
                log.exception("looking around")
            if self.idle is not None and time.monotonic() - self._last_work > self.idle:
                log.info("nothing to do for %d seconds: ending", self.idle)
                self.consumer.stop_flag.set()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="app.worker", description="Run background jobs.")
    parser.add_argument("--idle", type=float, default=None, help="end after so many seconds without work")
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for chatty in ("alembic", "huey"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    try:
        run(open_workbench(get_settings()), idle=given.idle)
    except AlreadyRunning as e:
        log.info("%s", e)
        return 0
    except As2Error as e:
        log.error("%s", e)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
