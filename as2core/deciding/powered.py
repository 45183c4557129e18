"""Prediction-powered intervals of a mean: few labelled questions, predictions for all (Angelopoulos, Bates, Fannjiang,
Jordan and Zrnic, "Prediction-powered inference", Science 2023; for retrieval Oosterhuis et al., 2024).

The mean of the predictions is corrected by their mean error on the labelled ones. The interval is valid whatever the
predictions are worth, and shorter than that of the labelled alone if they are good. The predictions must not come from
a model that was trained on these labels.

Unlike `betting`, it is for one look, decided beforehand. It is about questions like these, of which these are a sample;
`betting` is about these.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from as2core.errors import BadSetting

MIN_LABELS = 2


@dataclass(frozen=True, slots=True)
class PoweredMean:
    mean: float
    low: float
    high: float


def estimate_powered_mean(
    values: np.ndarray,
    predictions: np.ndarray,
    others: np.ndarray,
    *,
    level: float = 0.95,
    weights: np.ndarray | None = None,
    power: float | None = 1.0,
) -> PoweredMean:
    """`values` and `predictions` of the labelled `(n,)`, `others`: predictions where there is no label `(N,)`.

    `weights`: of the labelled, for those drawn with unequal probabilities (1 over probability times the pool). `power`:
    by how much the predictions count, 1 as in the paper, 0 not at all; None chooses it so that the interval is shortest
    (Angelopoulos, Duchi and Zrnic, "PPI++", 2023). Raises BadSetting for fewer than two labelled, or no others.
    """
    from scipy.stats import norm

    values, predictions, others = (np.asarray(x, dtype=np.float64) for x in (values, predictions, others))
    n, count = len(values), len(others)
    if n < MIN_LABELS or not count:
        raise BadSetting(f"{n} labelled and {count} other questions: a powered mean needs two and one at least")
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    if power is None:
        spread = float(np.concatenate([predictions, others]).var(ddof=1))
        power = float(np.cov(values, predictions)[0, 1] / ((1 + n / count) * spread)) if spread > 0 else 0.0
    errors = w * (values - power * predictions)
    mean = power * float(others.mean()) + float(errors.mean())
    variance = float(errors.var(ddof=1)) / n + power**2 * (float(others.var(ddof=1)) if count > 1 else 0.0) / count
    margin = float(norm.ppf((1 + level) / 2)) * variance**0.5
    return PoweredMean(mean, mean - margin, mean + margin)
