"""Learning log P(question | passage): from the right passages alone, or from right against wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch.nn.functional import cosine_similarity

from as2core.errors import BadSetting
from as2core.losses.generative import lul, mle
from as2core.losses.pairwise import pairwise
from as2core.nn.question_lm import PrefixLM
from as2core.rankers.generative import GenerativeRanker
from as2core.training.batches import PlannedBatch
from as2core.training.learners.base import Learner, Teacher, Term, drop_aliases, label_tensors
from as2core.training.settings import TrainSettings

# The paper's (section 3.2); what it does not name is from transformers' script of its time. BART's rate is 1e-5.
PAPER = TrainSettings(
    epochs=10,
    learning_rate=5e-5,
    schedule="linear",
    weight_decay=0.0,
    loss="rll",
    reduction="sum",
    batch_questions=8,
    positives=1,
    negatives=15,
    freeze_embeddings=False,
    bf16=False,
)
PAPER_SEQ2SEQ = replace(PAPER, learning_rate=1e-5)


class GenerativeLearner(Learner):
    """Question likelihood: MLE on the positives alone, LUL and RLL on positives against sampled negatives.

    Distillation keeps the mean states of question and passage near the teacher's vectors (1 + n, hidden) of
    `[question, *texts]`, so that the prefix model does not lose what its backbone knows while it learns to generate.
    """

    losses = ("mle", "lul", "rll")
    exits = ("lm",)
    sums = True

    def __init__(self, ranker: GenerativeRanker, settings: TrainSettings, teacher: Teacher | None = None) -> None:
        super().__init__(ranker, settings, teacher, loss="mle")
        if settings.distill and (teacher is None or not isinstance(ranker.module, PrefixLM)):
            raise BadSetting("distillation of a generative ranker needs a teacher and the prefix language model")
        if settings.distill and settings.reduction == "sum":
            raise BadSetting("a sum has no scale beside a teacher's mean: set distill to 0, or leave reduction out")
        ranker.cache = None  # its passages were read by weights that change now
        self.register_state_dict_post_hook(drop_aliases)

    def collate(self, batch: PlannedBatch) -> dict:
        if self.loss == "mle":
            batch = batch.without_negatives()
        texts = batch.readings if self.ranker.reads_titles else batch.texts
        out = {**self.ranker.encode(batch.questions, texts), **label_tensors(batch)}
        if self.teacher is not None:
            vectors = [self.teacher(q, [t]) for q, t in zip(batch.questions, texts, strict=True)]
            out["teacher"] = torch.from_numpy(np.stack(vectors, axis=1))  # (2, batch, hidden)
        return out

    def forward(
        self, labels: torch.Tensor, sizes: list[int], teacher: torch.Tensor | None = None, **batch: torch.Tensor
    ) -> list[Term]:
        terms: list[Term] = []
        if teacher is not None and isinstance(self.module, PrefixLM):
            log_p, valid, *means = self.module.read(**batch)
            distances = [1 - cosine_similarity(mean, v).mean() for mean, v in zip(means, teacher, strict=True)]
            terms.append((self.settings.distill * torch.stack(distances).sum(), len(labels)))
        else:
            log_p, valid = self.module(**batch)
        return [self._likelihood_loss(log_p, valid, labels, sizes), *terms]

    def _likelihood_loss(
        self, log_p: torch.Tensor, valid: torch.Tensor, labels: torch.Tensor, sizes: list[int]
    ) -> Term:
        sums = self.settings.reduction == "sum"
        if self.loss == "rll":
            total = (log_p * valid).sum(1)
            if self.ranker.direction == "answer":  # passages differ in length, so their likelihood is the mean
                total = total / valid.sum(1).clamp(min=1)
            return pairwise(total, labels, sizes, self.settings.margin, sums=sums), len(sizes)
        value = lul(log_p, valid, labels, sums=sums) if self.loss == "lul" else mle(log_p, valid, sums=sums)
        return value, int(valid.sum())
