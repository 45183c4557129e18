"""The whole run's mini-batches, planned before it starts.

Every choice (order, sampled negatives, the exit drawn) is made here from one seed, so a run that was killed and resumed
sees exactly what it would have seen. A group is one question with some of its labelled candidates: losses within a
question (listwise, RLL, distillation) need them together.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from as2core.data.asnq import apply_asnq_negatives
from as2core.errors import BadSetting, NotEnoughLabels
from as2core.training.settings import TrainSettings
from as2core.types import Candidate, Question


@dataclass(frozen=True, slots=True)
class Group:
    """`rows` are positions in the question's candidates, all labelled."""

    question: Question
    rows: tuple[int, ...]

    @property
    def candidates(self) -> list[Candidate]:
        return [self.question.candidates[r] for r in self.rows]

    @property
    def readings(self) -> list[str]:
        return [c.reading for c in self.candidates]

    @property
    def labels(self) -> list[int]:
        return [int(c.label or 0) for c in self.candidates]


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """`exit_index` is the exit drawn for it, None for all of them."""

    groups: tuple[Group, ...]
    exit_index: int | None

    def share(self, process: int, processes: int) -> PlannedBatch:
        """What one of several processes does of it; together they do the whole batch, so none may be empty-handed:
        with fewer questions than processes, the last ones get an empty tuple."""
        return replace(self, groups=self.groups[process::processes])


NEEDS = {
    "label": lambda q: q.positives or q.negatives,  # the loss takes candidates one by one
    "positive": lambda q: q.positives,
    "pair": lambda q: q.positives and q.negatives,  # it compares a positive with negatives of its question
}


def plan(
    questions: Sequence[Question],
    settings: TrainSettings,
    *,
    exits: int,
    needs: str,
    tokens: Callable[[Group], int] | None = None,
) -> list[PlannedBatch]:
    """All epochs' batches in order, of the questions that have what the loss `needs`: a key of NEEDS. `tokens` says how
    many a group has, for batches by `max_tokens`.

    Raises NotEnoughLabels when there is nothing to learn from, BadSetting for a token budget nobody can count and for
    `negatives_from` where labels are not ASNQ's.
    """
    if settings.max_tokens and tokens is None:
        raise BadSetting("this ranker's tokens cannot be counted beforehand: set batch_questions, not max_tokens")
    kept = apply_asnq_negatives(questions, settings.negatives_from) if settings.negatives_from else questions
    usable = [q for q in kept if NEEDS[needs](q)]
    if not any(q.positives for q in kept):
        raise NotEnoughLabels("no question has a sentence labelled correct: label some before training")
    if needs != "positive" and not any(q.negatives for q in kept):
        raise NotEnoughLabels("no sentence is labelled incorrect: a ranker cannot learn from one class alone")
    if not usable:
        raise NotEnoughLabels("no question has both a correct and an incorrect sentence: label both for some")
    rng = random.Random(settings.seed)
    batches: list[tuple[Group, ...]] = []
    for _ in range(settings.epochs):
        groups = [_group(q, settings, rng) for q in usable]
        rng.shuffle(groups)
        epoch = []
        window = settings.batch_questions * 32  # like lengths together inside a window: less padding, still shuffled
        for start in range(0, len(groups), window):
            near = sorted(groups[start : start + window], key=lambda g: max(len(t) for t in g.readings))
            epoch += _cut(near, settings, tokens)
        rng.shuffle(epoch)
        batches += epoch
    return [PlannedBatch(g, _drawn(i, len(batches), exits, settings, rng)) for i, g in enumerate(batches)]


def _group(q: Question, settings: TrainSettings, rng: random.Random) -> Group:
    positive = [i for i, c in enumerate(q.candidates) if c.label == 1]
    negative = [i for i, c in enumerate(q.candidates) if c.label == 0]
    chosen = rng.sample(positive, min(len(positive), settings.positives))
    chosen += rng.sample(negative, min(len(negative), settings.negatives))
    return Group(q, tuple(sorted(chosen)))


def _cut(
    groups: list[Group], settings: TrainSettings, tokens: Callable[[Group], int] | None
) -> list[tuple[Group, ...]]:
    """Neighbours together: so many questions, or as many as the budget holds. A question over it stands alone."""
    if not settings.max_tokens or tokens is None:
        size = settings.batch_questions
        return [tuple(groups[i : i + size]) for i in range(0, len(groups), size)]
    batches: list[list[Group]] = []
    left = 0
    for group in groups:
        cost = tokens(group)
        if not batches or cost > left:
            batches.append([])
            left = settings.max_tokens
        batches[-1].append(group)
        left -= cost
    return [tuple(b) for b in batches]


def _drawn(step: int, steps: int, exits: int, settings: TrainSettings, rng: random.Random) -> int | None:
    """The exit that this mini-batch trains, None for all."""
    if settings.exit_draw == "all":
        return None
    if settings.exit_draw == "round-robin":
        return step % exits
    bias = settings.early_bias * max(0.0, 1 - 2 * step / steps) if settings.exit_draw == "early" else 0.0
    return rng.choices(range(exits), weights=[math.exp(-bias * i) for i in range(exits)])[0]
