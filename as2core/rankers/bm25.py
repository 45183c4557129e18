"""BM25 (Robertson et al., 1994) over the candidates of one question, which are its whole collection.

idf = log(1 + (N - n + 0.5) / (n + 0.5)), Lucene's form, never negative. No stemming, no stop list.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from as2core.errors import BadSetting
from as2core.rankers.specs import Entry
from as2core.text import tokenize
from as2core.types import Candidate


class BM25Ranker:
    """`k1` bounds what a repeated word adds, `b` how much a long sentence is held against it. Raises BadSetting."""

    name = "bm25"

    def __init__(self, *, k1: float = 1.2, b: float = 0.75) -> None:
        if not (0 <= k1 < np.inf and 0 <= b <= 1):
            raise BadSetting(f"k1={k1:g}, b={b:g}: k1 is 0 or more (1.2, say), b between 0 and 1 (0.75, say)")
        self.k1, self.b = k1, b

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        counts = [Counter(tokenize(c.text)) for c in candidates]
        sizes = np.array([c.total() for c in counts], dtype=np.float64)
        out = np.zeros(len(candidates))
        if not len(candidates):
            return out.astype(np.float32)
        norm = self.k1 * (1 - self.b + self.b * sizes / max(1e-9, sizes.mean()))
        for word in set(tokenize(question)):
            tf = np.array([c[word] for c in counts], dtype=np.float64)
            n = np.count_nonzero(tf)
            gain = np.log1p((len(candidates) - n + 0.5) / (n + 0.5)) * tf * (self.k1 + 1)
            out += np.divide(gain, tf + norm, out=np.zeros_like(tf), where=tf > 0)
        return out.astype(np.float32)


RANKER = Entry("bm25", "term weighting over the candidates", "Robertson et al. 1994", BM25Ranker)
