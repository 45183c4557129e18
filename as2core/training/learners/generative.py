"""Learning log P(question | passage): from the right passages alone, or from right against wrong."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from as2core.errors import BadSetting
from as2core.losses.generative import mle, rll
from as2core.rankers.generative import GenerativeRanker
from as2core.training.batches import PlannedBatch
from as2core.training.settings import TrainSettings
from as2core.types import Question


class _GenerativeLoss(nn.Module):
    def __init__(self, ranker: GenerativeRanker, settings: TrainSettings) -> None:
        super().__init__()
        self.module, self.settings = ranker.module, settings

    def forward(self, labels, sizes, **batch) -> dict[str, torch.Tensor]:
        log_p, valid = self.module(**batch)
        if self.settings.loss == "rll":
            return {"loss": rll((log_p * valid).sum(1), labels, sizes, self.settings.margin)}
        return {"loss": mle(log_p, valid)}


class GenerativeLearner:
    """Question likelihood: MLE on the positives alone, or RLL on positives against sampled negatives."""

    def __init__(self, ranker: GenerativeRanker, settings: TrainSettings) -> None:
        if settings.loss in ("pointwise", "listwise"):
            raise BadSetting(f"the loss {settings.loss!r} is for discriminative rankers; use mle or rll")
        self.ranker, self.pairs = ranker, settings.loss == "rll"
        self.module = _GenerativeLoss(ranker, settings)
        self.exits = ("lm",)
        self.needs = "pair" if self.pairs else "positive"

    def collate(self, batch: PlannedBatch) -> dict:
        rows = [
            (g.question.text, t, y)
            for g in batch.groups
            for t, y in zip(g.texts, g.labels, strict=True)
            if y == 1 or self.pairs
        ]
        asked, texts, labels = zip(*rows, strict=True) if rows else ((), (), ())
        out = dict(self.ranker.module.encode(texts, asked))
        out["labels"] = torch.tensor(labels)
        out["sizes"] = [sum(y == 1 or self.pairs for y in g.labels) for g in batch.groups]
        return out

    def dev_scores(self, question: Question) -> dict[str, np.ndarray]:
        return {"lm": self.ranker.score(question.text, question.candidates)}
