"""`as2 app` and `as2 worker`. The app is two processes, the pages' server and the background worker; this one starts
them, brings a worker back that died, and ends both together; they end with it also where it is killed."""

import contextlib
import logging
import os
import signal
import ssl
import stat
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Annotated

from typer import Option

from as2core.commands.serve import open_port
from as2core.errors import As2Error
from as2core.terminal import print_note

if TYPE_CHECKING:
    from app.workbench.settings import Settings

START_SECONDS = 60.0  # within which the server has to answer
STOP_SECONDS = 20.0  # within which both processes have to end after SIGTERM
CHECK_SECONDS = 1.0


class NotServing(As2Error):
    """The pages' server could not be started, or ended by itself."""


def app(
    port: Annotated[int, Option(min=1, max=65535, envvar="STREAMLIT_SERVER_PORT", help="The port.")] = 8501,
    address: Annotated[
        str,
        Option(
            envvar="STREAMLIT_SERVER_ADDRESS", help="The address to bind; 0.0.0.0 allows access from other machines."
        ),
    ] = "127.0.0.1",
) -> None:
    """Serve the pages and run their background jobs; Ctrl-C ends both."""
    from app import bootstrap
    from app.workbench.settings import get_settings

    settings = get_settings()
    check_login(settings)
    bootstrap.open(settings).close()  # an unusable home or database is reported here, in one line
    has_login = check_login(settings)  # again: the database may be under a log-in that a new home did not know of
    open_port(address, port).close()  # one that cannot be opened is reported here, too
    processes = AppProcesses(settings)
    with _exit_on_signals():
        try:
            processes.start(address, port)
            url = find_url(address, port)
            processes.wait_until_ready(url)
            print_note(f"AS2 Workbench is at {url} (Ctrl-C ends it)")
            for risk in list_risks(address, has_login=has_login):
                print_note(risk)
            while processes.is_serving():
                processes.ensure_worker()
                time.sleep(CHECK_SECONDS)
        finally:
            processes.stop()
    raise NotServing(f"the server ended by itself with code {processes.server.returncode}")


def check_login(settings: "Settings") -> bool:
    """Whether people have to log in. Says here, in one line, what is wrong with the log-in: the server would refuse
    each page. Raises BadSetting."""
    from app.workbench.login import needs_login
    from app.workbench.settings import REPO

    with contextlib.chdir(REPO):  # the server's folder, beneath which Streamlit looks
        from app.ui.signin import list_secret_files

        return needs_login(settings, list_secret_files())


def list_risks(address: str, *, has_login: bool) -> list[str]:
    """What lets in more people than its owner may think."""
    from app.workbench.settings import REPO
    from as2core.system.hosts import is_loopback

    if not has_login:
        open_to_all = f"nobody has to log in: everybody who reaches {address} can read, label and delete"
        return [] if is_loopback(address) else [f"{open_to_all} (docs/sharing.md)"]
    with contextlib.chdir(REPO):  # as in `check_login`
        from app.ui.signin import list_secret_files

        readable = [file for file in list_secret_files() if file.is_file() and file.stat().st_mode & stat.S_IROTH]
    return [
        f"every account of this machine can read {file}, and with it log in as anybody: chmod 600" for file in readable
    ]


def find_url(address: str, port: int) -> str:
    """Where this machine reaches the pages: Streamlit's settings may name a base path and a certificate."""
    from app.workbench.settings import REPO
    from as2core.system.hosts import ANY_ADDRESS

    with contextlib.chdir(REPO):  # as in `check_login`
        from streamlit.config import get_config_options

        # read from the variables, which `streamlit run` passes on, or else from its files
        options = get_config_options()
        certificate, base = (
            os.environ.get(o.env_var) or o.value for o in (options["server.sslCertFile"], options["server.baseUrlPath"])
        )
    scheme, base = "https" if certificate else "http", base.strip("/")
    host = "127.0.0.1" if address in ANY_ADDRESS else f"[{address}]" if ":" in address else address
    return f"{scheme}://{host}:{port}{base and f'/{base}'}"


def worker() -> None:
    """Run background jobs in the foreground, until stopped."""
    from app import bootstrap
    from app import worker as process
    from app.workbench.settings import get_settings

    logging.getLogger().setLevel(logging.INFO)
    logging.getLogger("alembic").setLevel(logging.WARNING)  # it lists its plugins
    process.run(bootstrap.open(get_settings()))
    raise KeyboardInterrupt  # it ends only on a signal: report it as every command does


class AppProcesses:
    """The server's process and the worker's. No worker is started with `AS2_WORKER=external`, or while another one
    holds the lock of the home."""

    def __init__(self, settings: "Settings") -> None:
        self.settings = settings
        self.server: subprocess.Popen
        self.worker: subprocess.Popen | None = None
        self._started: list[subprocess.Popen] = []

    def start(self, address: str, port: int) -> None:
        from app.jobs.process import forget_failure, to_environment
        from app.workbench.parent_process import name_parent
        from app.workbench.settings import REPO

        command = [sys.executable, "-m", "streamlit", "run", "streamlit_app.py"]
        command += ["--server.port", str(port), "--server.address", address]
        # the welcome message would ask a host outside for our address
        command += ["--logger.hideWelcomeMessage", "true"]
        environment = {**os.environ, **to_environment(self.settings), **name_parent(), "AS2_WORKER": "external"}
        # a session of its own: Ctrl-C reaches this process alone, which then ends both in order
        with _defer_signals():
            self.server = subprocess.Popen(
                command, cwd=REPO, env=environment, stdout=subprocess.DEVNULL, start_new_session=True
            )
            self._started.append(self.server)
        forget_failure(self.settings)  # a start is a reason to try again at once
        self.ensure_worker()

    def is_serving(self) -> bool:
        return self.server.poll() is None

    def wait_until_ready(self, url: str) -> None:
        """Raises NotServing when the server ends or stays silent."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # the certificate is of another name
        https = urllib.request.HTTPSHandler(context=context)
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}), https)
        deadline = time.monotonic() + START_SECONDS
        while self.is_serving() and time.monotonic() < deadline:
            with contextlib.suppress(OSError), direct.open(f"{url}/_stcore/health", timeout=2) as answer:
                if answer.status == 200:
                    return
            time.sleep(0.2)
        raise NotServing("the server did not start; its output is above")

    def ensure_worker(self) -> None:
        from app.jobs.process import is_running, may_start, start_worker

        if self.settings.worker == "external" or (self.worker is not None and self.worker.poll() is None):
            return
        if may_start(self.settings) and not is_running(self.settings):
            with _defer_signals():
                self.worker = start_worker(self.settings, idle=None)
                self._started.append(self.worker)

    def stop(self) -> None:
        """End both; a second Ctrl-C changes nothing."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        running = [p for p in self._started if p.poll() is None]
        for process in running:
            process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for process in running:
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def _exit_on_signals() -> Iterator[None]:
    """SIGTERM (a container stops) and SIGHUP (the terminal closes) end this process the way Ctrl-C does."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    with _handle(end, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        yield


@contextlib.contextmanager
def _defer_signals() -> Iterator[None]:
    """Handle signals afterwards: a process that has started and is not yet in the list would be left running."""
    signals: list[int] = []
    with _handle(lambda number, frame: signals.append(number), signal.SIGINT, signal.SIGTERM,
                  getattr(signal, "SIGHUP", signal.SIGTERM)):  # fmt: skip
        yield
    for number in signals:
        signal.raise_signal(number)


@contextlib.contextmanager
def _handle(handler: Callable[[int, FrameType | None], None], *numbers: int) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in set(numbers)}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
