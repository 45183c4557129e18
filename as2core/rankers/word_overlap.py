"""WO and WO+RR (Bonadiman and Moschitti, 2020, section 2.1): how many different words question and candidate share.

WO+RR breaks WO's ties by the original order. So does `as2core.metrics.order`: WO alone is measured on shuffled
candidates (`as2core.data.statistics.shuffle_candidates`), or it is WO+RR.
"""

from collections.abc import Sequence

import numpy as np

from as2core.rankers.specs import STRUCTURE, Entry
from as2core.text import tokenize
from as2core.types import Candidate


class WordOverlapRanker:
    """score = number of unique shared words; with `rr`, plus half the reciprocal place, less than a word."""

    def __init__(self, *, rr: bool = False) -> None:
        self.rr, self.name = rr, "wo-rr" if rr else "wo"

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        query = set(tokenize(question))
        shared = np.array([len(query & set(tokenize(c.text))) for c in candidates], dtype=np.float32)
        return shared + (0.5 / np.arange(1, len(candidates) + 1, dtype=np.float32) if self.rr else 0)


WO = Entry("wo", "unique shared words", STRUCTURE, lambda: WordOverlapRanker())
WO_RR = Entry("wo-rr", "shared words, ties by original order", STRUCTURE, lambda: WordOverlapRanker(rr=True))
