"""Learning the encoder-decoder classifier: the pairwise loss of its paper, or cross-entropy, or the listwise KL."""

from __future__ import annotations

import torch

from as2core.errors import BadSetting
from as2core.rankers.seq2seq_classifier import Seq2SeqClassifierRanker
from as2core.training.batches import PlannedBatch
from as2core.training.learners.base import Learner, Term, drop_aliases, label_tensors
from as2core.training.settings import TrainSettings


class Seq2SeqLearner(Learner[Seq2SeqClassifierRanker]):
    """Pairwise by default, as the paper."""

    exits = ("last",)

    def __init__(self, ranker: Seq2SeqClassifierRanker, settings: TrainSettings) -> None:
        super().__init__(ranker, settings, loss="pairwise")
        if settings.distill:
            raise BadSetting("an encoder-decoder classifier learns without a teacher: set distill to 0")
        self.register_state_dict_post_hook(drop_aliases)  # encoder and decoder share their embeddings

    def collate(self, batch: PlannedBatch) -> dict:
        return {**self.ranker.module.encode(batch.questions, batch.readings), **label_tensors(batch)}

    def forward(self, labels: torch.Tensor, sizes: list[int], **batch: torch.Tensor) -> list[Term]:
        return [self.discriminative_loss(self.module(**batch), labels, sizes)]
