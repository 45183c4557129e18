"""How far the labels that are missing can move the difference between two orders of one question's candidates, and
which label moves it most.

The weights are those of minimal test collections (Carterette, Allan and Sitaraman, "Minimal test collections for
retrieval evaluation", SIGIR 2006): an item's weight is how much the difference changes with its label. What the other
missing labels are is not known, so both ends are tried, all of them incorrect and all correct, and the larger change
counts. The paper leaves out that AP is divided by the number of correct items, which is a question's constant only in
its large collections; here a question has few candidates, and AP itself is taken.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from as2core.errors import BadSetting
from as2core.metrics import measure_orders, order

DECIDING_MEASURES = ("P@1", "RR", "AP")  # that two rankers can be decided between by
UNKNOWN = -1


@dataclass(frozen=True, slots=True, eq=False)
class OrderPair:
    """A question under two rankers. `order_a`, `order_b`: candidate positions, best first; `labels`: 1 correct, 0 not,
    `UNKNOWN`. All int `(n,)`."""

    qid: str
    order_a: np.ndarray
    order_b: np.ndarray
    labels: np.ndarray

    @classmethod
    def of_scores(cls, qid: str, a: np.ndarray, b: np.ndarray, labels: np.ndarray) -> OrderPair:
        """Of each ranker's scores `(n,)`. Raises BadSetting where the three differ in length or there are none."""
        if not len(a) == len(b) == len(labels) > 0:
            raise BadSetting(f"question {qid!r}: {len(a)} and {len(b)} scores for {len(labels)} candidates")
        return cls(qid, order(a), order(b), np.asarray(labels, dtype=np.int64))

    @property
    def missing(self) -> np.ndarray:
        """Positions without a label, int `(missing,)`."""
        return np.flatnonzero(self.labels == UNKNOWN)

    def with_label(self, item: int, label: int) -> OrderPair:
        labels = self.labels.copy()
        labels[item] = label
        return replace(self, labels=labels)


def measure_difference(pair: OrderPair, correct: np.ndarray, measure: str) -> np.ndarray:
    """A's value minus B's, of many possible labellings at once: bool `(cases, n)`, by candidate, -> `(cases,)`."""
    a, b = (measure_orders(correct[:, places], (measure,))[measure] for places in (pair.order_a, pair.order_b))
    return a - b


def bound_difference(pair: OrderPair, measure: str) -> tuple[float, float]:
    """The least and the greatest difference, whatever the missing labels are: exact for P@1 and RR, for AP an interval
    that holds it and closes with the last label: the ends of both orders, for one number of correct candidates.

    P@1 and RR depend on one correct candidate each. What makes one ranker better is therefore at most one more, and
    leaving out all the others never helps the other ranker less.
    """
    if np.array_equal(pair.order_a, pair.order_b):
        return 0.0, 0.0
    missing = pair.missing
    correct = pair.labels == 1
    if measure != "AP":
        cases = np.tile(correct, (1 + len(missing), 1))
        cases[1 + np.arange(len(missing)), missing] = True
        values = measure_difference(pair, cases, measure)
        return float(values.min()), float(values.max())
    (low_a, high_a), (low_b, high_b) = (_bound_ap(pair.labels[places]) for places in (pair.order_a, pair.order_b))
    return float((low_a - high_b).min()), float((high_a - low_b).max())


def _bound_ap(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of one order, best first, by the number of correct ones among the missing: lowest where they come last, highest
    where first. Both `(missing + 1,)`"""
    missing = np.flatnonzero(labels == UNKNOWN)
    size = len(missing) + 1
    is_correct = np.arange(size - 1) < np.arange(size)[:, None]
    cases = np.tile(labels == 1, (2 * size, 1))
    cases[:size, missing], cases[size:, missing] = is_correct[:, ::-1], is_correct
    low, high = measure_orders(cases, ("AP",))["AP"].reshape(2, size)
    return low, high


def weigh_items(pair: OrderPair, measure: str) -> np.ndarray:
    """By candidate, the largest change of the difference that its label can make with all other missing labels 0, or
    all 1; 0 for what is labelled. `(n,)`"""
    missing, n = pair.missing, len(pair.labels)
    weights = np.zeros(n)
    if not len(missing):
        return weights
    for background in (False, True):
        others = np.where(pair.labels == UNKNOWN, background, pair.labels == 1)
        cases = np.tile(others, (2 * len(missing), 1))
        rows = np.arange(len(missing))
        cases[rows, missing], cases[len(missing) + rows, missing] = True, False
        values = measure_difference(pair, cases, measure)
        change = np.abs(values[: len(missing)] - values[len(missing) :])
        weights[missing] = np.maximum(weights[missing], change)
    return weights


def choose_item(pair: OrderPair, measure: str, probabilities: np.ndarray) -> int:
    """Of the unlabelled candidates that stand first in each order, and the two whose labels can change the difference
    most, the one whose label is expected to bring the bounds closest; of equals the one of more weight, then the
    likelier correct one. `probabilities`: of being correct, `(n,)`."""
    weights, missing = weigh_items(pair, measure).round(9), pair.missing
    heaviest = missing[np.lexsort((-probabilities[missing], -weights[missing]))[:2]]
    first = [places[np.isin(places, missing)][0] for places in (pair.order_a, pair.order_b)]
    choices = np.unique([*heaviest, *first])
    widths = [
        sum(
            chance * np.ptp(bound_difference(pair.with_label(int(item), label), measure))
            for label, chance in ((1, probabilities[item]), (0, 1 - probabilities[item]))
        )
        for item in choices
    ]
    return int(choices[np.lexsort((-probabilities[choices], -weights[choices], np.round(widths, 9)))[0]])
