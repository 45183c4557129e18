"""What a ranker is. Scores become an order in one place, `as2core.metrics.order`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from as2core.metrics import order
from as2core.types import Candidate

__all__ = ["Ranker", "order", "rank", "untrained"]


@runtime_checkable
class Ranker(Protocol):
    """Anything that scores the candidates of one question.

    `score` takes the candidates in their original order (listwise rankers need it) and returns float32 `(n,)`,
    higher is better, one finite number each; an empty list gives an empty array.
    """

    name: str

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray: ...


def untrained(ranker: Ranker) -> tuple[str, ...]:
    """Names of the rankers that nobody has trained, this one or those it is made of: their order is chance."""
    if not getattr(ranker, "trained", True):
        return (ranker.name,)
    return tuple(dict.fromkeys(n for part in getattr(ranker, "rankers", ()) for n in untrained(part)))


def rank(ranker: Ranker, question: str, texts: Sequence[str | Candidate], *, top_n: int | None = None) -> list[dict]:
    """Rank texts: `[{corpus_id, score, text}]`, best first (the shape sentence-transformers' `rank` gives)."""
    candidates = [t if isinstance(t, Candidate) else Candidate(str(i), t) for i, t in enumerate(texts)]
    scores = ranker.score(question, candidates)
    return [{"corpus_id": int(i), "score": float(scores[i]), "text": candidates[i].text} for i in order(scores)[:top_n]]
