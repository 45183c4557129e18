"""An engine that reads a long list in slices, with a pause before each, so that shorter lists come between.

Every slice is a run of its own, of pairs of like lengths. The cuts stay those of the whole list: at an exit all slices
are scored before anybody is dropped. So the result is that of one run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from as2core.cascade.engine import Engine, Run
from as2core.system.pauses import SLICE_PAIRS, are_pauses_handled, pause


def in_slices(engine: Engine) -> Engine:
    """The engine, in slices where somebody else may be waiting."""
    return SlicedEngine(engine) if are_pauses_handled() else engine


class SlicedEngine:
    def __init__(self, engine: Engine, *, pairs: int = SLICE_PAIRS) -> None:
        self.engine, self.pairs = engine, pairs
        self.name, self.error, self.identity = engine.name, engine.error, engine.identity
        self.exits, self.shape = engine.exits, engine.shape

    def start(self, questions: Sequence[str], texts: Sequence[str], *, keeps_states: bool = False) -> Run:
        def start_slice(places: np.ndarray) -> Run:
            return self.engine.start(
                [questions[i] for i in places], [texts[i] for i in places], keeps_states=keeps_states
            )

        longest_first = np.argsort([-len(t) for t in texts], kind="stable")
        slices = [np.sort(longest_first[i : i + self.pairs]) for i in range(0, len(texts), self.pairs)]
        return _SlicedRun(slices, start_slice, len(texts))


class _SlicedRun:
    def __init__(self, slices: Sequence[np.ndarray], start: Callable[[np.ndarray], Run], pairs: int) -> None:
        self.slices, self.start = slices, start
        self.lengths = np.zeros(pairs, np.int64)
        self.runs: dict[int, Run] = {}  # by slice, once it is reached: texts are tokenised when a run begins

    def advance(self, members: np.ndarray, first: int, last: int) -> tuple[np.ndarray, list[float]]:
        scores, seconds = np.empty((last - first, len(members)), np.float32), np.zeros(last - first)
        for number, places in enumerate(self.slices):
            at = np.flatnonzero(np.isin(members, places))
            if len(at):
                pause(len(at))
                run = self.runs[number] = self.runs.get(number) or self.start(places)
                scores[:, at], duration = run.advance(np.searchsorted(places, members[at]), first, last)
                seconds += duration
                self.lengths[places] = run.lengths
        return scores, seconds.tolist()

    def exact(self, members: np.ndarray) -> np.ndarray:
        logits = np.empty(len(members), np.float32)
        for number, places in enumerate(self.slices):
            at = np.flatnonzero(np.isin(members, places))
            if len(at):
                pause(len(at))
                logits[at] = self.runs[number].exact(np.searchsorted(places, members[at]))
        return logits
