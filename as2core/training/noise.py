"""Label noise as Garg et al. (2020, section 5.4) inject it: a share of the question-answer pairs, drawn at random, gets
the other label. A model that was transferred first should lose little.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from as2core.errors import BadSetting
from as2core.types import Question


@dataclass(frozen=True, slots=True)
class FlipCounts:
    """The number of labelled pairs, and how many became correct and incorrect."""

    pairs: int
    to_correct: int
    to_incorrect: int


def flip_labels(questions: Sequence[Question], rate: float, *, seed: int = 0) -> tuple[list[Question], FlipCounts]:
    """The questions with floor(rate * pairs) labels switched, drawn without replacement, and the counts.

    Candidates without a label stay so. Raises BadSetting for a rate outside 0 to 1.
    """
    if not 0 <= rate <= 1:
        raise BadSetting(f"a noise rate of {rate}: give the share of labels to flip, 0 to 1")
    places = [(i, j) for i, q in enumerate(questions) for j, c in enumerate(q.candidates) if c.label is not None]
    # the epsilon undoes binary fractions: 0.29 * 100 must floor to 29
    flips = set(random.Random(seed).sample(places, int(rate * len(places) + 1e-9)))
    was_correct = sum(questions[i].candidates[j].label == 1 for i, j in flips)
    candidates = [list(q.candidates) for q in questions]
    for i, j in flips:
        c = candidates[i][j]
        candidates[i][j] = replace(c, label=int(c.label == 0))
    noisy = [replace(q, candidates=tuple(cs)) for q, cs in zip(questions, candidates, strict=True)]
    return noisy, FlipCounts(len(places), len(flips) - was_correct, was_correct)
