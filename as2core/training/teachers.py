"""Teachers: whose scores a ranker learns to give (distillation; Hinton et al., 2015).

Where several rankers rank better together than each alone, one can learn that, at the cost of one (their section 3).
The student itself may be among them (Furlanello et al., 2018, "Born-Again Neural Networks").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from as2core.rankers.base import Ranker
from as2core.rankers.fusion import standardise
from as2core.training.learners import Teacher
from as2core.types import Candidate, Question


def ranker_teacher(ranker: Ranker) -> Teacher:
    """Its scores of texts as they are read, with their titles."""

    def teach(question: str, texts: list[str]) -> np.ndarray:
        return ranker.score(question, [Candidate(str(i), t) for i, t in enumerate(texts)])

    return teach


def mean_teacher(teachers: Sequence[Teacher], weights: Sequence[float] | None = None) -> Teacher:
    """The mean of several teachers' scores, each standardised within the question; `weights` one each."""

    def teach(question: str, texts: list[str]) -> np.ndarray:
        scores = np.stack([standardise(t(question, texts)) for t in teachers])
        return np.average(scores, axis=0, weights=weights).astype(np.float32)

    return teach


def original_teacher(teacher: Teacher, originals: Mapping[str, str]) -> Teacher:
    """A teacher that reads the original of a question or a text that was changed for the student."""

    def teach(question: str, texts: list[str]) -> np.ndarray:
        return teacher(originals.get(question, question), [originals.get(t, t) for t in texts])

    return teach


def correct_teacher(teacher: Teacher, questions: Sequence[Question]) -> Teacher:
    """On these questions, whose labels are complete, swap the scores of the best correct candidate and of a teacher's
    first where that is incorrect."""
    correct: dict[str, set[str]] = {}
    for q in questions:
        correct.setdefault(q.text, set()).update(c.titled_text for c in q.candidates if c.label == 1)

    def teach(question: str, texts: list[str]) -> np.ndarray:
        scores = np.array(teacher(question, texts))
        right = [i for i, t in enumerate(texts) if t in correct.get(question, ())]
        first = int(scores.argmax())
        if right and first not in right:
            best = max(right, key=lambda i: scores[i])
            scores[[first, best]] = scores[[best, first]]
        return scores

    return teach
