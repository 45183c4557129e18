"""The first stage, before the encoder: of all sentences of the retrieved documents, the best by three fused orders.

These are the order of retrieval, the passages' vectors (stored in the index) and BM25 over the sentences. Each misses
answers that another has; `python benchmarks/first_stage.py` measures how many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.ranking.retrieval import RetrievedSentence
from as2core.metrics import to_ranks
from as2core.rankers.bm25 import BM25Ranker
from as2core.rankers.first_stage import FirstStage
from as2core.retrieval.ranks import RRF_CONSTANT
from as2core.types import Candidate


@dataclass(frozen=True, slots=True)
class FirstStageRanker:
    """Ranks the sentences it was made with, in their order, by reciprocal rank fusion."""

    sentences: Sequence[RetrievedSentence]
    name: str = "first stage"

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        words = to_ranks(BM25Ranker().score(question, candidates))
        rankings = [words, np.array([s.retrieval_rank for s in self.sentences])]
        if any(s.vector_rank is not None for s in self.sentences):
            last = 1 + max(s.vector_rank or 0 for s in self.sentences)
            rankings.append(np.array([s.vector_rank or last for s in self.sentences]))
        return np.sum([1.0 / (RRF_CONSTANT + r) for r in rankings], axis=0).astype(np.float32)


def make_first_stage(sentences: Sequence[RetrievedSentence], keep: int) -> FirstStage:
    """The stage that leaves `keep` of them; it does not run if there are no more than that. Raises BadSetting."""
    return FirstStage(FirstStageRanker(sentences), keep)
