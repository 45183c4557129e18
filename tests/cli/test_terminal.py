"""How results are written."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from as2core import terminal
from as2core.types import Progress


def test_a_table_aligns_words_left_and_numbers_right():
    rows = [{"name": "bm25", "AP": 0.5}, {"name": "a longer\nname", "AP": None}]
    assert terminal.format_table(rows, ["name", "AP"]).splitlines() == [
        "name              AP",
        "bm25           0.500",
        "a longer name      -",
    ]


def test_a_table_without_rows_is_its_heading():
    assert terminal.format_table([], ["name", "AP"]) == "name  AP"


def test_json_has_no_nan_and_knows_arrays_dates_paths_and_data_classes(capsys):
    @dataclass(frozen=True)
    class Point:
        x: float
        at: datetime

    terminal.print_json(
        {
            "nan": float("nan"),
            "array": np.array([1.5, np.inf], dtype=np.float32),
            "number": np.int64(3),
            "point": Point(0.25, datetime(2026, 1, 2, tzinfo=UTC)),
            "path": Path("a/b"),
            7: ("ü",),
        }
    )
    out = capsys.readouterr().out
    assert "ü" in out
    assert json.loads(out) == {
        "nan": None,
        "array": [1.5, None],
        "number": 3,
        "point": {"x": 0.25, "at": "2026-01-02T00:00:00+00:00"},
        "path": "a/b",
        "7": ["ü"],
    }


def test_an_evaluation_is_told_in_one_line_with_every_exit():
    event = {"kind": "eval", "step": 40, "steps": 120, "loss": 0.5, "dev_ap": {"2": 0.6127, "6": 0.7}}
    assert terminal.format_evaluation(event) == "step 40/120  loss 0.5000  dev AP 2: 0.613  6: 0.700"


def test_a_training_run_tells_its_evaluations_on_standard_error_only(capsys):
    with terminal.show_training() as on_event:
        on_event({"kind": "start", "step": 0, "steps": 2})
        on_event({"kind": "step", "step": 1, "steps": 2, "loss": 0.25})
        on_event({"kind": "eval", "step": 2, "steps": 2, "loss": None, "dev_ap": {"6": 0.5}})
    out, err = capsys.readouterr()
    assert out == "" and "step 2/2  dev AP 6: 0.500" in err


def test_a_log_has_a_line_of_a_long_computation_every_half_minute_and_none_of_a_short_one(capsys, monkeypatch):
    seconds = iter([0, 4.9, 5, 34, 36])
    monkeypatch.setattr(terminal, "monotonic", lambda: next(seconds))
    with terminal.show_progress("reading the data") as on_progress:
        for done in (1, 2, 3, 4):
            on_progress(Progress(done, 8, "embedding"))
    assert capsys.readouterr().err.splitlines() == [
        "reading the data, embedding: 25 %",
        "reading the data, embedding: 50 %",
    ]
    seconds = iter([0, 6, 8, 40, 71])
    with terminal.show_training() as on_event:
        on_event({"kind": "begin", "name": "training the cascade"})
        for step in (1, 2, 3):
            on_event({"kind": "step", "step": step, "steps": 9, "loss": 0.5})
        on_event({"kind": "stage", "name": "job 3: checking the result, 9 of 24 questions read"})
    assert capsys.readouterr().err.splitlines() == [
        "training the cascade", "step 1/9 loss 0.5000", "step 3/9 loss 0.5000",
        "job 3: checking the result, 9 of 24 questions read",
    ]  # fmt: skip


def test_a_bar_leaves_no_semaphore_behind_when_a_signal_ends_the_program(monkeypatch):
    from tqdm.std import TqdmDefaultWriteLock, tqdm

    monkeypatch.delattr(tqdm, "_lock", raising=False)  # as in a new process
    for show in (terminal.show_progress, terminal.show_training):
        with show():
            assert not isinstance(tqdm.get_lock(), TqdmDefaultWriteLock)


def test_a_text_cannot_steer_the_terminal_and_a_pipe_gets_it_as_it_is(capsys, monkeypatch):
    terminal.echo("a\x1b[31mred\ttab\x9b")
    assert capsys.readouterr().out == "a\x1b[31mred\ttab\x9b\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    terminal.echo("a\x1b[31mred\ttab\x9b")
    assert capsys.readouterr().out == "a[31mred\ttab\n"


def test_a_message_about_a_file_cannot_steer_the_terminal_either(capsys, monkeypatch):
    terminal.print_note("a\x1b[31mred.pdf: not a PDF")
    assert capsys.readouterr().err == "a\x1b[31mred.pdf: not a PDF\n"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    terminal.print_note("a\x1b[31mred.pdf: not a PDF")
    with terminal.show_progress() as on_progress:
        on_progress(Progress(1, 2, "a\x1b[31mred.pdf"))
    assert "\x1b[31m" not in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_full_disk_behind_standard_output_is_an_error_in_a_line():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-m", "as2core.cli", "rankers"], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr and b"the disk is full" in done.stderr


def test_a_program_without_standard_output_writes_it_into_nothing(monkeypatch, capfd):
    monkeypatch.setattr("sys.stdout", None)
    terminal.open_outputs()
    terminal.echo("the result")
    assert capfd.readouterr().out == ""
