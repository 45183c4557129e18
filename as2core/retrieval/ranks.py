"""How the ranks of several searches become one.

A hit carries a rank and no score: engines' scores cannot be compared, with each other or between questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from as2core.types import Hit

RRF_CONSTANT = 60  # Cormack, Clarke and Büttcher's


def fuse_ranks(lists: Iterable[Sequence[Hit]], k: int, c: int = RRF_CONSTANT) -> list[Hit]:
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009): a passage's score is the sum of 1 / (c + rank).

    Equal sums keep the order in which the passages first appear.
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
