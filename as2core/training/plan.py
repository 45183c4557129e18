"""The whole run's mini-batches, planned before it starts.

Every choice (order, sampled negatives, the exit) is made here from one seed, so a resumed run sees exactly the batches
of an uninterrupted one. The plan is numbers, and a batch is made of them when it is trained on, so that the questions
can stay in their file (as2core.data.question_file). It holds one epoch, in sixteen bytes a group at most and four a
candidate. Each epoch is planned twice, to count its batches and to train on them, from the same random state.
"""

from __future__ import annotations

import copy
import math
import random
from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Self, overload

import numpy as np

from as2core.data.asnq import apply_asnq_negatives
from as2core.errors import NotEnoughLabels
from as2core.training.batches import Group, PlannedBatch
from as2core.training.candidate_table import UNLABELLED, CandidateTable
from as2core.training.settings import TrainSettings
from as2core.types import Question

UNTITLED = 1 << 31  # added to a row that is read without its title
WINDOW_BATCHES = 32  # sorted by length inside a window: less padding, still shuffled
NEEDS: dict[str, Callable[[CandidateTable], np.ndarray]] = {
    "label": lambda t: (t.positives > 0) | (t.negatives > 0),  # the loss takes candidates one by one
    "positive": lambda t: t.positives > 0,
    "pair": lambda t: (t.positives > 0) & (t.negatives > 0),  # it compares a positive with negatives of its question
}
CountTokens = Callable[[Group], int]


def plan_batches(
    questions: Sequence[Question],
    settings: TrainSettings,
    *,
    exits: int,
    needs: str,
    count_tokens: CountTokens | None = None,
) -> BatchPlan:
    """All epochs' batches in order, of the questions that have what the loss `needs`: a key of NEEDS. `count_tokens` is
    called for batches by `max_tokens`.

    Raises NotEnoughLabels when there is nothing to learn from, BadSetting for `negatives_from` where the labels are not
    ASNQ's, and what `count_tokens` raises.
    """
    with_grades = apply_asnq_negatives(questions, settings.negatives_from) if settings.negatives_from else questions
    table = CandidateTable.read(with_grades)
    if not table.positives.any():
        raise NotEnoughLabels("no question has a sentence labelled correct: label some before training")
    if needs != "positive" and not table.negatives.any():
        raise NotEnoughLabels("no sentence is labelled incorrect: a ranker cannot learn from one class alone")
    if not NEEDS[needs](table).any():
        raise NotEnoughLabels("no question has both a correct and an incorrect sentence: label both for some")
    return BatchPlan(_Planner(with_grades, table, settings, needs, count_tokens), exits)


class BatchPlan(Sequence[PlannedBatch]):
    """The batches, made anew each time one is looked at. It keeps the epoch that was looked at last."""

    def __init__(self, planner: _Planner, exits: int) -> None:
        rng = random.Random(planner.settings.seed)
        self._planner = planner
        self._anchors: Sequence[tuple[Group, ...]] = ()
        self._states: list[Any] = []
        self._sizes: list[array[int]] = []
        for number in range(planner.settings.epochs):
            self._states.append(rng.getstate())
            self._epoch: tuple[int, _Epoch] | None = None  # its memory is free before the next is planned
            self._epoch = number, planner.plan(rng)
            self._sizes.append(self._epoch[1].sizes)
        self._ends = list(accumulate(len(sizes) for sizes in self._sizes))
        self._exits = [_draw_exit(i, len(self), exits, planner.settings, rng) for i in range(len(self))]

    @property
    def question_count(self) -> int:
        """Questions that the loss learns from."""
        return int(NEEDS[self._planner.needs](self._planner.table).sum())

    def with_anchors(self, anchors: Sequence[tuple[Group, ...]]) -> Self:
        """The same plan, each batch with the anchors of its place."""
        plan = copy.copy(self)
        plan._anchors = anchors
        return plan

    def __len__(self) -> int:
        return self._ends[-1]

    @overload
    def __getitem__(self, index: int) -> PlannedBatch: ...
    @overload
    def __getitem__(self, index: slice) -> list[PlannedBatch]: ...
    def __getitem__(self, index: int | slice) -> PlannedBatch | list[PlannedBatch]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        number = bisect_right(self._ends, index)
        place, epoch = index - (self._ends[number - 1] if number else 0), self._plan_epoch(number)
        groups = tuple(self._planner.make_group(epoch.groups, g) for g in epoch.list_groups(place))
        return PlannedBatch(groups, self._exits[index], self._anchors[index] if self._anchors else ())

    def _plan_epoch(self, number: int) -> _Epoch:
        """The epoch as it was planned at first."""
        if self._epoch is None or self._epoch[0] != number:
            rng = random.Random()
            rng.setstate(self._states[number])
            self._epoch = None
            self._epoch = number, self._planner.plan(rng, self._sizes[number])
        return self._epoch[1]


@dataclass(frozen=True, slots=True, eq=False)
class _Groups:
    """Group i is of the question `questions[i]` and has the `rows` up to `row_ends[i]`, each UNTITLED more where it is
    read without its title. Its longest text has `chars[i]` characters."""

    questions: array[int]
    row_ends: array[int]
    rows: array[int]
    chars: array[int]

    @classmethod
    def empty(cls) -> Self:
        return cls(array("i"), array("i"), array("I"), array("i"))

    def add(self, question: int, rows: list[int], chars: int) -> None:
        self.questions.append(question)
        self.rows.extend(rows)
        self.row_ends.append(len(self.rows))
        self.chars.append(chars)

    def list_rows(self, group: int) -> list[int]:
        return self.rows[self.row_ends[group - 1] if group else 0 : self.row_ends[group]].tolist()


@dataclass(frozen=True, slots=True, eq=False)
class _Epoch:
    """The groups in their `order` are divided into batches of `sizes`, which are taken in the order of `batches`."""

    groups: _Groups
    order: np.ndarray
    sizes: array[int]
    batches: array[int]
    ends: np.ndarray  # of the batches in `order`

    def list_groups(self, place: int) -> list[int]:
        """The groups of the batch at a place."""
        batch = self.batches[place]
        groups: list[int] = self.order[self.ends[batch] - self.sizes[batch] : self.ends[batch]].tolist()
        return groups


@dataclass(frozen=True, slots=True, eq=False)
class _Planner:
    """Plans an epoch. `table` is of the questions."""

    questions: Sequence[Question]
    table: CandidateTable
    settings: TrainSettings
    needs: str
    count_tokens: CountTokens | None

    def plan(self, rng: random.Random, sizes: array[int] | None = None) -> _Epoch:
        """`sizes` of the batches, where this epoch was planned before."""
        groups = self._sample_groups(rng)
        shuffled, chars = array("i", range(len(groups.questions))), np.asarray(groups.chars)
        rng.shuffle(shuffled)
        order = np.asarray(shuffled)
        window = self.settings.batch_questions * WINDOW_BATCHES
        own_sizes = array("i")
        for start in range(0, len(order), window):
            similar = order[start : start + window]
            similar[:] = similar[np.argsort(chars[similar], kind="stable")]
            if sizes is None:
                own_sizes.extend(self._split(groups, similar.tolist()))
        sizes = own_sizes if sizes is None else sizes
        batches = array("i", range(len(sizes)))
        rng.shuffle(batches)
        return _Epoch(groups, order, sizes, batches, np.cumsum(sizes))

    def make_group(self, groups: _Groups, group: int) -> Group:
        q, rows = self.questions[groups.questions[group]], groups.list_rows(group)
        bare = {row - UNTITLED for row in rows if row >= UNTITLED}
        if bare:
            own = (replace(c, title="") if i in bare else c for i, c in enumerate(q.candidates))
            q = replace(q, candidates=tuple(own))
        return Group(q, tuple(row % UNTITLED for row in rows))

    def _sample_groups(self, rng: random.Random) -> _Groups:
        """A group for each question, or `by_pairs` for each of its candidates."""
        groups, table = _Groups.empty(), self.table
        for q in np.flatnonzero(NEEDS[self.needs](table)).tolist():
            rows = self._sample_rows(q, rng)
            if self.settings.by_pairs and self.needs == "positive":
                rows = rows[table.labels[table.starts[q] + rows % UNTITLED] == 1]
            chars = table.reading_chars(q, rows % UNTITLED, rows >= UNTITLED)
            if self.settings.by_pairs:
                for row, n in zip(rows.tolist(), chars.tolist(), strict=True):
                    groups.add(q, [row], n)
            else:
                groups.add(q, rows.tolist(), int(chars.max()))
        return groups

    def _sample_rows(self, question: int, rng: random.Random) -> np.ndarray:
        """Positions in the question's candidates, ascending, with UNTITLED added where the title is left out."""
        settings, rows = self.settings, list[int]()
        for label, most in ((1, settings.positives), (0, settings.negatives), (UNLABELLED, settings.unlabelled)):
            indices = self.table.list_rows(question, label) if most else []
            rows += rng.sample(indices, min(len(indices), most))
        own = np.sort(np.array(rows, dtype=np.int64))
        if settings.title_dropout:
            titles = self.table.title_chars[self.table.starts[question] : self.table.starts[question + 1]]
            is_dropped = np.array([n > 0 and rng.random() < settings.title_dropout for n in titles.tolist()])
            own += UNTITLED * is_dropped[own]
        return own

    def _split(self, groups: _Groups, similar: list[int]) -> list[int]:
        """The sizes of batches of neighbours: `batch_questions` of them, or as many as fit into `max_tokens`. A group
        over the budget is a batch of its own."""
        budget = self.settings.batch_questions
        if not (self.settings.max_tokens and self.count_tokens):
            return [min(budget, len(similar) - start) for start in range(0, len(similar), budget)]
        sizes: list[int] = []
        remaining = 0
        for group in similar:
            cost = self.count_tokens(self.make_group(groups, group))
            if not sizes or cost > remaining:
                sizes.append(0)
                remaining = self.settings.max_tokens
            sizes[-1] += 1
            remaining -= cost
        return sizes


def _draw_exit(step: int, steps: int, exits: int, settings: TrainSettings, rng: random.Random) -> int | None:
    """The exit that this mini-batch trains, None for all."""
    if settings.exit_draw == "all":
        return None
    if settings.exit_draw == "round-robin":
        return step % exits
    bias = settings.early_bias * max(0.0, 1 - 2 * step / steps) if settings.exit_draw == "early" else 0.0
    return rng.choices(range(exits), weights=[math.exp(-bias * i) for i in range(exits)])[0]
