"""A cascade's logits on disk, so that a pair is not read twice by the same weights on the same engine.

A retrain measures its base on held-out questions, and has the shipped cascade judge the labels; most of these questions
were there at the last retrain. Only complete runs, in which every pair passes all exits, are read from the cache and
stored in it. Which of a list's best are scored again in float32 depends on the list; that is decided anew at every run,
and the float32 logits have their own place beside those of the engine. The seconds of a run are those of the pairs it
had to read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from as2core.cascade.engine import Engine, Run
from as2core.system.disk_cache import DiskCache

MAX_BYTES = 32 << 20  # of values; an entry of a cascade with five exits is 28 bytes, and some 100 in the file
_FIRST_LOGIT = 2  # behind the length in tokens and the float32 logit, NaN if unknown
Pair = tuple[str, str]  # a question and a text


class LogitCache(DiskCache):
    """`model` is an engine's `identity`."""

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES) -> None:
        super().__init__(path, max_bytes=max_bytes, content="logits")

    def get(self, model: str, pairs: Sequence[Pair], exits: int) -> dict[Pair, np.ndarray]:
        """Those of the pairs that are there, each `(2 + exits,)`."""
        keys = {_key(model, pair): pair for pair in pairs}
        arrays = {keys[key]: np.frombuffer(value, np.float32) for key, value in self.get_bytes(keys).items()}
        return {pair: x for pair, x in arrays.items() if x.shape == (_FIRST_LOGIT + exits,)}

    def count(self, model: str, pairs: Sequence[Pair]) -> int:
        """How many of the pairs, each as often as it comes, are there."""
        rows = self.get_bytes(_key(model, pair) for pair in pairs)
        return sum(_key(model, pair) in rows for pair in pairs)

    def put(self, model: str, rows: Mapping[Pair, np.ndarray]) -> None:
        """Each row `(2 + exits,)`, as `get` returns it."""
        self.put_bytes({_key(model, pair): x.astype(np.float32).tobytes() for pair, x in rows.items()})


class CachedEngine:
    """An engine whose complete runs go through a cache."""

    def __init__(self, engine: Engine, cache: LogitCache) -> None:
        self.engine, self.cache = engine, cache
        self.name, self.error, self.identity = engine.name, engine.error, engine.identity
        self.exits, self.shape = engine.exits, engine.shape

    def start(self, questions: Sequence[str], texts: Sequence[str], *, keeps_states: bool = False) -> Run:
        if keeps_states:
            return self.engine.start(questions, texts, keeps_states=True)
        return _CachedRun(self, [*zip(questions, texts, strict=True)])


def with_cache(engine: Engine, cache: LogitCache | None) -> Engine:
    """The engine, over the cache if there is one and the engine's results can be told from another's."""
    return CachedEngine(engine, cache) if cache is not None and engine.identity else engine


class _CachedRun:
    def __init__(self, engine: CachedEngine, pairs: Sequence[Pair]) -> None:
        self.cached, self.pairs = engine, pairs
        self.lengths = np.zeros(len(pairs), np.int64)
        self._run: Run | None = None  # once it is not complete
        self._rows: dict[Pair, np.ndarray] = {}

    def advance(self, members: np.ndarray, first: int, last: int) -> tuple[np.ndarray, list[float]]:
        exits = len(self.cached.exits)
        if self._run is None and (first, last) == (0, exits):
            return self._advance_completely(members)
        self._run = self._run or self._start(self.pairs)
        result = self._run.advance(members, first, last)
        self.lengths = self._run.lengths
        return result

    def exact(self, members: np.ndarray) -> np.ndarray:
        if self._run is not None:
            return self._run.exact(members)
        pairs = [self.pairs[m] for m in members]
        new = [pair for pair in dict.fromkeys(pairs) if np.isnan(self._rows[pair][1])]
        if new:
            values = self._start(new).exact(np.arange(len(new)))
            for pair, value in zip(new, values, strict=True):
                self._rows[pair] = np.concatenate([self._rows[pair][:1], [value], self._rows[pair][_FIRST_LOGIT:]])
            self.cached.cache.put(self.cached.identity, {pair: self._rows[pair] for pair in new})
        return np.array([self._rows[pair][1] for pair in pairs], np.float32)

    def _start(self, pairs: Sequence[Pair]) -> Run:
        return self.cached.engine.start([q for q, _ in pairs], [t for _, t in pairs])

    def _advance_completely(self, members: np.ndarray) -> tuple[np.ndarray, list[float]]:
        cache, identity, exits = self.cached.cache, self.cached.identity, len(self.cached.exits)
        pairs = [self.pairs[m] for m in members]
        self._rows = cache.get(identity, pairs, exits)
        new, seconds = [pair for pair in dict.fromkeys(pairs) if pair not in self._rows], [0.0] * exits
        if new:
            run = self._start(new)
            logits, seconds = run.advance(np.arange(len(new)), 0, exits)
            columns = np.vstack([run.lengths, np.full(len(new), np.nan), logits])  # (2 + exits, new)
            rows = dict(zip(new, columns.T.astype(np.float32), strict=True))
            cache.put(identity, rows)
            self._rows |= rows
        table = np.array([self._rows[pair] for pair in pairs], np.float32).reshape(len(pairs), _FIRST_LOGIT + exits)
        self.lengths[members] = table[:, 0].astype(np.int64)
        return table[:, _FIRST_LOGIT:].T.copy(), seconds


def _key(model: str, pair: Pair) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for part in (model, *pair):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(f"{len(data)} ".encode() + data)
    return digest.digest()
