"""WO and WO+RR (Bonadiman and Moschitti, 2020, section 2.1): how many different words question and candidate share.

WO+RR breaks WO's ties by the original order, which says much by itself. So does `as2core.metrics.order`, and WO alone
must not: its ties are broken at random, always alike for a question and a text.
"""

import hashlib
from collections.abc import Sequence

import numpy as np

from as2core.rankers.specs import STRUCTURE, Entry
from as2core.text import tokenize
from as2core.types import Candidate


class WordOverlapRanker:
    """score = number of unique shared words, and less than a word more: with `rr` half the reciprocal place, else a
    random number up to a half."""

    def __init__(self, *, rr: bool = False) -> None:
        self.rr, self.name = rr, "wo-rr" if rr else "wo"

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        query = set(tokenize(question))
        shared = np.array([len(query & set(tokenize(c.text))) for c in candidates], dtype=np.float32)
        if self.rr:
            return shared + 0.5 / np.arange(1, len(candidates) + 1, dtype=np.float32)
        return shared + np.array([0.5 * _draw(question, c.text) for c in candidates], dtype=np.float32)


def _draw(question: str, text: str) -> float:
    """A number from 0 to 1."""
    digest = hashlib.blake2b(f"{question}\0{text}".encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest) / 2**32


WO = Entry("wo", "unique shared words, ties at random", STRUCTURE, lambda: WordOverlapRanker())
WO_RR = Entry("wo-rr", "shared words, ties by original order", STRUCTURE, lambda: WordOverlapRanker(rr=True))
