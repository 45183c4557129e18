"""What the Adapt page gets from the services, frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether there is enough to train on, for the labels chosen. `problems` block the start, `warnings` don't.

    `presumed`: candidates taken for incorrect that nobody labelled; `replayed`: questions of the shipped training set
    mixed in; `by_annotator`: who gave how many labels, whether chosen or not.
    """

    questions: int
    labels: int
    correct: int
    incorrect: int
    unsure: int
    train_questions: int
    dev_questions: int
    heldout_questions: int
    problems: tuple[str, ...]
    warnings: tuple[str, ...]
    presumed: int = 0
    replayed: int = 0
    train_correct: int = 0
    train_incorrect: int = 0
    by_annotator: Mapping[str, int] | None = None

    @property
    def ready(self) -> bool:
        return not self.problems
