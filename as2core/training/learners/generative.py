"""Learning log P(question | passage): from the right passages alone, or from right against wrong."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cosine_similarity

from as2core.errors import BadSetting
from as2core.losses.generative import lul, mle
from as2core.losses.pairwise import pairwise
from as2core.nn.question_lm import PrefixLM
from as2core.rankers.generative import GenerativeRanker
from as2core.training.batches import PlannedBatch
from as2core.training.learners.base import Learner, Teacher, Terms, as_output, drop_aliases, label_tensors
from as2core.training.settings import TrainSettings


class _GenerativeLoss(nn.Module):
    def __init__(self, ranker: GenerativeRanker, settings: TrainSettings) -> None:
        super().__init__()
        self.module, self.settings = ranker.module, settings
        self.by_length = ranker.direction == "answer"  # passages differ in length, so their likelihood is the mean
        self.register_state_dict_post_hook(drop_aliases)

    def forward(
        self, labels: torch.Tensor, sizes: list[int], teacher: torch.Tensor | None = None, **batch: torch.Tensor
    ) -> dict:
        terms: Terms = []
        if teacher is not None and isinstance(self.module, PrefixLM):
            log_p, valid, *means = self.module.read(**batch)
            distances = [1 - cosine_similarity(mean, v).mean() for mean, v in zip(means, teacher, strict=True)]
            terms.append((self.settings.distill * torch.stack(distances).sum(), len(labels)))
        else:
            log_p, valid = self.module(**batch)
        return as_output([self._likelihood_loss(log_p, valid, labels, sizes), *terms])

    def _likelihood_loss(
        self, log_p: torch.Tensor, valid: torch.Tensor, labels: torch.Tensor, sizes: list[int]
    ) -> tuple[torch.Tensor, int]:
        """The loss, and over how many it is a mean."""
        if self.settings.loss == "rll":
            total = (log_p * valid).sum(1)
            if self.by_length:
                total = total / valid.sum(1).clamp(min=1)
            return pairwise(total, labels, sizes, self.settings.margin), len(sizes)
        tokens = int(valid.sum())
        return (lul(log_p, valid, labels) if self.settings.loss == "lul" else mle(log_p, valid)), tokens


class GenerativeLearner(Learner):
    """Question likelihood: MLE on the positives alone, LUL and RLL on positives against sampled negatives.

    Distillation keeps the mean states of question and passage near the teacher's vectors (1 + n, hidden) of
    `[question, *texts]`, so that the prefix model does not lose what its backbone knows while it learns to generate.
    """

    losses = ("mle", "lul", "rll")

    def __init__(self, ranker: GenerativeRanker, settings: TrainSettings, teacher: Teacher | None = None) -> None:
        self.ranker: GenerativeRanker = ranker
        self.check_loss(settings)
        if settings.distill and (teacher is None or not isinstance(ranker.module, PrefixLM)):
            raise BadSetting("distillation of a generative ranker needs a teacher and the prefix language model")
        ranker.cache = None  # its passages were read by weights that change now
        self.takes_negatives = settings.loss in ("lul", "rll")
        self.teacher = teacher if settings.distill else None
        self.module = _GenerativeLoss(ranker, settings)
        self.exits = ("lm",)
        self.needs = {"lul": "label", "rll": "pair"}.get(settings.loss or "mle", "positive")

    def collate(self, batch: PlannedBatch) -> dict:
        if not self.takes_negatives:
            batch = batch.without_negatives()
        texts = batch.readings if self.ranker.direction == "question" else batch.texts
        out = {**self.ranker.encode(batch.questions, texts), **label_tensors(batch)}
        if self.teacher is not None:
            vectors = [self.teacher(q, [t]) for q, t in zip(batch.questions, texts, strict=True)]
            out["teacher"] = torch.from_numpy(np.stack(vectors, axis=1))  # (2, batch, hidden)
        return out
