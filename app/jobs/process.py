"""The worker as a process: its name, whether it runs, and starting it.

A worker holds a lock of its home, which the operating system releases when the process ends, however it ends. With
SQLite there is one worker a home; with PostgreSQL one a home and machine, and they share the queue.
"""

import contextlib
import json
import logging
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from app.workbench.parent_process import name_parent
from app.workbench.settings import REPO, Settings
from app.workbench.workbench import Workbench
from as2core.errors import As2Error

IDLE_SECONDS = 300  # without work, after which a worker that the app started ends
LOCK_SECONDS = 2  # `is_running` holds the lock for a moment, which must not keep a worker from starting
STARTING_SECONDS = 10.0  # within which no second worker is started
CRASH_SECONDS = 60.0  # a worker that fails within them is taken to fail again
RETRY_SECONDS = 2.0  # doubled for each failure in a row
MAX_RETRY_SECONDS = 600.0  # between two workers that fail
KILLED = -9  # the exit code after SIGKILL, as of somebody, or of the system where memory runs out

log = logging.getLogger(__name__)


class AlreadyRunning(As2Error):
    """Another process holds the lock."""


@contextlib.contextmanager
def hold_worker_lock(settings: Settings, *, wait_seconds: float = 0) -> Iterator[None]:
    """Raises AlreadyRunning."""
    settings.worker_lock.parent.mkdir(parents=True, exist_ok=True)
    refusal = f"a worker is already running for {settings.home}"
    with hold_lock(settings.worker_lock, refusal, wait_seconds=wait_seconds):
        yield


@contextlib.contextmanager
def hold_lock(file: Path, refusal: str, *, wait_seconds: float = 0) -> Iterator[None]:
    """Hold an exclusive SQLite transaction, which works alike on every system. Raises AlreadyRunning."""
    connection = sqlite3.connect(file, timeout=wait_seconds, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as e:
        connection.close()
        raise AlreadyRunning(refusal) from e
    try:
        yield
    finally:
        connection.close()


def is_running(settings: Settings) -> bool:
    try:
        with hold_worker_lock(settings):
            return False
    except AlreadyRunning:
        return True


class WorkerProcess(subprocess.Popen):
    """`is_ending`: it was asked to end, so that its end is no fault, however it comes about."""

    is_ending = False

    def terminate(self) -> None:
        self.is_ending = True
        super().terminate()


def start_worker(settings: Settings, *, idle: float | None = IDLE_SECONDS) -> WorkerProcess:
    """Start a worker that outlives this process and ends after `idle` seconds without work; None: one that ends with
    this process. Its output goes to `worker.log` in the home."""
    command = [sys.executable, "-m", "app.worker"] + ([] if idle is None else ["--idle", str(idle)])
    settings.local.mkdir(parents=True, exist_ok=True)
    with settings.worker_log.open("ab") as out:
        process = WorkerProcess(
            command,
            cwd=REPO,
            env={**os.environ, **to_environment(settings), **(name_parent() if idle is None else {})},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    threading.Thread(target=_see_off, args=(settings, process), name="worker reaper", daemon=True).start()
    return process


def _see_off(settings: Settings, process: WorkerProcess) -> None:
    """Wait for the worker's end, or it stays behind as a zombie; note it down where it was by a fault."""
    began = time.monotonic()
    code = process.wait()
    if not process.is_ending and (code > 0 or (code < 0 and -code not in (signal.SIGTERM, signal.SIGINT))):
        is_early = time.monotonic() - began < CRASH_SECONDS
        note_failure(settings, code, is_repeated=is_early)
    else:
        forget_failure(settings)


@dataclass(frozen=True, slots=True)
class WorkerFailure:
    """The last worker ended by a fault: its exit code, how often in a row, and when (seconds since 1970)."""

    code: int
    times: int
    at: float

    @property
    def retry_at(self) -> float:
        """When the next one is started."""
        return self.at + min(MAX_RETRY_SECONDS, RETRY_SECONDS * 2 ** min(self.times, 20))

    def describe(self, settings: Settings) -> str:
        """In a sentence, for the page and the console."""
        often = f"{self.times} times in a row" if self.times > 1 else "by a fault"
        wait = max(0, round(self.retry_at - time.time()))
        if self.code == KILLED:  # which leaves no word in the log
            end = "SIGKILL"
            reason = "Somebody killed it, or the machine ran out of memory (`dmesg` then says so)."
        else:
            end, reason = f"code {self.code}", f"The reason is in {settings.worker_log}, and `as2 check` may find it."
        return f"The background worker ended {often} ({end}). The next one starts in {wait} s. {reason}"


def note_failure(settings: Settings, code: int, *, is_repeated: bool) -> None:
    """A worker ended by a fault; `is_repeated`: before it had worked for a while. Kept in the home, for the pages and
    the console may be of another process than the worker's parent."""
    earlier = read_failure(settings) if is_repeated else None
    failure = WorkerFailure(code, 1 + (earlier.times if earlier else 0), time.time())
    with contextlib.suppress(OSError):
        settings.worker_failure.write_text(json.dumps(asdict(failure)))
    log.error("%s", failure.describe(settings))


def read_failure(settings: Settings) -> WorkerFailure | None:
    """None where the last worker ended in order, or one runs."""
    try:
        return WorkerFailure(**json.loads(settings.worker_failure.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def forget_failure(settings: Settings) -> None:
    settings.worker_failure.unlink(missing_ok=True)


def may_start(settings: Settings) -> bool:
    """False while a worker that failed is not to be started again yet."""
    failure = read_failure(settings)
    return failure is None or time.time() >= failure.retry_at


def to_environment(settings: Settings) -> dict[str, str]:
    """The settings as environment variables, for a process that is to have the same."""
    return {f"AS2_{k.upper()}": str(v) for k, v in settings.model_dump(exclude_none=True).items()}


def start_worker_if_needed(wb: Workbench) -> None:
    """Start the worker's process unless one runs, or `AS2_WORKER=external`."""
    if wb.settings.worker == "external" or is_running(wb.settings):
        return
    if not may_start(wb.settings):
        return
    if wb.mark_if_due("started worker", STARTING_SECONDS):  # or one is still on its way up
        start_worker(wb.settings)


def name_worker() -> str:
    """Host, process and start time, so that others on the same machine can check whether it still runs."""
    return f"{socket.gethostname()}:{os.getpid()}:{_start_time(os.getpid())}"


def is_dead(worker: str) -> bool:
    """Whether a worker of this machine is gone; for other machines only the heartbeat shows it."""
    host, _, rest = worker.rpartition(":")[0].rpartition(":")
    if host != socket.gethostname() or not rest.isdigit():
        return False
    return str(_start_time(int(rest))) != worker.rpartition(":")[2]


def _start_time(pid: int) -> int:
    """When a process began, 0 if it is gone; a number that is used again has another start time."""
    import psutil

    try:
        process = psutil.Process(pid)
        return 0 if process.status() == psutil.STATUS_ZOMBIE else int(process.create_time() * 100)
    except psutil.NoSuchProcess:
        return 0
