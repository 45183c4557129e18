"""The whole run's mini-batches, planned before it starts.

Every choice (order, sampled negatives, the exit) is made here from one seed, so a resumed run sees exactly the batches
of an uninterrupted one. A group is one question with some of its labelled candidates: losses within a question
(listwise, RLL, distillation) need them together.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from as2core.data.asnq import apply_asnq_negatives
from as2core.errors import NotEnoughLabels
from as2core.training.settings import TrainSettings
from as2core.types import Candidate, Question


@dataclass(frozen=True, slots=True)
class Group:
    """`rows` are positions in the question's candidates: labelled ones, and those that a run's `unlabelled` adds."""

    question: Question
    rows: tuple[int, ...]

    @property
    def candidates(self) -> list[Candidate]:
        return [self.question.candidates[r] for r in self.rows]

    @property
    def readings(self) -> list[str]:
        return [c.titled_text for c in self.candidates]

    @property
    def labels(self) -> list[int]:
        return [int(c.label or 0) for c in self.candidates]

    @property
    def has_label(self) -> list[bool]:
        return [c.label is not None for c in self.candidates]


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """`exit_index` is the exit that it trains, None for all of them. The lists have one entry a candidate. `anchors`:
    groups whose labels do not count (as2core.training.anchors)."""

    groups: tuple[Group, ...]
    exit_index: int | None
    anchors: tuple[Group, ...] = ()

    @property
    def questions(self) -> list[str]:
        return [g.question.text for g in self.groups for _ in g.rows]

    @property
    def texts(self) -> list[str]:
        return [c.text for g in self.groups for c in g.candidates]

    @property
    def readings(self) -> list[str]:
        return [t for g in self.groups for t in g.readings]

    def without_negatives(self) -> PlannedBatch:
        groups = (replace(g, rows=tuple(r for r, y in zip(g.rows, g.labels, strict=True) if y)) for g in self.groups)
        return replace(self, groups=tuple(groups))

    def share(self, process: int, processes: int) -> PlannedBatch:
        """The part of one of several processes. With fewer questions than processes the last ones have no groups."""
        with_anchors = min(processes, len(self.groups))  # a process without groups has no weight
        anchors = self.anchors[process::with_anchors] if process < with_anchors else ()
        return replace(self, groups=self.groups[process::processes], anchors=anchors)


NEEDS = {
    "label": lambda q: q.positives or q.negatives,  # the loss takes candidates one by one
    "positive": lambda q: q.positives,
    "pair": lambda q: q.positives and q.negatives,  # it compares a positive with negatives of its question
}


def plan_batches(
    questions: Sequence[Question],
    settings: TrainSettings,
    *,
    exits: int,
    needs: str,
    count_tokens: Callable[[Group], int] | None = None,
) -> list[PlannedBatch]:
    """All epochs' batches in order, of the questions that have what the loss `needs`: a key of NEEDS. `count_tokens` is
    called for batches by `max_tokens`.

    Raises NotEnoughLabels when there is nothing to learn from, BadSetting for `negatives_from` where the labels are not
    ASNQ's, and what `count_tokens` raises.
    """
    with_grades = apply_asnq_negatives(questions, settings.negatives_from) if settings.negatives_from else questions
    usable = [q for q in with_grades if NEEDS[needs](q)]
    if not any(q.positives for q in with_grades):
        raise NotEnoughLabels("no question has a sentence labelled correct: label some before training")
    if needs != "positive" and not any(q.negatives for q in with_grades):
        raise NotEnoughLabels("no sentence is labelled incorrect: a ranker cannot learn from one class alone")
    if not usable:
        raise NotEnoughLabels("no question has both a correct and an incorrect sentence: label both for some")
    rng = random.Random(settings.seed)
    batches: list[tuple[Group, ...]] = []
    for _ in range(settings.epochs):
        groups = [_sample_group(q, settings, rng) for q in usable]
        if settings.by_pairs:
            groups = [Group(g.question, (row,)) for g in groups for row in g.rows if _is_useful(g, row, needs)]
        rng.shuffle(groups)
        epoch: list[tuple[Group, ...]] = []
        window = settings.batch_questions * 32  # sorted by length inside a window: less padding, still shuffled
        for start in range(0, len(groups), window):
            similar = sorted(groups[start : start + window], key=lambda g: max(len(t) for t in g.readings))
            epoch += _split_groups(similar, settings, count_tokens)
        rng.shuffle(epoch)
        batches += epoch
    return [PlannedBatch(g, _draw_exit(i, len(batches), exits, settings, rng)) for i, g in enumerate(batches)]


def _is_useful(group: Group, row: int, needs: str) -> bool:
    return needs != "positive" or group.question.candidates[row].label == 1


def _sample_group(q: Question, settings: TrainSettings, rng: random.Random) -> Group:
    rows: list[int] = []
    for label, most in ((1, settings.positives), (0, settings.negatives)):
        indices = [i for i, c in enumerate(q.candidates) if c.label == label]
        rows += rng.sample(indices, min(len(indices), most))
    if settings.unlabelled:
        indices = [i for i, c in enumerate(q.candidates) if c.label is None]
        rows += rng.sample(indices, min(len(indices), settings.unlabelled))
    if settings.title_dropout:
        q = replace(q, candidates=tuple(_drop_title(c, settings.title_dropout, rng) for c in q.candidates))
    return Group(q, tuple(sorted(rows)))


def _drop_title(candidate: Candidate, share: float, rng: random.Random) -> Candidate:
    return replace(candidate, title="") if candidate.title and rng.random() < share else candidate


def _split_groups(
    groups: list[Group], settings: TrainSettings, count_tokens: Callable[[Group], int] | None
) -> list[tuple[Group, ...]]:
    """Neighbours together: `batch_questions` of them, or as many as fit into `max_tokens`. A question over the budget
    is a batch of its own."""
    budget, cost_of = settings.batch_questions, (lambda _: 1)
    if settings.max_tokens and count_tokens:
        budget, cost_of = settings.max_tokens, count_tokens
    batches: list[list[Group]] = []
    remaining = 0
    for group in groups:
        cost = cost_of(group)
        if not batches or cost > remaining:
            batches.append([])
            remaining = budget
        batches[-1].append(group)
        remaining -= cost
    return [tuple(b) for b in batches]


def _draw_exit(step: int, steps: int, exits: int, settings: TrainSettings, rng: random.Random) -> int | None:
    """The exit that this mini-batch trains, None for all."""
    if settings.exit_draw == "all":
        return None
    if settings.exit_draw == "round-robin":
        return step % exits
    bias = settings.early_bias * max(0.0, 1 - 2 * step / steps) if settings.exit_draw == "early" else 0.0
    return rng.choices(range(exits), weights=[math.exp(-bias * i) for i in range(exits)])[0]
