"""Estimating a mean over all questions from a few that were drawn with unequal probabilities, without replacement.

Before each draw every question has a prediction of its value. One draw gives one unbiased estimate of the mean of all,

    z = (sum of what is known + sum of the other predictions + (value - prediction) / probability) / questions

whatever the predictions and probabilities are, so long as both are fixed before the draw. With predictions of 0 the
mean of several z, weighted as `weigh_draws` does, is LURE (Farquhar, Gal and Rainforth, "On statistical bias in active
learning", ICLR 2021; for evaluation Kossen et al., "Active testing", ICML 2021). With them it is prediction-powered and
active (Zrnic and Candès, "Active statistical inference", ICML 2024). Written as z it also allows the predictions to
improve on the way, and a question to become known without a draw.

The best probabilities are proportional to a value's standard deviation around its prediction. Questions that cost fewer
labels are not preferred: the cost is known only roughly before, and a question drawn seldom makes a wide interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Draw:
    """A question drawn, and what was known before. `base`: the mean with predictions for what is unknown. `pool`: how
    many questions it was drawn from, out of `questions`. `low`, `high`: between which the estimate had to lie."""

    place: int
    probability: float
    prediction: float
    base: float
    pool: int
    questions: int
    low: float
    high: float

    def estimate(self, value: float) -> float:
        """z, from the value of the question drawn."""
        return self.base + (value - self.prediction) / (self.probability * self.questions)


def plan_probabilities(deviations: np.ndarray, ranges: np.ndarray, *, caution: float = 1.0) -> np.ndarray:
    """Of the questions of the pool: `deviations` as the predictions' model has them, and the `ranges` that values can
    have. `caution`: how far a value's whole range counts beside the deviation, since the model may be wrong, and a
    value of small probability that surprises makes a huge estimate. All `(pool,)`."""
    sizes = np.hypot(deviations, caution * ranges)
    return sizes / sizes.sum()


def weigh_draws(pools: Sequence[int]) -> np.ndarray:
    """The weight of each draw's estimate, by the number of questions it was drawn from; they add up to 1:
    `(draws,)`. The last of a pool of one knows everything, so it counts alone."""
    sizes = np.asarray(pools, dtype=np.float64)
    weights = (sizes <= 1).astype(float) if (sizes <= 1).any() else 1 / (sizes * (sizes - 1))
    return weights / weights.sum()
