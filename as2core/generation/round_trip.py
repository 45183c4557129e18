"""Which generated texts are worth a person's look: no copies, no repeats, and the way back is found.

Round trip (Alberti et al., 2019, for question answering; here with a ranker): a question generated from a passage is
kept when a ranker that never saw where it came from puts that passage first, or among the first n, of all passages
beside it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from as2core.metrics import order
from as2core.rankers.base import Ranker
from as2core.types import Candidate


def normal(text: str) -> str:
    """What two texts share that differ in case, marks and blanks alone."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def is_new(text: str, seen: set[str]) -> bool:
    """Whether no text like it was there before; adds it."""
    key = normal(text)
    if not key or key in seen:
        return False
    seen.add(key)
    return True


def place_of(ranker: Ranker, question: str, passages: Sequence[str], source: int) -> int:
    """The rank, from 1, that a ranker gives the passage `source`; its copies among the passages count as itself."""
    scores = np.asarray(ranker.score(question, [Candidate(str(i), p) for i, p in enumerate(passages)]))
    same = normal(passages[source])
    return next(rank for rank, i in enumerate(order(scores), 1) if normal(passages[int(i)]) == same)
