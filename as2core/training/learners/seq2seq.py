"""Learning an encoder-decoder's judgement: the pairwise loss of its paper, or cross-entropy, or the listwise KL."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from as2core.errors import BadSetting
from as2core.rankers.seq2seq_classifier import Seq2SeqClassifierRanker
from as2core.training.batches import PlannedBatch
from as2core.training.learners.base import DISCRIMINATIVE, discriminative, without_aliases
from as2core.training.settings import TrainSettings
from as2core.types import Question


class _Seq2SeqLoss(nn.Module):
    def __init__(self, ranker: Seq2SeqClassifierRanker, settings: TrainSettings) -> None:
        super().__init__()
        self.module, self.settings = ranker.module, settings
        self.register_state_dict_post_hook(without_aliases)  # encoder and decoder share their embeddings

    def forward(self, labels, sizes, **batch) -> dict:
        loss = self.settings.loss or "pairwise"
        value, counted = discriminative(loss, self.module(**batch), labels, sizes, self.settings.margin)
        return {"loss": value, "terms": [(value, counted)]}


class Seq2SeqLearner:
    """Pairwise unless told otherwise, as the paper."""

    def __init__(self, ranker: Seq2SeqClassifierRanker, settings: TrainSettings) -> None:
        if settings.loss not in (None, *DISCRIMINATIVE):
            raise BadSetting(f"the loss {settings.loss!r} is for generative rankers; use {', '.join(DISCRIMINATIVE)}")
        if settings.distill:
            raise BadSetting("an encoder-decoder classifier learns without a teacher: set distill to 0")
        self.ranker = ranker
        self.module = _Seq2SeqLoss(ranker, settings)
        self.exits = ("last",)
        self.needs = "label" if settings.loss == "pointwise" else "pair"

    def collate(self, batch: PlannedBatch) -> dict:
        asked = [g.question.text for g in batch.groups for _ in g.rows]
        out = dict(self.ranker.module.encode(asked, [t for g in batch.groups for t in g.readings]))
        out["labels"] = torch.tensor([y for g in batch.groups for y in g.labels])
        out["sizes"] = [len(g.rows) for g in batch.groups]
        return out

    def dev_scores(self, question: Question) -> dict[str, np.ndarray]:
        return {"last": self.ranker.score(question.text, question.candidates)}
