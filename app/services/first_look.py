"""The cheap stage in front of the encoder, from what the search knows already: of all sentences of the documents found,
the best by three orders fused. The order of retrieval, the passages' vectors (kept in the index) and BM25 over the
sentences each miss answers that another has; `python benchmarks/first_look.py` tells how many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.services.retrieval import Found
from as2core.cascade.first import First
from as2core.rankers.base import order
from as2core.rankers.bm25 import BM25Ranker
from as2core.types import Candidate

SMOOTH = 60  # Cormack, Clarke and Büttcher's constant, as in `as2core.retrieval.base.rrf`


@dataclass(frozen=True, slots=True)
class FirstLook:
    """Ranks the sentences it was made with, in their order, by reciprocal rank fusion."""

    found: Sequence[Found]
    name: str = "first look"

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        words = 1 + np.argsort(order(BM25Ranker().score(question, candidates)))
        places = [words, np.array([f.retrieval_rank for f in self.found])]
        if any(f.near is not None for f in self.found):
            last = 1 + max(f.near or 0 for f in self.found)
            places.append(np.array([f.near or last for f in self.found]))
        return sum(1.0 / (SMOOTH + p) for p in places).astype(np.float32)


def first_look(found: Sequence[Found], keep: int) -> First:
    """The stage that leaves `keep` of them; if there are no more than that, it is not asked. Raises BadSetting."""
    return First(FirstLook(found), keep)
