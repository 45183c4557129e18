"""How far the list of a drawn question is labelled: while its next label is worth one, and by chance beyond that.

A difference in AP is known only with the last label of a list, but the first few say most of it. After each label the
reading therefore goes on with a probability. What a label changes in the prediction of the difference is divided by the
probability that the reading came to it, so that the value read is unbiased, whatever the predictions are worth:

    value = prediction before + sum over labels of (prediction after - prediction before) / probability to come so far

(McLeish, "A general method for debiasing a Monte Carlo estimator", 2011; Rhee and Glynn, "Unbiased estimation with
square root convergence for SDE models", Operations Research 2015.) The variance per label is least if the probability
falls as the changes do. It must not fall so far that the value could leave the limits that the bets were made on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from as2core.deciding.differences import OrderPair, measure_difference, weigh_items
from as2core.deciding.draws import Draw

SLACK = {"P@1": 0.0, "RR": 0.5, "AP": 0.5}  # how far a value may leave the difference's bounds, in half their width
CAUTION = 0.1  # how far the largest change a label could make counts beside the change that is expected
TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Reading:
    """Of the question of `draw`. `low`, `high`: what its value must stay within; `prediction`: of its difference, with
    the labels so far; `value`: what is read if it ends here; `size`: how much the first label was expected to change;
    `weight`: 1 over the probability of the next label."""

    draw: Draw
    low: float
    high: float
    prediction: float
    value: float
    size: float
    weight: float = 1.0

    @classmethod
    def start(cls, draw: Draw, low: float, high: float, size: float) -> Reading:
        return cls(draw, low, high, draw.prediction, draw.prediction, size)

    @property
    def place(self) -> int:
        return self.draw.place

    @property
    def probability(self) -> float:
        """That the next label is asked for: its question drawn, and its list read so far."""
        return self.draw.probability / self.weight

    def see(self, prediction: float) -> Reading:
        """After a label that changed the prediction."""
        return replace(self, prediction=prediction, value=self.value + self.weight * (prediction - self.prediction))

    def plan_weight(self, size: float, low: float, high: float) -> float:
        """The next label's weight, never below that of the last: `size` is the change expected of it, `low` and `high`
        bound the difference. With the weight kept from here on, the value cannot leave its limits."""
        limits = [self.size / size if size > TINY else np.inf]
        if high - self.prediction > TINY:
            limits.append((self.high - self.value) / (high - self.prediction))
        if self.prediction - low > TINY:
            limits.append((self.value - self.low) / (self.prediction - low))
        return max(self.weight, float(min(limits)))


def predict_change(pair: OrderPair, item: int, cases: np.ndarray, chance: float, measure: str) -> tuple[float, float]:
    """The expected difference, and how much the label of `item` is expected to change it. `cases`: likely labellings,
    bool `(cases, n)`; `chance`: that the item is correct."""
    labellings = np.concatenate([cases, cases])
    labellings[: len(cases), item], labellings[len(cases) :, item] = True, False
    if_correct, if_not = measure_difference(pair, labellings, measure).reshape(2, -1).mean(1)
    size = (chance * (1 - chance)) ** 0.5 * abs(if_correct - if_not)
    prediction = chance * if_correct + (1 - chance) * if_not
    return float(prediction), float(np.hypot(size, CAUTION * weigh_items(pair, measure)[item]))
