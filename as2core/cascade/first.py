"""Cheap first: of more candidates than a limit, a cheap ranker's best go on to the encoder.

With all sentences of the top documents (1,300 is usual) most of the encoder's time would go to sentences that a look at
their words, or at vectors made beforehand, can tell apart. The stage is on the trace like any exit, as layer 0.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from as2core.cascade.trace import CascadeTrace, ExitRecord, select_dropped
from as2core.errors import BadSetting
from as2core.types import Candidate


class Cheap(Protocol):
    """Any ranker; one that says what it spends has `score_and_cost(question, candidates) -> (scores, FLOPs)`."""

    name: str

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray: ...


@dataclass(frozen=True, slots=True)
class First:
    """The cheap ranker, and how many candidates it leaves; fewer than that it is not asked about."""

    ranker: Cheap
    keep: int = 200

    def __post_init__(self) -> None:
        if self.keep < 1:
            raise BadSetting(f"first_keep={self.keep} leaves the encoder nobody: give at least 1")

    def cut(self, question: str, candidates: Sequence[Candidate]) -> ExitRecord | None:
        """Who goes on; None if all do, unasked."""
        if len(candidates) <= self.keep:
            return None
        began = time.perf_counter()
        everyone = np.arange(len(candidates))
        if hasattr(self.ranker, "score_and_cost"):
            scores, spent = self.ranker.score_and_cost(question, candidates)
        else:
            scores, spent = self.ranker.score(question, candidates), 0
        scores = np.asarray(scores, dtype=np.float32)
        dropped = select_dropped(everyone, scores, self.keep)
        seconds = time.perf_counter() - began
        return ExitRecord(0, everyone, scores, dropped, seconds, 0, spent, self.ranker.name)


def with_first(trace: CascadeTrace, first: ExitRecord, candidates: Sequence[Candidate]) -> CascadeTrace:
    """The trace of those who went on, told as a run over all: positions are those of `candidates`."""
    entered = np.setdiff1d(first.alive, first.dropped)
    characters = np.array([len(c.reading) for c in candidates], dtype=np.float64)
    slope, least = _tokens_a_character(characters[entered], trace.lengths)
    lengths = np.rint(least + slope * characters).astype(np.int64).clip(1)
    lengths[entered] = trace.lengths
    lengths = np.minimum(lengths, max(1, int(trace.lengths.max(initial=1))))
    places = [{at: entered[getattr(e, at)] for at in ("alive", "dropped", "again")} for e in trace.exits]
    exits = tuple(replace(e, **moved) for e, moved in zip(trace.exits, places, strict=True))
    return replace(trace, lengths=lengths, exits=exits, first=first)


def _tokens_a_character(characters: np.ndarray, tokens: np.ndarray) -> tuple[float, float]:
    """A straight line through what was tokenised: (slope, tokens of an empty text)."""
    if len(tokens) < 2 or np.ptp(characters) == 0:
        return 0.0, float(tokens.mean()) if len(tokens) else 1.0
    slope, least = np.polyfit(characters, tokens, 1)
    return float(slope), float(least)
