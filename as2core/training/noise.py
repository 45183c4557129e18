"""Label noise as Garg et al. (2020, section 5.4) inject it: a share of the question-answer pairs, drawn at random, gets
the other label. A model that was transferred first should lose little.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from as2core.data.lazy_questions import map_questions
from as2core.errors import BadSetting
from as2core.types import Question


@dataclass(frozen=True, slots=True)
class FlipCounts:
    """The number of labelled pairs, and how many became correct and incorrect."""

    pairs: int
    to_correct: int
    to_incorrect: int


def flip_labels(questions: Sequence[Question], rate: float, *, seed: int = 0) -> tuple[Sequence[Question], FlipCounts]:
    """The questions with floor(rate * pairs) labels switched, drawn without replacement, and the counts.

    Candidates without a label stay so. Raises BadSetting for a rate outside 0 to 1.
    """
    if not 0 <= rate <= 1:
        raise BadSetting(f"a noise rate of {rate}: give the share of labels to flip, 0 to 1")
    labels, ends = array("b"), array("q", [0])  # of all pairs with a label, and where each question's end
    for q in questions:
        labels.extend(c.label for c in q.candidates if c.label is not None)
        ends.append(len(labels))
    # the epsilon undoes binary fractions: 0.29 * 100 must floor to 29
    flips = np.sort(random.Random(seed).sample(range(len(labels)), int(rate * len(labels) + 1e-9)))
    was_correct = sum(labels[pair] == 1 for pair in flips)

    def flip(i: int, q: Question) -> Question:
        start, end = np.searchsorted(flips, ends[i : i + 2])
        if start == end:
            return q
        rows = [j for j, c in enumerate(q.candidates) if c.label is not None]
        own = {rows[pair - ends[i]] for pair in flips[start:end]}
        candidates = (replace(c, label=int(c.label == 0)) if j in own else c for j, c in enumerate(q.candidates))
        return replace(q, candidates=tuple(candidates))

    return map_questions(questions, flip), FlipCounts(len(labels), len(flips) - was_correct, was_correct)
