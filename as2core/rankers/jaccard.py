"""Jaccard similarity of the two word sets, the cheapest first ranker of Matsubara et al. (2020), section 4.1.4."""

from collections.abc import Sequence

import numpy as np

from as2core.rankers.specs import RERANK, Entry
from as2core.text import tokenize
from as2core.types import Candidate


class JaccardRanker:
    """score = |q ∩ c| / |q ∪ c|, in [0, 1]."""

    name = "jaccard"

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        q = set(tokenize(question))
        texts = [set(tokenize(c.text)) for c in candidates]
        return np.array([len(q & c) / max(1, len(q | c)) for c in texts], dtype=np.float32)


RANKER = Entry("jaccard", "shared words over all words", RERANK, JaccardRanker)
