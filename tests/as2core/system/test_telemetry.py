"""ONNX Runtime collects nothing and asks nobody, and what it collected before is deleted."""

import subprocess
import sys

import pytest
from network_calls import find_outside_calls, trace_prefix

from as2core.system.telemetry import remove_queue

LOAD_A_SESSION = """
import sys
from pathlib import Path
from onnx import TensorProto, helper
from as2core.cascade.engine_onnx import session

x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy")
graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "graph", [x], [y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
path = Path(sys.argv[1])
path.write_bytes(model.SerializeToString())
session(path)
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The user's cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def command(cache, tmp_path, monkeypatch):
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    return [sys.executable, "-c", LOAD_A_SESSION, tmp_path / "graph.onnx"]


def test_a_session_queues_no_event(command, cache):
    subprocess.run(command, check=True, timeout=120)
    assert not (cache / "Microsoft").exists()


def test_a_session_asks_nobody(command, tmp_path):
    log = tmp_path / "calls"
    subprocess.run([*trace_prefix(log), *command], check=True, timeout=120)
    assert find_outside_calls(log.read_text()) == []


def test_events_of_an_earlier_release_are_deleted_and_nothing_else(cache):
    queue = cache / "Microsoft" / "DeveloperTools" / ".onnxruntime"
    queue.mkdir(parents=True)
    for name in ("onnxruntime.db", "onnxruntime.db-wal", "deviceid"):
        (queue / name).write_text("x")
    other = cache / "Microsoft" / "another"
    other.write_text("x")
    remove_queue()
    assert not (cache / "Microsoft" / "DeveloperTools").exists()
    assert other.read_text() == "x"
    remove_queue()  # without a queue there is nothing to do


@pytest.mark.parametrize(
    ("line", "leaves"),
    [
        ('7 connect(8, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("127.0.0.53")}, 16) = 0', True),
        ('7 connect(8, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("52.1.1.1")}, 16) = 0', True),
        ('7 connect(8, {sa_family=AF_INET, sin_port=htons(8501), sin_addr=inet_addr("127.0.0.1")}, 16) = 0', False),
        (
            "7 connect(8, {sa_family=AF_INET6, sin6_port=htons(80), sin6_flowinfo=htonl(0), "
            'inet_pton(AF_INET6, "2a00::1", &sin6_addr), sin6_scope_id=0}, 28) = 0',
            True,
        ),
        ('7 connect(7, {sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}, 110) = -1 ENOENT', False),
        ('7 sendto(7, "\\1\\0", 50, MSG_NOSIGNAL, NULL, 0) = 50', False),
    ],
)
def test_the_recorder_tells_the_loopback_from_the_network(line, leaves):
    assert bool(find_outside_calls(line)) == leaves
