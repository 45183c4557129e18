"""`as2 app` and `as2 worker` as processes: they come up, look after each other, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from functools import partial

import polling
import psutil
import pytest

AS2 = [sys.executable, "-m", "as2core.cli"]
PATIENCE = 120.0  # seconds a busy machine may take
until = partial(polling.until, seconds=PATIENCE, pause=0.1)


@pytest.fixture
def environment(tmp_path):
    return {
        **os.environ,
        "AS2_HOME": str(tmp_path / "home"),
        "AS2_CORPORA_DIR": str(tmp_path / "no-corpora"),
        "PYTHONUNBUFFERED": "1",
    }


@pytest.fixture
def port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def children(process, of):
    """The living processes this one started whose command line holds `of`."""
    alive = []
    for child in psutil.Process(process.pid).children():
        try:
            if child.status() != psutil.STATUS_ZOMBIE and of in " ".join(child.cmdline()):
                alive.append(child)
        except psutil.NoSuchProcess:
            continue
    return alive


def kill_family(process):
    """Whatever a failed test left running."""
    if process.poll() is None:
        for child in psutil.Process(process.pid).children(recursive=True):
            child.kill()
        process.kill()
        process.wait()


def healthy(port, base):
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(f"http://127.0.0.1:{port}{base}/_stcore/health", timeout=5) as answer:
        return answer.status == 200


@pytest.mark.parametrize(
    ("address", "base", "told", "code", "said"),
    [("127.0.0.1", "", signal.SIGINT, 130, "stopped\n"), ("0.0.0.0", "/as2", signal.SIGTERM, 143, "")],
    ids=["Ctrl-C", "SIGTERM, below a path"],
)
def test_the_app_serves_brings_its_worker_back_and_ends_with_it(
    environment, port, tmp_path, address, base, told, code, said
):
    log = tmp_path / "said"
    environment |= {"STREAMLIT_SERVER_BASE_URL_PATH": base}
    with log.open("wb") as out:
        command = [*AS2, "app", "--port", str(port), "--address", address]
        process = subprocess.Popen(command, env=environment, stderr=out, cwd=tmp_path)
    try:
        until(lambda: f"http://127.0.0.1:{port}{base} " in log.read_text() or process.poll() is not None, "the address")
        assert process.poll() is None, log.read_text()
        assert healthy(port, base)
        [worker] = until(lambda: children(process, "app.worker"), "the worker")
        worker.kill()
        [again] = until(lambda: [w for w in children(process, "app.worker") if w.pid != worker.pid], "a new worker")
        [server] = children(process, "streamlit")
        process.send_signal(told)
        assert process.wait(PATIENCE) == code
        # not a word else: Streamlit warns, for one, when it may not ask a host outside for this machine's address
        address_line = f"AS2 Workbench is at http://127.0.0.1:{port}{base} (Ctrl-C ends it)\n"
        if address == "0.0.0.0":
            may = "can read, label and delete (docs/sharing.md)"
            address_line += f"nobody has to log in: everybody who reaches 0.0.0.0 {may}\n"
        failure = "as2: The background worker ended by a fault (SIGKILL). The next one starts in 4 s. "
        remedy = "Somebody killed it, or the machine ran out of memory (`dmesg` then says so).\n"
        assert log.read_text() == f"{address_line}{failure}{remedy}{said}"
        assert not again.is_running() and not server.is_running()
    finally:
        kill_family(process)


def test_a_worker_that_begins_as_the_app_is_told_to_end_is_ended_too(monkeypatch, tmp_path):
    from app.cli import processes
    from app.jobs import process
    from app.workbench.settings import Settings

    begun = []

    def start(settings, idle):
        begun.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]))
        signal.raise_signal(signal.SIGTERM)
        return begun[0]

    monkeypatch.setattr(process, "start_worker", start)
    pair = processes.AppProcesses(Settings(home=tmp_path))
    interrupt = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(SystemExit), processes._exit_on_signals():
            pair.ensure_worker()
        pair.stop()
        assert begun[0].poll() is not None
    finally:
        signal.signal(signal.SIGINT, interrupt)  # which `end` ignores from then on
        begun[0].kill()


def test_the_server_is_told_the_settings_that_are_there_and_no_others(monkeypatch, tmp_path):
    from app.cli import processes
    from app.jobs.process import note_failure, read_failure
    from app.workbench.settings import Settings

    told = {}
    monkeypatch.setattr(subprocess, "Popen", lambda command, env, **_: told.update(env))
    settings = Settings(home=tmp_path, worker="external")
    note_failure(settings, -9, is_repeated=False)
    processes.AppProcesses(settings).start("127.0.0.1", 8501)
    assert read_failure(settings) is None  # of before the restart
    assert (told["AS2_HOME"], told["AS2_WORKER"]) == (str(tmp_path), "external")
    assert "AS2_DATA_DIR" not in told


@pytest.mark.parametrize(
    ("address", "variables", "url"),
    [
        ("0.0.0.0", {}, "http://127.0.0.1:8501"),
        ("::1", {}, "http://[::1]:8501"),
        ("127.0.0.1", {"STREAMLIT_SERVER_BASE_URL_PATH": "/as2/"}, "http://127.0.0.1:8501/as2"),
        ("127.0.0.1", {"STREAMLIT_SERVER_SSL_CERT_FILE": "/etc/ssl/own.pem"}, "https://127.0.0.1:8501"),
    ],
)
def test_the_app_looks_for_its_server_where_streamlits_settings_put_it(monkeypatch, address, variables, url):
    from app.cli import processes

    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert processes.find_url(address, 8501) == url


@pytest.mark.parametrize(
    ("address", "has_login", "mode", "risk"),
    [
        ("0.0.0.0", False, 0o600, "nobody has to log in: everybody who reaches 0.0.0.0 can read, label and delete"),
        ("10.0.0.7", False, 0o600, "everybody who reaches 10.0.0.7"),
        ("127.0.0.1", False, 0o644, ""),
        ("::1", False, 0o644, ""),
        ("0.0.0.0", True, 0o640, ""),
        ("127.0.0.1", True, 0o644, "secrets.toml, and with it log in as anybody: chmod 600"),
    ],
)
def test_the_app_names_what_lets_in_more_people_than_meant(monkeypatch, tmp_path, address, has_login, mode, risk):
    from app.cli import processes
    from app.ui import signin

    file = tmp_path / "secrets.toml"
    file.touch()
    file.chmod(mode)
    monkeypatch.setattr(signin, "list_secret_files", lambda: [file, tmp_path / "none.toml"])
    risks = processes.list_risks(address, has_login=has_login)
    assert len(risks) == bool(risk) and risk in "".join(risks)


def test_a_taken_port_is_said_in_one_line(environment, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run([*AS2, "app", "--port", str(port)], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1 and f"port {port}" in done.stderr and "--port" in done.stderr


def test_a_home_that_cannot_be_used_is_said_in_one_line(environment, tmp_path):
    (tmp_path / "home").write_text("a file")
    done = subprocess.run([*AS2, "app"], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert str(tmp_path / "home") in done.stderr


def test_the_worker_alone_ends_when_told_and_a_second_one_is_refused(environment, tmp_path):
    from app.jobs.process import is_running
    from app.workbench.settings import Settings

    log = tmp_path / "said"
    with log.open("wb") as out:
        process = subprocess.Popen([*AS2, "worker"], env=environment, stderr=out)
    try:
        until(lambda: "ready" in log.read_text() or process.poll() is not None, "the worker")
        assert is_running(Settings(home=tmp_path / "home"))
        second = subprocess.run([*AS2, "worker"], env=environment, capture_output=True, text=True)
        assert second.returncode == 1 and "already running" in second.stderr
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert log.read_text().endswith("stopped\n")
        assert not is_running(Settings(home=tmp_path / "home"))
    finally:
        kill_family(process)
