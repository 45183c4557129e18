"""What an index is, and how ranks of several searches become one.

A hit carries a rank and no score: engines' scores cannot be compared, with each other or between questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from as2core.types import Hit, Passage


@runtime_checkable
class Index(Protocol):
    """Passages, searchable by words and by vector. Derived from the documents: it can always be built anew.

    Every call may come from any thread. Another process may write to the same index meanwhile.
    """

    def upsert_docs(self, docs: Sequence[tuple[str, Sequence[Passage]]]) -> None:
        """Replace each document's passages, all of them or none; a passage that did not change keeps its vector."""

    def delete_docs(self, doc_ids: Iterable[str]) -> None:
        """Forget these documents; unknown ids are no error."""

    def lexical(self, question: str, k: int) -> list[Hit]:
        """The `k` best passages by shared words, stop words aside. Any text is allowed; without a word: no hits."""

    def dense(self, vector: np.ndarray, k: int, docs: Sequence[str] | None = None) -> list[Hit]:
        """The `k` passages with the largest inner product, only of `docs` if given. `vector` is float32 `(d,)`."""

    def set_vectors(self, vectors: Mapping[str, np.ndarray]) -> None:
        """Vectors by passage id, float32 `(d,)` each; ids no longer there are skipped."""

    def pending(self, limit: int) -> list[Passage]:
        """Passages that have no vector yet, oldest first."""

    def count(self) -> int:
        """How many passages there are."""

    def vectors(self) -> int:
        """How many of them have a vector."""

    def close(self) -> None:
        """Let go of files and connections."""


def rrf(lists: Iterable[Sequence[Hit]], k: int, c: int = 60) -> list[Hit]:
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009): a passage's score is the sum of 1 / (c + rank).

    Equal sums keep the order in which the passages were first met.
    """
    sums: dict[str, float] = {}
    first: dict[str, Hit] = {}
    for hits in lists:
        for hit in hits:
            sums[hit.passage_id] = sums.get(hit.passage_id, 0.0) + 1.0 / (c + hit.rank)
            first.setdefault(hit.passage_id, hit)
    best = sorted(sums, key=lambda pid: -sums[pid])[:k]
    return [Hit(pid, first[pid].doc_id, rank) for rank, pid in enumerate(best, 1)]


def top_documents(hits: Iterable[Hit], n: int) -> list[str]:
    """The first `n` different documents of a result, best first."""
    return list(dict.fromkeys(hit.doc_id for hit in hits))[:n]
