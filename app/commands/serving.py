"""`as2 app` and `as2 worker`. The app is two processes, the pages' server and the background worker; this one starts
them, brings a worker back that died, and ends both together."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from as2core.errors import As2Error
from as2core.terminal import note

if TYPE_CHECKING:
    from app.settings import Settings

STARTING = 60.0  # seconds the server has to answer
ENDING = 20.0  # seconds both have to end by themselves
LOOK = 1.0
EVERYWHERE = ("0.0.0.0", "::")


class NotServing(As2Error):
    """The pages' server could not be started, or ended by itself."""


def app(
    port: Annotated[
        int, typer.Option(min=1, max=65535, envvar="STREAMLIT_SERVER_PORT", help="Where to listen.")
    ] = 8501,
    address: Annotated[
        str, typer.Option(envvar="STREAMLIT_SERVER_ADDRESS", help="0.0.0.0 lets other machines in.")
    ] = "127.0.0.1",
) -> None:
    """Serve the pages and run their background jobs; Ctrl-C ends both."""
    from app import services
    from app.settings import get_settings

    settings = get_settings()
    services.open(settings).close()  # what is wrong with home or database is said here, in one line
    if not is_free(address, port):
        raise NotServing(f"port {port} of {address} cannot be had: choose another with --port")
    pair = Pair(settings)
    with _told_to_end():
        try:
            pair.serve(address, port)
            host = "127.0.0.1" if address in EVERYWHERE else address
            pair.await_answer(f"http://{host}:{port}")
            note(f"AS2 Workbench is at http://{host}:{port} (Ctrl-C ends it)")
            while pair.serving():
                pair.see_to_the_worker()
                time.sleep(LOOK)
        finally:
            pair.end()
    raise NotServing(f"the server ended by itself with code {pair.server.returncode}")


def worker() -> None:
    """Run background jobs in the foreground, until told to end."""
    from app import services
    from app import worker as process
    from app.settings import get_settings

    logging.getLogger().setLevel(logging.INFO)
    process.run(services.open(get_settings()))
    raise KeyboardInterrupt  # it ends only when told to: say so as every command does


class Pair:
    """The server's process and the worker's. The worker is somebody else's where `AS2_WORKER=external` says so, or
    while another one holds the home."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.server: subprocess.Popen
        self.worker: subprocess.Popen | None = None
        self._started: list[subprocess.Popen] = []

    def serve(self, address: str, port: int) -> None:
        from app import worker
        from app.settings import REPO

        command = [sys.executable, "-m", "streamlit", "run", "streamlit_app.py"]
        command += ["--server.port", str(port), "--server.address", address]
        command += [
            "--logger.hideWelcomeMessage",
            "true",
        ]  # to compose it, Streamlit asks a host outside for our address
        environment = {**os.environ, **worker.told(self.settings), "AS2_WORKER": "external"}
        # a session of its own: Ctrl-C reaches this process alone, which then ends both in order
        with _held():
            self.server = subprocess.Popen(
                command, cwd=REPO, env=environment, stdout=subprocess.DEVNULL, start_new_session=True
            )
            self._started.append(self.server)
        self.see_to_the_worker()

    def serving(self) -> bool:
        return self.server.poll() is None

    def await_answer(self, url: str) -> None:
        """Raises NotServing when the server ends or stays silent."""
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        give_up = time.monotonic() + STARTING
        while self.serving() and time.monotonic() < give_up:
            with contextlib.suppress(OSError), direct.open(f"{url}/_stcore/health", timeout=2) as answer:
                if answer.status == 200:
                    return
            time.sleep(0.2)
        raise NotServing("the server did not start; what it said stands above")

    def see_to_the_worker(self) -> None:
        from app import worker

        if self.settings.worker == "external" or (self.worker is not None and self.worker.poll() is None):
            return
        if not worker.is_running(self.settings):
            with _held():
                self.worker = worker.start(self.settings, idle=None)
                self._started.append(self.worker)

    def end(self) -> None:
        """Ask both to end, and see that they do; a second Ctrl-C changes nothing."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        left = [p for p in self._started if p.poll() is None]
        for process in left:
            process.terminate()
        give_up = time.monotonic() + ENDING
        for process in left:
            try:
                process.wait(max(0.1, give_up - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def is_free(address: str, port: int) -> bool:
    """Whether a server could listen there."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True


@contextlib.contextmanager
def _told_to_end() -> Iterator[None]:
    """SIGTERM (a container stops) and SIGHUP (the terminal closes) end this process the way Ctrl-C does."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    with _handled(end, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        yield


@contextlib.contextmanager
def _held() -> Iterator[None]:
    """Whoever tells this process to end is heard afterwards: a process that has begun and is not noted yet would be
    left running."""
    told: list[int] = []
    with _handled(lambda number, frame: told.append(number), signal.SIGINT, signal.SIGTERM,
                  getattr(signal, "SIGHUP", signal.SIGTERM)):  # fmt: skip
        yield
    for number in told:
        signal.raise_signal(number)


@contextlib.contextmanager
def _handled(handler: Callable[[int, FrameType | None], None], *numbers: int) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in set(numbers)}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
