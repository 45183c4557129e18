"""The mean over questions like these, of which these are a sample: for one look, decided beforehand.

The mean over these is estimated from draws (`draws`), which are prediction-powered and active (Angelopoulos et al.,
"Prediction-powered inference", Science 2023; Zrnic and Candès, "Active statistical inference", ICML 2024; for retrieval
Oosterhuis et al., 2024). For other questions two errors add up. One is the draws': the weighted squares of what each
draw corrected the predictions by, which are its variance, or more where the predictions are off on average. The other
is the sample's: the variance between questions over their number, where a value that is not known counts as its
prediction and how far that may be off.

Where we differ: there the labelled questions are drawn independently from one pool. Here a question leaves the pool
once it is known, and may be drawn several times before, so each draw has its own pool and predictions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from as2core.errors import BadSetting

MIN_QUESTIONS = 2


@dataclass(frozen=True, slots=True)
class PoweredMean:
    mean: float
    low: float
    high: float


def estimate_powered_mean(
    mean: float,
    corrections: np.ndarray,
    weights: np.ndarray,
    predictions: np.ndarray,
    deviations: np.ndarray,
    *,
    level: float = 0.95,
) -> PoweredMean:
    """`mean`: over these questions, as estimated. `corrections`: by each draw, (value - prediction) / (probability *
    questions), and `weights` of the draws, `(draws,)`. `predictions` of the questions, and `deviations` around them, 0
    of what is known, `(questions,)`. Raises BadSetting for fewer than two questions."""
    from scipy.stats import norm

    if len(predictions) < MIN_QUESTIONS:
        raise BadSetting(f"{len(predictions)} questions: two at least tell how much questions differ")
    of_draws = float(np.square(weights) @ np.square(corrections))
    of_sample = float(np.var(predictions) + np.square(deviations).mean()) / (len(predictions) - 1)
    margin = float(norm.ppf((1 + level) / 2)) * (of_draws + of_sample) ** 0.5
    return PoweredMean(mean, mean - margin, mean + margin)
