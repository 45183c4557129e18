"""The app and its worker as processes of their own, over a given home."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@contextmanager
def serving(home: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """The app as `as2 app` serves it, without a worker; its address."""
    with server_process(home, environment) as (url, _):
        yield url


@contextmanager
def server_process(folder: Path, environment: Mapping[str, str]) -> Iterator[tuple[str, subprocess.Popen]]:
    """The same with its process, for a test that kills it. Its log is written to `folder`."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", "streamlit_app.py", "--server.port", str(port)]
    with _process(command, environment, folder / "server.log") as process:
        url = f"http://127.0.0.1:{port}"
        give_up = time.monotonic() + 180
        while not is_healthy(url):
            if process.poll() is not None or time.monotonic() > give_up:
                pytest.fail(f"the server did not start:\n{(folder / 'server.log').read_text()[-3000:]}")
            time.sleep(0.2)
        yield url, process


@contextmanager
def working(home: Path, environment: Mapping[str, str]) -> Iterator[subprocess.Popen]:
    """The background worker, for tests that start jobs."""
    with _process([sys.executable, "-m", "app.worker"], environment, home / "worker-test.log") as process:
        yield process


@contextmanager
def _process(command: list[str], environment: Mapping[str, str], said: Path) -> Iterator[subprocess.Popen]:
    with said.open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=dict(environment), stdout=log, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def is_healthy(url: str) -> bool:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"{url}/_stcore/health", timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False
