"""RR, the original order as a ranker (Bonadiman and Moschitti, 2020, section 2.1.2): the earlier, the better."""

from collections.abc import Sequence

import numpy as np

from as2core.rankers.specs import STRUCTURE, Entry
from as2core.types import Candidate


class ReciprocalRankRanker:
    """score = 1 / place, the first candidate at place 1."""

    name = "rr"

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        return (1.0 / np.arange(1, len(candidates) + 1)).astype(np.float32)


RANKER = Entry("rr", "no reranking: the order in the data", STRUCTURE, ReciprocalRankRanker)
