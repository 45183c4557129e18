"""Vectors in one growing array, searched by brute force."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import NamedTuple

import numpy as np

from as2core.retrieval.clusters import check_width


class ScoredRow(NamedTuple):
    """A row and its product with a question. `name`: passage, document."""

    score: float
    number: int
    name: tuple[str, str]


class VectorMatrix:
    """Rows known by a number `n` and named (passage, document); a removed row's place is taken by the last one. The
    products with the last vector are kept, since a question is compared with all passages first and with those of the
    best documents then. Not thread-safe."""

    def __init__(self) -> None:
        self._rows = np.zeros((0, 0), dtype=np.float32)  # (room, d)
        self._numbers = np.zeros(0, dtype=np.int64)  # (room,)
        self._names: list[tuple[str, str]] = []
        self._place: dict[int, int] = {}
        self._documents: dict[str, set[int]] = {}  # document -> the numbers of its rows
        self._last: tuple[bytes, np.ndarray] | None = None  # a vector, and its products (rows,)

    def __len__(self) -> int:
        return len(self._names)

    def put(self, n: int, name: tuple[str, str], vector: np.ndarray) -> None:
        """Add row `n`, or replace it, by `vector` (d,). The first vector decides the width d; BadSetting for one of
        another width."""
        if not len(self):
            self._rows = np.zeros((64, len(vector)), dtype=np.float32)
            self._numbers = np.zeros(64, dtype=np.int64)
        check_width(vector, self._rows.shape[1])
        self._last = None
        at = self._place.get(n)
        if at is None:
            at = len(self)
            if at == len(self._rows):
                self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
                self._numbers = np.concatenate([self._numbers, np.zeros_like(self._numbers)])
            self._names.append(name)
            self._place[n] = at
        else:
            self._forget(n, self._names[at][1])
        self._documents.setdefault(name[1], set()).add(n)
        self._rows[at], self._numbers[at], self._names[at] = vector, n, name

    def retain(self, numbers: Set[int]) -> None:
        """Remove every row whose number is not among these."""
        self._last = None
        for n in [n for n in self._place if n not in numbers]:
            at, last = self._place.pop(n), len(self) - 1
            self._forget(n, self._names[at][1])
            name = self._names.pop()
            if at != last:
                self._rows[at], self._numbers[at], self._names[at] = self._rows[last], self._numbers[last], name
                self._place[int(self._numbers[at])] = at

    def _forget(self, n: int, document: str) -> None:
        """Row `n` is none of the document's any more."""
        numbers = self._documents[document]
        numbers.discard(n)
        if not numbers:
            del self._documents[document]

    def nearest(self, vector: np.ndarray, k: int, documents: Iterable[str] | None = None) -> list[ScoredRow]:
        """The `k` rows with the largest inner product with `vector` `(d,)`, best first, equal ones by number; only of
        these documents, if they are given."""
        places = np.arange(len(self))
        if documents is not None:
            numbers = (n for d in documents for n in self._documents.get(d, ()))
            places = np.array(sorted(self._place[n] for n in numbers), dtype=int)
        if not len(places) or k < 1:
            return []
        scores = self._multiply(vector)[places]
        if k < len(places):
            kth = np.partition(scores, len(places) - k)[len(places) - k]
            places, scores = places[scores >= kth], scores[scores >= kth]
        best = np.lexsort((self._numbers[places], -scores))[:k]
        rows = zip(scores[best].tolist(), self._numbers[places[best]].tolist(), places[best], strict=True)
        return [ScoredRow(score, n, self._names[at]) for score, n, at in rows]

    def _multiply(self, vector: np.ndarray) -> np.ndarray:
        """The products of all rows with it, (rows,)."""
        check_width(vector, self._rows.shape[1])
        key = vector.tobytes()
        if self._last is None or self._last[0] != key:
            self._last = key, self._rows[: len(self)] @ vector
        return self._last[1]
