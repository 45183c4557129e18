"""Jaccard similarity of the two word sets, the cheapest first ranker of Matsubara et al. (2020), section 4.1.4."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from as2core.text import words
from as2core.types import Candidate


class JaccardRanker:
    """score = |q ∩ c| / |q ∪ c|, in [0, 1]."""

    name = "jaccard"

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        asked = set(words(question))
        out = np.zeros(len(candidates), dtype=np.float32)
        for i, c in enumerate(candidates):
            said = set(words(c.text))
            out[i] = len(asked & said) / max(1, len(asked | said))
        return out
