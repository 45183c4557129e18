"""Learning a fusion's weights from labelled questions.

`logistic`: logistic regression on the candidates' standardised scores, each question weighing the same and correct and
incorrect candidates half of it each, with a small L2 penalty; convex, so the answer is one and needs no seed. `search`:
coordinate search on AP itself, from the logistic weights (or equal ones, for reciprocal ranks): each weight in turn is
tried at a few factors until none is better, so it never ends below where it began.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from as2core.errors import BadSetting, NotEnoughLabels
from as2core.metrics import measure_mean
from as2core.rankers.fusion import FusionRanker
from as2core.types import OnProgress, Progress, Question

METHODS = ("logistic", "search")
SEARCH_FACTORS = (0.0, 0.25, 0.5, 0.8, 1.25, 2.0, 4.0)


def fit_fusion(
    ranker: FusionRanker,
    questions: Sequence[Question],
    *,
    how: str = "logistic",
    l2: float = 1e-3,
    on_progress: OnProgress | None = None,
) -> FusionRanker:
    """The fusion with learned weights; `ranker` is left alone. Its rankers score every question once.

    Raises BadSetting for an unknown way, or logistic weights for reciprocal ranks; NotEnoughLabels when no question has
    both a correct and an incorrect candidate.
    """
    if how not in METHODS:
        raise BadSetting(f"no way {how!r} to learn weights; known: {', '.join(METHODS)}")
    if how == "logistic" and ranker.method != "zscore":
        raise BadSetting(f"logistic weights are for method=zscore, not {ranker.method}: take search, or zscore")
    usable = [q for q in questions if q.has_both_labels]
    if not usable:
        raise NotEnoughLabels("no question has both a correct and an incorrect sentence: label both for some")
    opinions = []
    for done, q in enumerate(usable):
        if on_progress:
            on_progress(Progress(done, len(usable), "scoring"))
        opinions.append(ranker.opinions(q.text, q.candidates))
    weights = np.ones(len(ranker.rankers))
    if ranker.method == "zscore":
        weights = _fit_logistic(opinions, usable, l2)
    if how == "search":
        weights = _search_weights(weights, opinions, usable)
    return FusionRanker(
        ranker.rankers, method=ranker.method, k=ranker.k, weights=weights.tolist(), specs=ranker.specs, name=ranker.name
    )


def _fit_logistic(opinions: Sequence[np.ndarray], questions: Sequence[Question], l2: float) -> np.ndarray:
    """Weights of the regression, without its intercept, which has no effect on the order. float64 `(rankers,)`."""
    from scipy.optimize import minimize
    from scipy.special import expit

    rows, labels, counts = [], [], []
    for x, q in zip(opinions, questions, strict=True):
        y = np.array([c.label for c in q.candidates], dtype=object)
        has_label = np.array([v is not None for v in y])
        y = y[has_label].astype(np.float64)
        rows.append(x[has_label])
        labels.append(y)
        counts.append(np.where(y == 1, 0.5 / y.sum(), 0.5 / (1 - y).sum()))
    x, y, w = np.concatenate(rows), np.concatenate(labels), np.concatenate(counts) / len(questions)
    x = np.hstack([x, np.ones((len(x), 1))])  # (candidates, rankers + 1)

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        z = x @ theta
        value = w @ (np.logaddexp(0, z) - y * z) + l2 / 2 * theta[:-1] @ theta[:-1]
        slope = x.T @ (w * (expit(z) - y))
        slope[:-1] += l2 * theta[:-1]
        return float(value), slope

    return minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B").x[:-1]


def _search_weights(weights: np.ndarray, opinions: Sequence[np.ndarray], questions: Sequence[Question]) -> np.ndarray:
    """Weights at which no single one, multiplied, gives a better AP on these questions."""

    def ap(w: np.ndarray) -> float:
        scores = {q.qid: x @ w for q, x in zip(questions, opinions, strict=True)}
        return measure_mean(questions, scores, ("AP",))["AP"]

    best, better = ap(weights), True
    while better:
        better = False
        for i in range(len(weights)):
            for factor in SEARCH_FACTORS:
                candidate = weights.copy()
                candidate[i] *= factor
                if (value := ap(candidate)) > best + 1e-9:
                    weights, best, better = candidate, value, True
    return weights
