"""The worker as a process: its name, whether it runs, and starting it.

A worker holds a lock of its home, which the operating system releases when the process ends, however it ends. With
SQLite there is one worker a home; with PostgreSQL one a home and machine, and they share the queue.
"""

import contextlib
import os
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

from app.workbench.settings import REPO, Settings
from app.workbench.workbench import Workbench
from as2core.errors import As2Error

IDLE_SECONDS = 300  # without work, after which a worker that the app started ends
LOCK_SECONDS = 2  # `is_running` holds the lock for a moment, which must not keep a worker from starting
STARTING_SECONDS = 10.0  # within which no second worker is started


class AlreadyRunning(As2Error):
    """Another worker holds the lock of this home."""


@contextlib.contextmanager
def hold_worker_lock(settings: Settings, *, wait_seconds: float = 0) -> Iterator[None]:
    """Hold the worker lock: an exclusive SQLite transaction, which works alike on every system. Raises
    AlreadyRunning."""
    settings.home.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(
        settings.worker_lock, timeout=wait_seconds, isolation_level=None, check_same_thread=False
    )
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
        with hold_worker_lock(settings):
            return False
    except AlreadyRunning:
        return True


def start_worker(settings: Settings, *, idle: float | None = IDLE_SECONDS) -> subprocess.Popen:
    """Start a worker that outlives this process and ends after `idle` seconds without work, None for never; its output
    goes to `worker.log` in the home."""
    command = [sys.executable, "-m", "app.worker"] + ([] if idle is None else ["--idle", str(idle)])
    settings.home.mkdir(parents=True, exist_ok=True)
    with settings.worker_log.open("ab") as out:
        process = subprocess.Popen(
            command,
            cwd=REPO,
            env={**os.environ, **to_environment(settings)},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    threading.Thread(target=process.wait, name="worker reaper", daemon=True).start()  # or it stays behind as a zombie
    return process


def to_environment(settings: Settings) -> dict[str, str]:
    """The settings as environment variables, for a process that is to have the same."""
    return {f"AS2_{k.upper()}": str(v) for k, v in settings.model_dump(exclude_none=True).items()}


def start_worker_if_needed(wb: Workbench) -> None:
    """Start the worker's process unless one runs, or `AS2_WORKER=external`."""
    if wb.settings.worker == "external" or is_running(wb.settings):
        return
    if time.monotonic() - wb.marks.get("started worker", -STARTING_SECONDS) < STARTING_SECONDS:
        return  # it is still on its way up
    wb.marks["started worker"] = time.monotonic()
    start_worker(wb.settings)


def worker_name() -> str:
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
