"""Learning the encoder-decoder classifier: the pairwise loss of its paper, or cross-entropy, or the listwise KL."""

from __future__ import annotations

import torch
from torch import nn

from as2core.errors import BadSetting
from as2core.rankers.seq2seq_classifier import Seq2SeqClassifierRanker
from as2core.training.batches import PlannedBatch
from as2core.training.learners.base import Learner, as_output, discriminative_loss, drop_aliases, label_tensors
from as2core.training.settings import TrainSettings


class _Seq2SeqLoss(nn.Module):
    def __init__(self, ranker: Seq2SeqClassifierRanker, settings: TrainSettings) -> None:
        super().__init__()
        self.module, self.settings = ranker.module, settings
        self.register_state_dict_post_hook(drop_aliases)  # encoder and decoder share their embeddings

    def forward(self, labels: torch.Tensor, sizes: list[int], **batch: torch.Tensor) -> dict:
        loss = self.settings.loss or "pairwise"
        return as_output([discriminative_loss(loss, self.module(**batch), labels, sizes, self.settings.margin)])


class Seq2SeqLearner(Learner):
    """Pairwise by default, as the paper."""

    def __init__(self, ranker: Seq2SeqClassifierRanker, settings: TrainSettings) -> None:
        self.ranker: Seq2SeqClassifierRanker = ranker
        self.check_loss(settings)
        if settings.distill:
            raise BadSetting("an encoder-decoder classifier learns without a teacher: set distill to 0")
        self.module = _Seq2SeqLoss(ranker, settings)
        self.exits = ("last",)
        self.needs = "label" if settings.loss == "pointwise" else "pair"

    def collate(self, batch: PlannedBatch) -> dict:
        return {**self.ranker.module.encode(batch.questions, batch.readings), **label_tensors(batch)}
