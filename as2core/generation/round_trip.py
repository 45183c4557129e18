"""Filters for generated texts: no copies, no repeats, and the round trip has to succeed.

Round trip (Alberti et al., 2019, for question answering; here with a ranker): a question generated from a passage is
accepted when a ranker that does not know its source puts that passage among the first n of all passages.
"""

import re
from collections.abc import Sequence

import numpy as np

from as2core.metrics import order
from as2core.rankers.base import Ranker
from as2core.types import Candidate


def normalise(text: str) -> str:
    """The text without case, punctuation and extra blanks."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def add_if_new(text: str, keys: set[str]) -> bool:
    """Add the normalised text to `keys`; False if it was there before, or is empty."""
    key = normalise(text)
    is_new = bool(key) and key not in keys
    if is_new:
        keys.add(key)
    return is_new


def rank_of_source(ranker: Ranker, question: str, passages: Sequence[str], source: int) -> int:
    """The rank, from 1, that a ranker gives the passage `source`; copies of the passage count as itself."""
    scores = np.asarray(ranker.score(question, [Candidate(str(i), p) for i, p in enumerate(passages)]))
    key = normalise(passages[source])
    return next(rank for rank, i in enumerate(order(scores), 1) if normalise(passages[int(i)]) == key)
