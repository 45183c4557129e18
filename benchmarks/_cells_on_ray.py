"""Cells that a study lacks, measured on the cores of this machine or of a cluster by Ray: each cell, or each few of one
training, is a piece of work, so a worker that dies costs one training. Which cells there are is what the study itself
asks for, gone through once without measuring anything."""

from __future__ import annotations

import copy
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _cells import PLACEHOLDER, Cells, Values

from as2core.bulk.pool import open_pool

Study = Callable[[Cells], Iterable[object]]  # reads all its figures by `Cells.get` and `get_all`; travels by pickle


class Rehearsal(Cells):
    """Lists what would be measured; every figure is a placeholder."""

    def __init__(self, known: Cells) -> None:
        super().__init__()
        self._known = known
        self.missing: list[tuple[str, ...]] = []

    def get_all(self, keys: Sequence[str], measure: Callable[[], Sequence[Values]]) -> list[Values]:
        if tuple(keys) not in self.missing and not all(key in self._known.known for key in keys):
            self.missing.append(tuple(keys))
        return [PLACEHOLDER] * len(keys)


class _Finished(Exception):
    """The study need not be gone through any further."""


class _Part(Cells):
    """Measures the cells with these keys alone."""

    def __init__(self, keys: Sequence[str]) -> None:
        super().__init__()
        self._keys = tuple(keys)
        self.results: list[Values] = []

    def get_all(self, keys: Sequence[str], measure: Callable[[], Sequence[Values]]) -> list[Values]:
        if tuple(keys) == self._keys:
            self.results = list(measure())
            raise _Finished
        return [PLACEHOLDER] * len(keys)


@dataclass(frozen=True, slots=True)
class Measurement:
    """The work: go through the study up to certain cells. `folder`: for files of the worker that end with the pool."""

    study: Study
    folder: Path | None

    def prepare(self, fetch: Callable[[Any], Any]) -> Callable[[Sequence[tuple[str, ...]]], list[list[Values]]]:
        if self.folder is not None:
            tempfile.tempdir = str(self.folder)
        return lambda items: [self._measure(keys) for keys in items]

    def name_item(self, item: tuple[str, ...]) -> str:
        return f"the measurement {item[0]!r}"

    def _measure(self, keys: Sequence[str]) -> list[Values]:
        part = _Part(keys)
        try:
            _go_through(self.study, part)
        except _Finished:
            return part.results
        raise ValueError(f"{keys[0]!r} is not asked for: is it the same study, over the same data, on all machines?")


def list_missing(study: Study, cells: Cells) -> list[tuple[str, ...]]:
    """The keys of what `cells` lack, those of one training together."""
    rehearsal = Rehearsal(cells)
    _go_through(study, rehearsal)
    return rehearsal.missing


def measure_on_ray(study: Study, cells: Cells, address: str) -> None:
    """Put what the study needs into `cells`, each as it is done. Raises BadSetting for an address where there is no
    Ray, what the study raises, and WorkFailed where workers die of a cell again and again."""
    missing = list_missing(copy.deepcopy(study), cells)  # what it has loaded need not travel
    with open_pool(address) as pool:
        for chunk, results in pool.stream(Measurement(study, pool.folder), [[keys] for keys in missing]):
            for keys, values in zip(chunk.items, results, strict=True):
                for key, value in zip(keys, values, strict=True):
                    cells.put(key, value)


def _go_through(study: Study, cells: Cells) -> None:
    deque(study(cells), maxlen=0)
