"""How a ranker's scores become numbers between 0 and 1, in the same order.

A calibrated cascade gives the probability that a document answers, which does not depend on the others in the request.
One that was dropped at an exit has the probability of that exit. It must stand below all that went on, so where the
best of those dropped at an exit does not, all of them are scaled down by the same factor. Those that a first stage left
out have no probability; they get numbers below all others.

Other rankers give s / (1 + |s|), from 0 to 1: the order, not a probability. The logistic function would make all large
scores 1. Two scores that differ never become the same number, nor 0 or 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace
from as2core.metrics import order
from as2core.rankers.base import CalibratesScores, Query, Ranker, TracesTogether

LEAST, MOST = np.finfo(np.float64).tiny, np.nextafter(1.0, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Relevance:
    """Of n documents: `scores` float32 `(n,)` as the ranker gives them, `values` `(n,)` between 0 and 1, and the
    `tokens` that were read."""

    scores: np.ndarray
    values: np.ndarray
    tokens: int


def score_relevance(
    ranker: Ranker, queries: Sequence[Query], *, schedule: DropSchedule | None = None
) -> list[Relevance]:
    """Of each question's candidates, in shared batches if the ranker can. `schedule` is for a cascade, which has its
    own without it."""
    if isinstance(ranker, TracesTogether):
        return [_relevance_of(ranker, trace) for trace in ranker.trace_many(queries, schedule)]
    relevances = []
    for question, candidates in queries:
        scores = ranker.score(question, candidates)
        words = sum(len(c.titled_text.split()) + len(question.split()) for c in candidates)
        relevances.append(Relevance(scores, to_relevance(scores), words))
    return relevances


def _relevance_of(ranker: Ranker, trace: CascadeTrace) -> Relevance:
    scores = trace.scores()
    if isinstance(ranker, CalibratesScores) and ranker.is_calibrated:
        values = separate(_read_probabilities(ranker, trace), scores)
    else:
        values = to_relevance(scores)
    return Relevance(scores, values, int(trace.lengths.sum()))


def to_relevance(scores: np.ndarray) -> np.ndarray:
    """Scores `(n,)` that are no probabilities."""
    return separate(_squash(scores), scores)


def separate(values: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The values `(n,)` strictly between 0 and 1 and strictly in the order of the scores, where float64 would make two
    of them the same; only those are moved, by its smallest step."""
    values = np.clip(values, LEAST, MOST)
    for above, below in pairwise(order(scores).tolist()):
        if scores[below] == scores[above]:
            values[below] = values[above]
        elif values[below] >= values[above]:
            values[below] = np.nextafter(values[above], 0.0)
    return values


def _squash(scores: np.ndarray) -> np.ndarray:
    scores = np.asarray(scores, dtype=np.float64)
    return 0.5 + scores / (2 * (1 + np.abs(scores)))


def _read_probabilities(ranker: CalibratesScores, trace: CascadeTrace) -> np.ndarray:
    values = np.empty(trace.candidates)
    last = trace.exits[-1]
    values[last.alive] = ranker.probability(last.scores)
    floor = float(values[last.alive].min(initial=1.0))
    for i, e in reversed([*enumerate(trace.exits[:-1])]):
        if len(e.dropped):
            own = np.maximum(ranker.probability(e.scores[np.searchsorted(e.alive, e.dropped)], i), LEAST)
            values[e.dropped] = own * min(1.0, np.nextafter(floor, 0.0) / own.max())
            floor = float(values[e.dropped].min())
    if (first := trace.first) is not None:
        values[first.dropped] = floor * _squash(first.scores[np.searchsorted(first.alive, first.dropped)])
    return values
