"""How the commands speak: the result on standard output, everything else on standard error.

With `--json` the result is one JSON document and nothing else is on standard output: `working()` keeps whatever a
library prints while it computes away from it.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, is_dataclass
from datetime import date
from pathlib import Path
from typing import Any

from as2core.types import OnProgress, Progress

OnEvent = Callable[[Mapping[str, Any]], None]


def say(text: str = "") -> None:
    """A line of the result."""
    sys.stdout.write(text + "\n")


def note(text: str) -> None:
    """A line beside the result: a warning, or what happens next."""
    sys.stderr.write(" ".join(text.split()) + "\n")


def say_json(document: Any) -> None:
    """The result as one JSON document; NaN and infinity become null, as JSON has neither."""
    say(json.dumps(_plain(document), indent=2, ensure_ascii=False, allow_nan=False))


@contextmanager
def working(what: str = "") -> Iterator[OnProgress]:
    """For the time of a computation: a progress bar on standard error, drawn only on a terminal."""
    from tqdm import tqdm

    with redirect_stdout(sys.stderr), tqdm(desc=what, disable=None, leave=False, file=sys.stderr) as bar:

        def on_progress(progress: Progress) -> None:
            bar.total = progress.total or None
            bar.set_description_str(progress.what or what, refresh=False)
            bar.n = progress.done
            bar.refresh()

        yield on_progress


@contextmanager
def training() -> Iterator[OnEvent]:
    """For the time of a training run: a bar over the steps, and a line for every evaluation on dev."""
    from tqdm import tqdm

    with redirect_stdout(sys.stderr), tqdm(disable=None, leave=False, file=sys.stderr, unit="step") as bar:

        def on_event(event: Mapping[str, Any]) -> None:
            bar.total = event.get("steps") or bar.total
            bar.n = event.get("step", bar.n)
            if event.get("loss") is not None:
                bar.set_postfix_str(f"loss {event['loss']:.4f}", refresh=False)
            bar.refresh()
            if event.get("kind") == "eval":
                tqdm.write(evaluation_line(event), file=sys.stderr)

        yield on_event


def evaluation_line(event: Mapping[str, Any]) -> str:
    """`step 40/120  loss 0.5120  dev AP 2: .612  6: .701`, for one of a training run's "eval" events."""
    parts = [f"step {event.get('step', 0)}/{event.get('steps', 0)}"]
    if event.get("loss") is not None:
        parts.append(f"loss {event['loss']:.4f}")
    aps = "  ".join(f"{exit}: {ap:.3f}" for exit, ap in (event.get("dev_ap") or {}).items())
    return "  ".join([*parts, f"dev AP {aps}"]) if aps else "  ".join(parts)


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Aligned text: numbers to the right with three decimals, the last column cut to the terminal's width."""
    cells = [[_cell(row.get(c)) for c in columns] for row in rows]
    numeric = [bool(rows) and all(_is_number(row.get(c)) for row in rows) for c in columns]
    widths = [max(len(c), *(len(row[i]) for row in cells), 0) for i, c in enumerate(columns)]
    room = shutil.get_terminal_size((10**6, 24)).columns if sys.stdout.isatty() else 10**6
    lines = []
    for row in [list(columns), *cells]:
        fields = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(row, widths, numeric, strict=True)
        ]
        line = "  ".join(fields).rstrip()
        lines.append(line if len(line) <= room else line[: room - 1] + "…")
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3f}"
    return " ".join(str(value).split())


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _plain(value: Any) -> Any:
    """What `json` can write: data classes as objects, arrays as lists, dates and paths as text."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, date | Path):
        return value.isoformat() if isinstance(value, date) else str(value)
    if hasattr(value, "tolist"):  # numpy's arrays and numbers
        return _plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
