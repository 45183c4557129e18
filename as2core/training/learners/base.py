"""What each kind of ranker needs to be trained: its batches as tensors, its loss, and its scores on dev questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from torch import nn

from as2core.training.batches import PlannedBatch
from as2core.types import Question

Teacher = Callable[[str, list[str]], np.ndarray]


class Learner(Protocol):
    """`module.forward(**collate(batch))` gives {"loss"}; `dev_scores` gives scores by exit name. `needs` is what a
    question must have to be trained on, a key of `as2core.training.batches.NEEDS`."""

    module: nn.Module
    exits: tuple[str, ...]
    needs: str

    def collate(self, batch: PlannedBatch) -> dict: ...

    def dev_scores(self, question: Question) -> dict[str, np.ndarray]: ...


def cosine_teacher(embed: Callable[[Sequence[str]], np.ndarray]) -> Teacher:
    """A teacher that gives the bi-encoder's cosines; every text is embedded once."""
    known: dict[str, np.ndarray] = {}

    def teach(question: str, texts: list[str]) -> np.ndarray:
        new = [t for t in dict.fromkeys([question, *texts]) if t not in known]
        if new:
            known.update(zip(new, embed(new).astype(np.float16), strict=True))
        return np.stack([known[t] for t in texts]).astype(np.float32) @ known[question].astype(np.float32)

    return teach
