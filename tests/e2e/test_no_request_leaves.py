"""No process of the product speaks to another machine or looks up a name: the app, its worker with a retrain, the
commands and `as2 serve`, all of them recorded by strace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import small_corpus
from network_calls import find_outside_calls, trace_prefix
from polling import until
from serving import free_port, is_healthy
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

AS2 = str(Path(sys.executable).with_name("as2"))
QUESTION = "Who made it?"
TELEMETRY_SECONDS = 20  # within which ONNX Runtime had looked up its host, twice over


@contextmanager
def running(command: list[str], log: Path, **environment: str) -> Iterator[subprocess.Popen]:
    process = subprocess.Popen([*trace_prefix(log), *command], env={**os.environ, **environment})
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture
def environment(tmp_path, monkeypatch) -> dict[str, str]:
    """A home, a small corpus and a cache folder of its own, and nothing that turns the telemetry off."""
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    return {
        "AS2_HOME": str(tmp_path / "home"),
        "AS2_CORPORA_DIR": str(small_corpus.write(tmp_path / "corpora")),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }


def open_from_elsewhere(port: int) -> None:
    """A WebSocket as the page of another site would open it."""
    address = f"ws://127.0.0.1:{port}/_stcore/stream"
    with pytest.raises(InvalidStatus), connect(address, origin="http://elsewhere.example", proxy=None):
        pass


def test_the_app_its_worker_a_question_and_a_retrain_ask_nobody(environment, tmp_path):
    log, port = tmp_path / "app", free_port()
    with running([AS2, "app", "--port", str(port)], log, **environment) as process:
        until(lambda: is_healthy(f"http://127.0.0.1:{port}"), "the app", seconds=120)
        open_from_elsewhere(port)
        for name, command in {
            "ask": ["ask", QUESTION],
            "adapt": ["adapt", "--corpus", "starter", "--epochs", "1"],
        }.items():
            done = subprocess.run(
                [*trace_prefix(tmp_path / name), AS2, *command, "--json"],
                env={**os.environ, **environment, "AS2_WORKER": "external"},
                capture_output=True,
                text=True,
                timeout=600,
            )
            assert done.returncode == 0, done.stderr
            assert find_outside_calls((tmp_path / name).read_text()) == []
        assert process.poll() is None
    assert find_outside_calls(log.read_text()) == []
    assert not (tmp_path / "cache" / "Microsoft").exists()


def test_the_ranking_service_asks_nobody(environment, tmp_path):
    log, port = tmp_path / "serve", free_port()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/rerank",
        json.dumps({"query": QUESTION, "documents": ["A bridge.", "Gustave made it."]}).encode(),
        {"content-type": "application/json"},
    )
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def is_answered() -> bool:
        try:
            with direct.open(request, timeout=60) as answer:
                return len(json.load(answer)["results"]) == 2
        except OSError:
            return False

    with running([AS2, "serve", "--port", str(port)], log, **environment) as process:
        until(is_answered, "the answer", seconds=120)
        time.sleep(TELEMETRY_SECONDS)
        assert process.poll() is None
    assert find_outside_calls(log.read_text()) == []
    assert not (tmp_path / "cache" / "Microsoft").exists()
