"""Learning an encoder-decoder's judgement: the pairwise loss of its paper, or cross-entropy, or the listwise KL."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from as2core.errors import BadSetting
from as2core.losses.listwise import listwise
from as2core.losses.pairwise import pairwise
from as2core.losses.pointwise import pointwise
from as2core.rankers.seq2seq_classifier import Seq2SeqClassifierRanker
from as2core.training.batches import PlannedBatch
from as2core.training.learners.base import without_aliases
from as2core.training.settings import TrainSettings
from as2core.types import Question


class _Seq2SeqLoss(nn.Module):
    def __init__(self, ranker: Seq2SeqClassifierRanker, settings: TrainSettings) -> None:
        super().__init__()
        self.module, self.settings = ranker.module, settings
        self.register_state_dict_post_hook(without_aliases)  # encoder and decoder share their embeddings

    def forward(self, labels, sizes, **batch) -> dict[str, torch.Tensor]:
        logits = self.module(**batch)
        if self.settings.loss == "pointwise":
            return {"loss": pointwise(logits, labels)}
        if self.settings.loss == "listwise":
            target = torch.cat([y / y.sum().clamp(min=1) for y in labels.float().split(sizes)])
            return {"loss": listwise(logits, target, sizes)}
        return {"loss": pairwise(logits, labels, sizes, self.settings.margin)}


class Seq2SeqLearner:
    """Pairwise unless told otherwise, as the paper."""

    def __init__(self, ranker: Seq2SeqClassifierRanker, settings: TrainSettings) -> None:
        if settings.loss not in (None, "pointwise", "pairwise", "listwise"):
            raise BadSetting(f"the loss {settings.loss!r} is for generative rankers; use pointwise, pairwise, listwise")
        if settings.distill:
            raise BadSetting("an encoder-decoder classifier learns without a teacher: set distill to 0")
        self.ranker = ranker
        self.module = _Seq2SeqLoss(ranker, settings)
        self.exits = ("last",)
        self.needs = "label" if settings.loss == "pointwise" else "pair"

    def collate(self, batch: PlannedBatch) -> dict:
        asked = [g.question.text for g in batch.groups for _ in g.rows]
        out = dict(self.ranker.module.encode(asked, [t for g in batch.groups for t in g.texts]))
        out["labels"] = torch.tensor([y for g in batch.groups for y in g.labels])
        out["sizes"] = [len(g.rows) for g in batch.groups]
        return out

    def dev_scores(self, question: Question) -> dict[str, np.ndarray]:
        return {"last": self.ranker.score(question.text, question.candidates)}
