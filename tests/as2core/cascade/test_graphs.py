"""The graphs of the onnx engine: built once, kept on disk, and in the background."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_cascade import CANDIDATES, QUESTION, make_ranker

from as2core.cascade import graphs
from as2core.cascade.graphs import SUMS, graphs_for


def test_graphs_are_built_once_and_a_damaged_one_is_built_anew(tiny, tmp_path):
    ranker = make_ranker(tiny())
    told = []
    args = (ranker.backbone, ranker.module.heads, ranker.exits, tmp_path)
    files = graphs_for(*args, on_progress=told.append)
    assert told[-1].done == told[-1].total == 5
    assert set(json.loads((files[0].parent / SUMS).read_text())) == {f.name for f in files}
    stamps = [f.stat().st_mtime_ns for f in files]
    assert [f.stat().st_mtime_ns for f in graphs_for(*args)] == stamps
    whole = files[2].read_bytes()
    files[2].write_bytes(whole[: len(whole) // 2])
    assert graphs_for(*args)[2].read_bytes() == whole
    assert [p.name for p in tmp_path.iterdir()] == [files[0].parent.name]  # nothing half-made is left behind


def test_other_weights_have_other_graphs(tiny, tmp_path):
    ranker = make_ranker(tiny())
    before = graphs_for(ranker.backbone, ranker.module.heads, ranker.exits, tmp_path)
    with torch.no_grad():
        ranker.module.heads[0].cosine.add_(1)
    assert graphs_for(ranker.backbone, ranker.module.heads, ranker.exits, tmp_path)[0].parent != before[0].parent


def test_a_build_leaves_the_eight_last_used_and_takes_away_what_was_given_up(tiny, tmp_path, monkeypatch):
    now = time.time()
    monkeypatch.setattr("as2core.cascade.graphs._in_use", asked := set())

    def make_folder(name: str, hours: float) -> Path:
        (tmp_path / name).mkdir()
        (tmp_path / name / SUMS).write_text("{}")
        os.utime(tmp_path / name, (now - 3600 * hours,) * 2)
        return tmp_path / name

    ranker = make_ranker(tiny())
    args = (ranker.backbone, ranker.module.heads, ranker.exits, tmp_path)
    first = graphs_for(*args)[0].parent
    os.utime(first, (now - 90 * 3600,) * 2)
    graphs_for(*args)  # a use: the oldest is the newest again
    asked.clear()
    old = [make_folder(f"{i:032x}", 10 + i) for i in range(10)]
    asked.add(old[9])  # this process runs on the oldest
    given_up, at_work = make_folder(".building-killed", 1.5), make_folder(".building-now", 0.1)
    other = make_folder("notes", 99)  # whatever it is, it is not ours
    with torch.no_grad():
        ranker.module.heads[0].cosine.add_(1)
    second = graphs_for(*args)[0].parent
    assert set(tmp_path.iterdir()) == {second, first, *old[:6], old[9], at_work, other}
    assert not given_up.exists()


def test_a_folder_that_another_process_takes_away_at_once_is_no_fault_of_the_build(tmp_path, monkeypatch):
    move = graphs._move_into_place

    def move_and_lose(building, home, files):
        move(building, home, files)
        shutil.rmtree(home)

    (tmp_path / ".building-other").mkdir()
    monkeypatch.setattr(graphs, "_move_into_place", move_and_lose)
    assert graphs.store_graphs("a" * 32, {"part": lambda: b"graph"}, tmp_path) == [tmp_path / ("a" * 32) / "part.onnx"]


def test_torch_answers_while_the_graphs_are_built_in_the_background(tiny, tmp_path):
    import threading

    ranker, began, go = make_ranker(tiny()), threading.Event(), threading.Event()

    def wait(_) -> None:
        began.set()
        go.wait(30)

    ranker.use("auto", folder=tmp_path, background=True, on_progress=wait)
    assert began.wait(30)
    assert ranker.engine.name == "torch"
    assert ranker.preparing.total == 5
    assert np.isfinite(ranker.score(QUESTION, CANDIDATES)).all()
    go.set()
    next(t for t in threading.enumerate() if t.name == "onnx graphs").join(30)
    assert ranker.engine.name == "onnx"
    assert ranker.preparing is None


@pytest.mark.slow
def test_a_program_that_ends_while_the_graphs_are_built_ends_well(tmp_path):
    code = """
import sys, threading
from pathlib import Path
from as2core.rankers.catalog import get
began = threading.Event()
get("cascade").use("auto", folder=Path(sys.argv[1]), background=True, on_progress=lambda p: began.set())
began.wait(60)
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
