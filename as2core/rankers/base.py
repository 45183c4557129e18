"""What a ranker is. Scores become an order in one place, `as2core.metrics.order`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from as2core.metrics import order
from as2core.types import Candidate

__all__ = ["Ranker", "order", "rank", "rank_many", "untrained"]


@runtime_checkable
class Ranker(Protocol):
    """Anything that scores the candidates of one question.

    `score` takes the candidates in their original order (listwise rankers need it) and returns float32 `(n,)`,
    higher is better, one finite number each; an empty list gives an empty array.
    """

    name: str

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray: ...


def untrained(ranker: Ranker) -> tuple[str, ...]:
    """Names of the rankers that nobody has trained, this one or those it is made of: they know no more of answers than
    the network they start from, which may be nothing."""
    if not getattr(ranker, "trained", True):
        return (ranker.name,)
    return tuple(dict.fromkeys(n for part in getattr(ranker, "rankers", ()) for n in untrained(part)))


def rank(ranker: Ranker, question: str, texts: Sequence[str | Candidate], *, top_n: int | None = None) -> list[dict]:
    """Rank texts: `[{corpus_id, score, text}]`, best first (the shape sentence-transformers' `rank` gives)."""
    candidates = _candidates(texts)
    return _ranked(candidates, ranker.score(question, candidates), top_n)


def rank_many(
    ranker: Ranker, asked: Sequence[tuple[str, Sequence[str | Candidate]]], *, top_n: int | None = None
) -> list[list[dict]]:
    """What `rank` gives for each (question, texts), in their order. A ranker that has `score_many`, as the cascade and
    the cross-encoder have, takes the texts of all questions together through its batches."""
    asked = [(question, _candidates(texts)) for question, texts in asked]
    if hasattr(ranker, "score_many"):
        scored = ranker.score_many(asked)
    else:
        scored = [ranker.score(question, candidates) for question, candidates in asked]
    return [_ranked(candidates, scores, top_n) for (_, candidates), scores in zip(asked, scored, strict=True)]


def _candidates(texts: Sequence[str | Candidate]) -> list[Candidate]:
    return [t if isinstance(t, Candidate) else Candidate(str(i), t) for i, t in enumerate(texts)]


def _ranked(candidates: Sequence[Candidate], scores: np.ndarray, top_n: int | None) -> list[dict]:
    return [{"corpus_id": int(i), "score": float(scores[i]), "text": candidates[i].text} for i in order(scores)[:top_n]]
