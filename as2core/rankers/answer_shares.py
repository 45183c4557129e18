"""One probability shared among the candidates of a question: the conditional logit of McFadden (1974).

A candidate is judged beside the others, because its logit alone says little about the best of many (`python
benchmarks/answer_probability.py`). Where we differ: the probabilities add up to the share of questions that any
candidate answers, not to 1. `as2core.training.calibrate` fits this share and the scale.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from as2core.text import normalise_text


def share_out(
    calibration: tuple[float, float] | None, logits: np.ndarray, texts: Sequence[str] | None = None
) -> np.ndarray | None:
    """The probability of each candidate to be the answer, from an exit's logits, `(n,)` each: share * softmax(scale *
    logits). They add up to `share`; a candidate with -inf has none. With `texts`, candidates of the same text, white
    space and case aside, count once in this sum, as the best of them does, and each is given its own probability: a
    copy of a document takes nothing from the answer. None if not calibrated, or with fewer than two candidates."""
    z = np.asarray(logits, dtype=np.float64)
    groups = np.arange(len(z)) if texts is None else _number_texts(texts)
    if calibration is None or len(np.unique(groups[np.isfinite(z)])) < 2:
        return None
    scale, share = calibration
    z = scale * z
    e = np.exp(z - z.max())
    best = np.zeros(len(z))  # by text
    np.maximum.at(best, groups, e)
    return share * e / best.sum()


def _number_texts(texts: Sequence[str]) -> np.ndarray:
    """`(n,)`: the same number for the same text, white space and case aside."""
    numbers: dict[str, int] = {}
    keys = map(normalise_text, texts)
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)
