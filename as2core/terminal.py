"""The output of the commands: the result on standard output, everything else on standard error.

With `--json` the result is one JSON document and nothing else is on standard output: `show_progress()` sends whatever a
library prints meanwhile to standard error.

Progress is a bar on a terminal. In a log file it is a line of a computation that takes longer than `QUIET_SECONDS`, and
at most one in `LINE_SECONDS`.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, is_dataclass
from datetime import date
from pathlib import Path
from threading import RLock
from time import monotonic
from typing import TYPE_CHECKING, TextIO

from as2core.types import Json, OnProgress, Progress

if TYPE_CHECKING:
    from tqdm import tqdm

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and line end
_BOUND = re.compile(r"<\d+(\.\d+)?")
QUIET_SECONDS = 5.0
LINE_SECONDS = 30.0
MAX_STAGE_CHARS = 100  # of a line: a question may be the stage
_BAR_LOCK = RLock()
Event = Mapping[str, Json]  # of a training run: kind, step, steps, loss, dev_ap


def echo(text: str = "") -> None:
    """A line of the result."""
    with ignore_closed_pipe():
        sys.stdout.write(_defuse(text, sys.stdout) + "\n")


def _defuse(text: str, stream: TextIO) -> str:
    """On a terminal without control characters: a document's text, or the name of a file, must not steer it."""
    return _CONTROL.sub("", text) if stream.isatty() else text


def open_outputs() -> None:
    """A program that was started without standard output or standard error (`>&-`) writes that part into nothing."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115


@contextmanager
def ignore_closed_pipe(stream: TextIO | None = None) -> Iterator[None]:
    """If the reader of our output, `head` perhaps, has what it wants and is gone, the rest goes nowhere: the command
    still writes its files and has its exit code."""
    try:
        yield
    except BrokenPipeError:
        _lead_nowhere(stream or sys.stdout)


def empty_output() -> None:
    """Nothing is left for Python to write when it ends, which gives the exit code 120 where that fails."""
    try:
        sys.stdout.flush()
    except OSError:  # reported before, or nobody's loss
        _lead_nowhere(sys.stdout)


def _lead_nowhere(stream: TextIO) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def print_note(text: str) -> None:
    """A line on standard error: a warning, or what happens next."""
    sys.stderr.write(_defuse(" ".join(text.split()), sys.stderr) + "\n")


def print_json(document: object) -> None:
    """The result as one JSON document; NaN and infinity become null, which JSON does not have."""
    echo(json.dumps(to_json(document), indent=2, ensure_ascii=False, allow_nan=False))


class _Lines:
    """The lines of one computation, where standard error is no terminal."""

    def __init__(self, *, is_wanted: bool) -> None:
        self._next = monotonic() + QUIET_SECONDS if is_wanted else math.inf

    def write(self, text: str) -> None:
        """Unless the last line is too new."""
        if (now := monotonic()) >= self._next:
            self._next = now + LINE_SECONDS
            print_note(text)


def _load_tqdm() -> type[tqdm]:
    """With a lock for threads. Its own is for processes, too: from Python 3.14 on a process watches over that one, and
    warns of it when a signal ends ours."""
    from tqdm import tqdm

    tqdm.set_lock(_BAR_LOCK)
    return tqdm


@contextmanager
def show_progress(stage: str = "") -> Iterator[OnProgress]:
    """During a computation: a progress bar on standard error, or lines in a log."""
    tqdm = _load_tqdm()
    with redirect_stdout(sys.stderr), tqdm(desc=stage, disable=None, leave=False, file=sys.stderr) as bar:
        lines = _Lines(is_wanted=bar.disable)

        def on_progress(progress: Progress) -> None:
            bar.total = progress.total or None
            bar.set_description_str(_defuse(progress.stage or stage, sys.stderr), refresh=False)
            bar.n = progress.done
            bar.refresh()
            lines.write(format_progress(stage, progress))

        yield on_progress


@contextmanager
def show_training() -> Iterator[Callable[[Event], None]]:
    """During a training run: a bar over the steps, or lines in a log; and a line for every evaluation on the dev set,
    and for the beginning of each part of the run that says so ("begin", with its name). A "stage" without steps, with
    how far it is, stands in place of a step."""
    tqdm = _load_tqdm()
    with redirect_stdout(sys.stderr), tqdm(disable=None, leave=False, file=sys.stderr, unit="step") as bar:
        lines = _Lines(is_wanted=bar.disable)

        def on_event(event: Event) -> None:
            if event.get("kind") == "stage":
                bar.set_description_str(str(event["name"]))
                lines.write(str(event["name"]))
                return
            bar.set_description_str("", refresh=False)
            bar.total = event.get("steps") or bar.total
            bar.n = event.get("step", bar.n)
            if event.get("loss") is not None:
                bar.set_postfix_str(f"loss {event['loss']:.4f}", refresh=False)
            bar.refresh()
            if event.get("kind") == "begin":
                tqdm.write(str(event["name"]), file=sys.stderr)
            elif event.get("kind") == "eval":
                tqdm.write(format_evaluation(event), file=sys.stderr)
            elif event.get("step"):
                lines.write(format_evaluation(event))

        yield on_event


def format_progress(title: str, progress: Progress) -> str:
    """`reading the data, embedding: 34 %`."""
    stage = progress.stage[:MAX_STAGE_CHARS]
    name = ", ".join(part for part in dict.fromkeys([title, stage]) if part)
    if progress.total:
        return f"{name}: {100 * progress.done // progress.total} %"
    return f"{name}: {progress.done:,}" if progress.done else name


def format_evaluation(event: Event) -> str:
    """`step 40/120  loss 0.5120  dev AP 2: .612  6: .701`, for one of a training run's events."""
    parts = [f"step {event.get('step', 0)}/{event.get('steps', 0)}"]
    if event.get("loss") is not None:
        parts.append(f"loss {event['loss']:.4f}")
    if isinstance(aps := event.get("dev_ap"), dict) and aps:
        parts.append("dev AP " + "  ".join(f"{exit}: {ap:.3f}" for exit, ap in aps.items()))
    return "  ".join(parts)


def format_table(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> str:
    """Aligned text: numbers to the right with three decimals, the last column cut to the terminal's width."""
    cells = [[_format_cell(row.get(c)) for c in columns] for row in rows]
    numeric = [bool(rows) and all(_is_number(row.get(c)) for row in rows) for c in columns]
    widths = [max(len(c), *(len(row[i]) for row in cells), 0) for i, c in enumerate(columns)]
    room = shutil.get_terminal_size((10**6, 24)).columns if sys.stdout.isatty() else 10**6
    lines = []
    for row in [columns, *cells]:
        aligned = (f"{text:{'>' if right else '<'}{n}}" for text, n, right in zip(row, widths, numeric, strict=True))
        line = "  ".join(aligned).rstrip()
        lines.append(line if len(line) <= room else line[: room - 1] + "…")
    return "\n".join(lines)


def print_table(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> None:
    """The table as part of the result."""
    echo(format_table(rows, columns))


def _format_cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3f}"
    return " ".join(str(value).split())


def _is_number(value: object) -> bool:
    """Also one that is too small to show, as "<0.001"."""
    if isinstance(value, str):
        return _BOUND.fullmatch(value) is not None
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def to_json(value: object) -> Json:
    """Data classes as objects, arrays as lists, dates and paths as text, NaN and infinity as null."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, Mapping):
        return {str(k): to_json(v) for k, v in value.items()}
    if callable(to_list := getattr(value, "tolist", None)):  # numpy's arrays and numbers, without importing numpy
        value = to_list()
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(v) for v in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, date | Path):
        return value.isoformat() if isinstance(value, date) else str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
