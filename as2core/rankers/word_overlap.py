"""WO and WO+RR (Bonadiman and Moschitti, 2020, section 2.1): how many different words question and candidate share.

WO+RR breaks WO's ties by the original order. So does `as2core.metrics.order`: WO alone is measured on shuffled
candidates (`as2core.data.statistics.in_random_order`), or it is WO+RR.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from as2core.text import words
from as2core.types import Candidate


class WordOverlapRanker:
    """score = number of unique shared words; with `rr`, plus half the reciprocal place, less than a word."""

    def __init__(self, *, rr: bool = False) -> None:
        self.rr, self.name = rr, "wo-rr" if rr else "wo"

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        asked = set(words(question))
        shared = np.array([len(asked & set(words(c.text))) for c in candidates], dtype=np.float32)
        return shared + (0.5 / np.arange(1, len(candidates) + 1, dtype=np.float32) if self.rr else 0)
