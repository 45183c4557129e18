"""How probable it is that a candidate is correct before anybody looked: what the draws are planned by.

A logistic model of the two rankers' ranks and, where there is one, of a probability from elsewhere (a calibrated
cascade, a generative ranker). It starts from a guess and learns from the labels given so far. An estimate from planned
draws is unbiased whatever the plan, as long as a draw is planned from earlier labels only (`draws`); so the model may
learn as it goes, and a bad one only costs labels.
"""

from __future__ import annotations

import numpy as np

START = np.array([0.0, -0.7, -0.7])  # of 1 and the logarithms of both ranks: even odds where both rank it first
PRECISION = np.array([0.3, 3.0, 3.0])  # of the Gaussian around it
PROBABILITY_PRECISION = 2.0
STEPS = 8
MAX_LOGIT = 6.0


class RankProxy:
    """`features`: one row for every candidate of all questions, `(rows, 3 or 4)`."""

    def __init__(self, ranks_a: np.ndarray, ranks_b: np.ndarray, probabilities: np.ndarray | None = None) -> None:
        columns = [np.ones(len(ranks_a)), np.log(ranks_a), np.log(ranks_b)]
        self.start, self.precision = START, PRECISION
        if probabilities is not None:  # then the ranks only correct it
            safe = np.clip(probabilities, 1e-9, 1 - 1e-9)
            columns.append(np.clip(np.log(safe / (1 - safe)), -MAX_LOGIT, MAX_LOGIT))
            self.start = np.array([0.0, 0.0, 0.0, 1.0])
            self.precision = np.append(PRECISION, PROBABILITY_PRECISION)
        self.features = np.stack(columns, axis=1)

    def predict(self, labels: np.ndarray) -> np.ndarray:
        """The probability of every row, learnt from those with a label (1 or 0; others are below 0). `(rows,)`"""
        is_known = labels >= 0
        x, y = self.features[is_known], labels[is_known]
        weights = self.start.copy()
        for _ in range(STEPS if len(y) else 0):  # Newton's
            p = _sigmoid(x @ weights)
            gradient = x.T @ (p - y) + self.precision * (weights - self.start)
            curvature = (x * (p * (1 - p))[:, None]).T @ x + np.diag(self.precision)
            weights = weights - np.linalg.solve(curvature, gradient)
        return _sigmoid(self.features @ weights)


def _sigmoid(logits: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(logits, -MAX_LOGIT, MAX_LOGIT)))
