"""What each kind of ranker needs to be trained: its batches as tensors, its loss, and its scores on dev questions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, TypeVar

import numpy as np
import torch
from torch import nn

from as2core.errors import BadSetting
from as2core.losses.listwise import listwise, relevance
from as2core.losses.pairwise import pairwise
from as2core.losses.pointwise import pointwise
from as2core.rankers.base import HasWeights
from as2core.rankers.versions import deduplicate_tensors
from as2core.training.batches import Group, PlannedBatch
from as2core.training.plan import BatchPlan
from as2core.training.settings import TrainSettings
from as2core.types import OnProgress, Question

Teacher = Callable[[str, list[str]], np.ndarray]
"""The scores `(texts,)` of a question's texts; for a generative ranker the mean states `(1 + texts, hidden)` of the
question and of each text."""

Term = tuple[torch.Tensor, int | torch.Tensor]  # a summand of a loss: a mean, and over how many
R = TypeVar("R", bound=HasWeights)
NEEDS_PAIR = ("pairwise", "listwise", "rll")


class Learner(nn.Module, ABC, Generic[R]):
    """The loss of a ranker as a module: `forward(**collate(batch))` gives the terms whose sum it is. They let several
    processes compute exactly the loss of one.

    `losses` are the names that the settings may give, `extras` the settings that only some learners know. `loss` is
    the settings', or the ranker's own. `exits` names the scores of `dev_scores`. `teacher` is None where nothing is
    distilled. Raises BadSetting for a loss not in `losses`, and for a setting not in `extras`.
    """

    losses: ClassVar[tuple[str, ...]] = ("pointwise", "pairwise", "listwise")
    extras: ClassVar[tuple[str, ...]] = ()
    sums: ClassVar[bool] = False  # whether `reduction` may be a sum
    _keys_to_ignore_on_save: ClassVar[None] = None  # which the Trainer asks for where tied weights are stored once
    exits: tuple[str, ...]

    def __init__(self, ranker: R, settings: TrainSettings, teacher: Teacher | None = None, *, loss: str) -> None:
        super().__init__()
        if settings.loss not in (None, *self.losses):
            names = ", ".join(self.losses)
            raise BadSetting(f"the loss {settings.loss!r} is not for {ranker.name}; use one of: {names}")
        for name in ("contrast", "match_prior", "unlabelled", "anchor"):
            if getattr(settings, name) and name not in self.extras:
                raise BadSetting(f"{name} is for a cascade or a cross-encoder, not for {ranker.name}; leave it out")
        if settings.by_pairs and ((settings.loss or loss) in NEEDS_PAIR or settings.distill or settings.contrast):
            raise BadSetting("pairs one by one leave nothing to compare: with by_pairs use pointwise, mle or lul alone")
        if settings.reduction != "mean" and not self.sums:
            raise BadSetting(
                f"reduction=sum is for the losses of a generative ranker, not for {ranker.name}; leave it out"
            )
        self.ranker, self.settings, self.module = ranker, settings, ranker.module
        self.loss = settings.loss or loss
        self.teacher = teacher if settings.distill else None

    @property
    def needs(self) -> str:
        """What a question must have to be trained on, a key of `as2core.training.plan.NEEDS`."""
        return "pair" if self.loss in NEEDS_PAIR else "positive" if self.loss == "mle" else "label"

    @abstractmethod
    def collate(self, batch: PlannedBatch) -> dict: ...

    def dev_scores(self, questions: Sequence[Question]) -> list[dict[str, np.ndarray]]:
        """Each question's scores `(n,)` by exit."""
        return [{self.exits[-1]: self.ranker.score(q.text, q.candidates)} for q in questions]

    def count_tokens(self, group: Group) -> int:
        """The tokens of a group, for batches by `max_tokens`. Raises BadSetting where they cannot be counted."""
        raise BadSetting("this ranker's tokens cannot be counted beforehand: set batch_questions, not max_tokens")

    def prepare(self, questions: Sequence[Question], should_stop: Callable[[], bool] | None = None) -> None:
        """Prepare a ranker that was never trained for its first step."""
        return None

    def match_prior(self, batches: Sequence[PlannedBatch], should_stop: Callable[[], bool] | None = None) -> None:
        """Fit what the setting `match_prior` asks for; only where it is one of the `extras`."""
        return None

    def add_anchors(
        self, batches: BatchPlan, base: R, questions: Sequence[Question], on_progress: OnProgress
    ) -> BatchPlan:
        """The batches with anchors from the questions without labels, which the base ranks; only where `anchor` is one
        of the `extras`."""
        return batches

    def discriminative_loss(self, logits: torch.Tensor, labels: torch.Tensor, sizes: list[int]) -> Term:
        """The pointwise, pairwise or listwise loss over logits (n,) and labels (n,) of several questions, `sizes`
        candidates each; a mean over candidates, or over questions."""
        if self.loss == "pointwise":
            return pointwise(logits, labels), len(labels)
        if self.loss == "listwise":
            return listwise(logits, relevance(labels, sizes), sizes), len(sizes)
        return pairwise(logits.float(), labels, sizes, self.settings.margin), len(sizes)


def label_tensors(batch: PlannedBatch) -> dict:
    """The labels (n,) of a batch's groups, and the sizes of the groups."""
    return {
        "labels": torch.tensor([y for g in batch.groups for y in g.labels]),
        "sizes": [len(g.rows) for g in batch.groups],
    }


def drop_aliases(_module: nn.Module, state: dict, *_: object) -> None:
    """A state-dict hook: each shared tensor once, for checkpoints are safetensors, which refuse aliases."""
    for name in set(state) - set(deduplicate_tensors(state)):
        del state[name]
