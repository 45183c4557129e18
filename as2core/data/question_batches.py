"""Questions in batches of limited size: what is ranked, or stored, at a time."""

import math
from collections.abc import Iterable, Iterator

from as2core.types import Question


def split_questions(
    questions: Iterable[Question], max_candidates: int, max_questions: float = math.inf
) -> Iterator[list[Question]]:
    """In their order. A question's candidates stay together, however many they are."""
    batch: list[Question] = []
    for q in questions:
        candidates = sum(len(b.candidates) for b in batch) + len(q.candidates)
        if batch and (len(batch) >= max_questions or candidates > max_candidates):
            yield batch
            batch = []
        batch.append(q)
    if batch:
        yield batch
