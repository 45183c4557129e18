"""What each kind of ranker needs to be trained: its batches as tensors, its loss, and its scores on dev questions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from torch import nn

from as2core.rankers.versions import untied
from as2core.training.batches import PlannedBatch
from as2core.types import Question

Teacher = Callable[[str, list[str]], np.ndarray]


class Learner(Protocol):
    """`module.forward(**collate(batch))` gives {"loss"}; `dev_scores` gives scores by exit name. `needs` is what a
    question must have to be trained on, a key of `as2core.training.batches.NEEDS`.

    Three things a learner may add: "terms" beside the loss, its summands as (mean, over how many), by which several
    processes get exactly the loss of one (without them a mean over questions is taken); `tokens(group) -> int`, which
    batches by `max_tokens` need; and `dev_scores_many(questions)`, where questions scored together are cheaper.
    """

    module: nn.Module
    exits: tuple[str, ...]
    needs: str

    def collate(self, batch: PlannedBatch) -> dict: ...

    def dev_scores(self, question: Question) -> dict[str, np.ndarray]: ...


def without_aliases(_module: nn.Module, state: dict, *_: object) -> None:
    """A state-dict hook: each shared tensor once, for checkpoints are safetensors, which refuse aliases."""
    for name in set(state) - set(untied(state)):
        del state[name]
