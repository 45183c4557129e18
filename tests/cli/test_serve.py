"""`as2 serve` as a process of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from as2core.commands.serve import _load, open_port
from as2core.questions.synonyms import Synonyms


def test_a_server_answers_until_it_is_told_to_end(tmp_path):
    command = [Path(sys.executable).with_name("as2"), "serve", "--ranker", "bm25", "--port", "0"]
    env = {**os.environ, "AS2_HOME": str(tmp_path)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env) as server:
        told = server.stderr.readline()
        request = urllib.request.Request(
            told.split()[1],
            json.dumps({"query": "the tower", "documents": ["a bridge", "the tower"]}).encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            assert [r["index"] for r in json.load(answer)["results"]] == [1, 0]
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=120) == 130
        assert server.stderr.read() == "stopped\n"


def test_no_part_of_an_answer_waits_for_an_acknowledgement():
    with open_port("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        connection, _ = listening.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_server_that_other_machines_reach_without_a_key_says_so(tmp_path):
    command = [Path(sys.executable).with_name("as2"), "serve", "--ranker", "bm25", "--port", "0"]
    env = {**os.environ, "AS2_HOME": str(tmp_path)}
    with subprocess.Popen([*command, "--address", "0.0.0.0"], stderr=subprocess.PIPE, text=True, env=env) as server:
        port = server.stderr.readline().split()[1].split(":")[2].partition("/")[0]
        urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=120).close()
        server.send_signal(signal.SIGINT)
        told = server.stderr.read()
    assert "no keys: everybody who reaches 0.0.0.0 is answered; `as2 keys add NAME`" in told


@pytest.fixture
def running(tmp_path):
    """A server that answers."""
    command = [Path(sys.executable).with_name("as2"), "serve", "--ranker", "bm25", "--port", "0"]
    env = {**os.environ, "AS2_HOME": str(tmp_path)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env) as server:
        address = server.stderr.readline().split()[1].removesuffix("/v1/rerank")
        urllib.request.urlopen(f"{address}/health", timeout=120).close()
        yield server


@pytest.mark.parametrize("pause", [0.0, 0.05, 0.2])
def test_a_second_ctrl_c_changes_nothing(running, pause):
    for _ in range(5):
        running.send_signal(signal.SIGINT)
        time.sleep(pause)
    assert (running.wait(timeout=120), running.stderr.read()) == (130, "stopped\n")


def test_a_server_is_ended_by_sigterm_as_any_process_is(running):
    running.send_signal(signal.SIGTERM)
    assert (running.wait(timeout=120), running.stderr.read()) == (-signal.SIGTERM, "")


def test_a_port_that_is_taken_is_said_at_once(as2):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, _, err = as2("serve", "--port", taken.getsockname()[1])
    assert code == 1 and "choose another with --port" in err


@pytest.mark.parametrize("command", ["serve", "app"])
def test_an_address_of_another_machine_is_said_to_be_one(as2, command, tmp_path, monkeypatch):
    monkeypatch.setenv("AS2_HOME", str(tmp_path))
    code, _, err = as2(command, "--port", "8642", "--address", "192.0.2.1")  # of documentation: RFC 5737
    assert code == 1 and "192.0.2.1 is no address of this machine: choose another with --address" in err


def test_a_ranker_that_is_not_there_is_said_before_anything_is_served(as2):
    code, _, err = as2("serve", "--ranker", "grand", "--port", "0")
    assert code == 1 and "grand" in err and "/v1/rerank" not in err


@pytest.mark.parametrize(("spec", "reason"), [("bm25", "bm25 gives no vectors"), ("grand", "no ranker 'grand'")])
def test_an_embedder_that_cannot_embed_is_refused_before_anything_is_served(as2, spec, reason):
    code, _, err = as2("serve", "--ranker", "bm25", "--embedder", spec, "--port", "0")
    assert code == 1 and reason in err and "/v1/rerank" not in err


def test_a_ranker_that_is_named_twice_is_served_once():
    assert _load(["bm25", "jaccard", "bm25"], Synonyms(), None).specs == ["bm25", "jaccard"]


@pytest.mark.parametrize("spec", ["{}", "sequential:stages={}@1+bm25"])
def test_a_run_that_can_answer_nothing_is_refused_before_anything_is_served(as2, tmp_path, spec):
    file = tmp_path / "m.run"
    file.write_text("q Q0 a 1 1 x\n")
    code, _, err = as2("serve", "--ranker", spec.format(file), "--port", "0")
    assert code == 1 and "ranks the questions of a run alone" in err and "/v1/rerank" not in err


def test_the_app_does_not_start_with_a_damaged_log_in_and_names_the_line(tmp_path):
    secrets = tmp_path / ".streamlit" / "secrets.toml"
    secrets.parent.mkdir()
    secrets.write_text('[auth]\nclient_id = "as2\n')
    env = {**os.environ, "AS2_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    done = subprocess.run([Path(sys.executable).with_name("as2"), "app"], capture_output=True, text=True, env=env)
    assert done.returncode == 1 and "line 2" in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "home").exists()
