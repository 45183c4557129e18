"""A mini-batch as it is planned. A group is one question with some of its labelled candidates: losses within a question
(listwise, RLL, distillation) need them together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
