"""The whole run's mini-batches, planned before it starts.

Every choice (order, sampled negatives, the exit drawn) is made here from one seed, so a run that was killed and resumed
sees exactly what it would have seen. A group is one question with some of its labelled candidates: losses within a
question (listwise, RLL, distillation) need them together.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from as2core.errors import NotEnoughLabels
from as2core.training.settings import TrainSettings
from as2core.types import Question


@dataclass(frozen=True, slots=True)
class Group:
    """`rows` are positions in the question's candidates, all labelled."""

    question: Question
    rows: tuple[int, ...]

    @property
    def texts(self) -> list[str]:
        return [self.question.candidates[r].text for r in self.rows]

    @property
    def labels(self) -> list[int]:
        return [int(self.question.candidates[r].label or 0) for r in self.rows]


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """`exit_index` is the exit drawn for it, None for all of them."""

    groups: tuple[Group, ...]
    exit_index: int | None


NEEDS = {
    "label": lambda q: q.positives or q.negatives,  # the loss takes candidates one by one
    "positive": lambda q: q.positives,
    "pair": lambda q: q.positives and q.negatives,  # it compares a positive with negatives of its question
}


def plan(questions: Sequence[Question], settings: TrainSettings, *, exits: int, needs: str) -> list[PlannedBatch]:
    """All epochs' batches in order, of the questions that have what the loss `needs`: a key of NEEDS.

    Raises NotEnoughLabels when there is nothing to learn from.
    """
    usable = [q for q in questions if NEEDS[needs](q)]
    if not any(q.positives for q in questions):
        raise NotEnoughLabels("no question has a sentence labelled correct: label some before training")
    if needs != "positive" and not any(q.negatives for q in questions):
        raise NotEnoughLabels("no sentence is labelled incorrect: a ranker cannot learn from one class alone")
    if not usable:
        raise NotEnoughLabels("no question has both a correct and an incorrect sentence: label both for some")
    rng = random.Random(settings.seed)
    batches: list[PlannedBatch] = []
    for _ in range(settings.epochs):
        groups = [_group(q, settings.negatives, rng) for q in usable]
        rng.shuffle(groups)
        epoch = []
        window = settings.batch_questions * 32  # like lengths together inside a window: less padding, still shuffled
        for start in range(0, len(groups), window):
            near = sorted(groups[start : start + window], key=lambda g: max(len(t) for t in g.texts))
            epoch += [
                tuple(near[i : i + settings.batch_questions]) for i in range(0, len(near), settings.batch_questions)
            ]
        rng.shuffle(epoch)
        for g in epoch:
            drawn = rng.randrange(exits) if settings.exit_draw == "uniform" else None
            batches.append(PlannedBatch(g, drawn))
    return batches


def _group(q: Question, negatives: int, rng: random.Random) -> Group:
    positive = [i for i, c in enumerate(q.candidates) if c.label == 1]
    negative = [i for i, c in enumerate(q.candidates) if c.label == 0]
    chosen = rng.sample(positive, min(2, len(positive)))
    chosen += rng.sample(negative, min(len(negative), negatives))
    return Group(q, tuple(sorted(chosen)))
