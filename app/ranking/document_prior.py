"""What the search says about a sentence before a ranker reads it: its document's rank.

A ranker that reads one sentence at a time does not see whether the rest of the document is about the question. The
prior odds of a sentence are divided by the square root of its document's rank. `python benchmarks/document_prior.py`
measures what that brings; the reasons are in docs/decisions/0103-a-document-found-first-has-better-odds.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.ranking.retrieval import RetrievedSentence

WEIGHT = 0.5  # of the logarithm of the rank


def weigh_documents(sentences: Sequence[RetrievedSentence], weight: float = WEIGHT) -> np.ndarray:
    """The logarithm of each sentence's prior odds, float32 `(n,)`: 0 in the document that the search found first."""
    ranks = np.array([s.document_rank for s in sentences], dtype=np.float32)
    return -weight * np.log(ranks.clip(1))
