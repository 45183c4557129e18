"""What was measured, by key: a figure by question id or by name. With a file of JSON lines a run goes on where an
earlier one stopped, and several machines can share the work."""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from as2core.metrics import paired_test

STORED = Path(__file__).resolve().parents[1] / "docs" / "results" / "label-efficiency.jsonl.gz"

Values = Mapping[str, float]


class _Placeholder(dict[str, float]):
    def __missing__(self, name: str) -> float:
        return 1.0


PLACEHOLDER: Values = _Placeholder({"": 1.0})  # in place of figures that are not measured yet


class Cells:
    def __init__(self, file: Path | None = None) -> None:
        """Without a file they are in memory only."""
        self._file = file
        self.known: dict[str, Values] = {}
        if file and file.exists():
            with _open(file, "rt") as lines:
                self.known = {record["key"]: record["values"] for record in map(json.loads, lines)}

    def get(self, key: str, measure: Callable[[], Values]) -> Values:
        return self.get_all([key], lambda: [measure()])[0]

    def get_all(self, keys: Sequence[str], measure: Callable[[], Sequence[Values]]) -> list[Values]:
        """What one training gives, several figures: all are measured where one is missing, but not for `--stored`."""
        if missing := [key for key in keys if key not in self.known]:
            if self._file == STORED:
                raise SystemExit(f"{missing[0]!r} is not stored: leave out --stored to measure it")
            for key, values in zip(keys, measure(), strict=True):
                self.put(key, values)
        return [self.known[key] for key in keys]

    def put(self, key: str, values: Values) -> None:
        self.known[key] = {name: round(float(value), 5) for name, value in values.items()}
        if self._file:
            with _open(self._file, "at") as file:
                file.write(json.dumps({"key": key, "values": self.known[key]}) + "\n")
        print(f"{key}: {mean(self.known[key]):.3f}", flush=True)


def add_cache_options(parser: argparse.ArgumentParser) -> None:
    """`cache`: the file of the cells, and `ray`: where to measure those that are missing; None without one."""
    parser.add_argument("--ray", metavar="ADDRESS", help="measure on all cores of a Ray: local, auto or HOST:PORT")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--cache", type=Path, help="AP by question, one model a line: read first, then added to")
    source.add_argument("--stored", action="store_const", const=STORED, dest="cache", help="that of the page")


def _open(file: Path, mode: str) -> IO[str]:
    return (gzip.open if file.suffix == ".gz" else open)(file, mode, encoding="utf-8")


def average(runs: Sequence[Values]) -> Values:
    """Each question's mean over the runs."""
    if runs[0] is PLACEHOLDER:
        return PLACEHOLDER
    return {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}


def mean(values: Values) -> float:
    return float(np.mean(list(values.values())))


def describe(values: Values, others: Values) -> str:
    """The mean difference, paired by question, with its 95 % interval."""
    test = paired_test(values, others)
    return f"{test.difference:+.3f} ({test.low:+.3f} to {test.high:+.3f})"
