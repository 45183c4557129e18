"""Learning log P(question | passage): from the right passages alone, or from right against wrong."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cosine_similarity

from as2core.errors import BadSetting
from as2core.losses.generative import lul, mle, rll
from as2core.nn.question_lm import PrefixLM
from as2core.rankers.generative import GenerativeRanker
from as2core.training.batches import Group, PlannedBatch
from as2core.training.learners.base import DISCRIMINATIVE, Teacher, without_aliases
from as2core.training.settings import TrainSettings
from as2core.types import Question


class _GenerativeLoss(nn.Module):
    def __init__(self, ranker: GenerativeRanker, settings: TrainSettings) -> None:
        super().__init__()
        self.module, self.settings = ranker.module, settings
        self.by_length = ranker.direction == "answer"  # passages differ in length, so their likelihood is the mean
        self.register_state_dict_post_hook(without_aliases)  # checkpoints are safetensors, which refuse them

    def forward(self, labels, sizes, teacher=None, **batch) -> dict:
        if teacher is None:
            log_p, valid = self.module(**batch)
            terms = [self._likelihood(log_p, valid, labels, sizes)]
        else:
            log_p, valid, *means = self.module.read(**batch)
            apart = sum(1 - cosine_similarity(mean, v).mean() for mean, v in zip(means, teacher, strict=True))
            terms = [self._likelihood(log_p, valid, labels, sizes), (self.settings.distill * apart, len(labels))]
        return {"loss": sum(value for value, _ in terms), "terms": terms}

    def _likelihood(self, log_p, valid, labels, sizes) -> tuple[torch.Tensor, int]:
        """The loss, and over how many it is a mean."""
        if self.settings.loss == "rll":
            total = (log_p * valid).sum(1)
            if self.by_length:
                total = total / valid.sum(1).clamp(min=1)
            return rll(total, labels, sizes, self.settings.margin), len(sizes)
        tokens = int(valid.sum())
        return (lul(log_p, valid, labels) if self.settings.loss == "lul" else mle(log_p, valid)), tokens


class GenerativeLearner:
    """Question likelihood: MLE on the positives alone, LUL and RLL on positives against sampled negatives.

    Distillation holds the mean states of question and passage to the teacher's vectors (1 + n, hidden) of
    `[question, *texts]`, so that learning to speak does not cost the prefix model what its backbone knows.
    """

    def __init__(self, ranker: GenerativeRanker, settings: TrainSettings, teacher: Teacher | None = None) -> None:
        if settings.loss in DISCRIMINATIVE:
            raise BadSetting(f"the loss {settings.loss!r} is for discriminative rankers; use mle, lul or rll")
        if settings.distill and (teacher is None or not isinstance(ranker.module, PrefixLM)):
            raise BadSetting("distillation of a generative ranker needs a teacher and the prefix language model")
        ranker.cache = None  # of passages read by weights that change now
        self.ranker, self.pairs = ranker, settings.loss in ("lul", "rll")
        self.teacher = teacher if settings.distill else None
        self.module = _GenerativeLoss(ranker, settings)
        self.exits = ("lm",)
        self.needs = {"lul": "label", "rll": "pair"}.get(settings.loss, "positive")

    def collate(self, batch: PlannedBatch) -> dict:
        rows = [
            (g.question.text, t, y)
            for g in batch.groups
            for t, y in zip(self._read(g), g.labels, strict=True)
            if y == 1 or self.pairs
        ]
        asked, texts, labels = zip(*rows, strict=True) if rows else ((), (), ())
        out = dict(self.ranker.encode(asked, texts))
        out["labels"] = torch.tensor(labels)
        out["sizes"] = [sum(y == 1 or self.pairs for y in g.labels) for g in batch.groups]
        if self.teacher is not None:
            taught = [self.teacher(q, [t]) for q, t in zip(asked, texts, strict=True)]
            out["teacher"] = torch.from_numpy(np.stack(taught, axis=1))  # (2, batch, hidden)
        return out

    def _read(self, group: Group) -> list[str]:
        return [c.text for c in group.candidates] if self.ranker.direction == "answer" else group.readings

    def dev_scores(self, question: Question) -> dict[str, np.ndarray]:
        return {"lm": self.ranker.score(question.text, question.candidates)}
