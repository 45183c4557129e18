"""What each kind of ranker needs to be trained: its batches as tensors, its loss, and its scores on dev questions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import torch
from torch import nn

from as2core.losses.listwise import listwise, relevance
from as2core.losses.pairwise import pairwise
from as2core.losses.pointwise import pointwise
from as2core.rankers.versions import untied
from as2core.training.batches import PlannedBatch
from as2core.types import Question

Teacher = Callable[[str, list[str]], np.ndarray]
DISCRIMINATIVE = ("pointwise", "pairwise", "listwise")


class Learner(Protocol):
    """`module.forward(**collate(batch))` gives {"loss"}; `dev_scores` gives scores by exit name. `needs` is what a
    question must have to be trained on, a key of `as2core.training.batches.NEEDS`.

    Four things a learner may add: "terms" beside the loss, its summands as (mean, over how many), by which several
    processes get exactly the loss of one (without them a mean over questions is taken); `tokens(group) -> int`, which
    batches by `max_tokens` need; `dev_scores_many(questions)`, where questions scored together are cheaper; and
    `begin(questions, should_stop)`, what a ranker that was never trained needs before its first step.
    """

    module: nn.Module
    exits: tuple[str, ...]
    needs: str

    def collate(self, batch: PlannedBatch) -> dict: ...

    def dev_scores(self, question: Question) -> dict[str, np.ndarray]: ...


def discriminative(
    loss: str, logits: torch.Tensor, labels: torch.Tensor, sizes: list[int], margin: float
) -> tuple[torch.Tensor, int]:
    """One of DISCRIMINATIVE over logits (n,) and labels (n,) of several questions, `sizes` candidates each, and over
    how many it is a mean: candidates, or questions."""
    if loss == "pointwise":
        return pointwise(logits, labels), len(labels)
    if loss == "listwise":
        return listwise(logits, relevance(labels, sizes), sizes), len(sizes)
    return pairwise(logits.float(), labels, sizes, margin), len(sizes)


def without_aliases(_module: nn.Module, state: dict, *_: object) -> None:
    """A state-dict hook: each shared tensor once, for checkpoints are safetensors, which refuse aliases."""
    for name in set(state) - set(untied(state)):
        del state[name]
