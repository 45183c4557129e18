"""Learning Cosinet, Rel-CNN and Compare-Aggregate (Bonadiman and Moschitti, 2020, section 5.2).

All of a question's candidates go through the recurrent layer, in training as in use, so nothing is sampled here:
`positives` and `negatives` of the settings have no effect, except with `by_pairs`, for a ranker without that layer.
Candidates without a label are read but not in the loss.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from as2core.errors import BadSetting
from as2core.nn.word_pairs import WordPairs, join_questions, word_pairs
from as2core.rankers.word_ranker import WordRanker
from as2core.training.batches import PlannedBatch
from as2core.training.learners.base import Learner, Term
from as2core.training.settings import UNLIMITED, TrainSettings

POINTWISE = TrainSettings(
    epochs=3,
    learning_rate=2e-3,
    schedule="slanted-triangular",
    weight_decay=0.0,
    batch_questions=4,
    loss="pointwise",
    bf16=False,  # so small a network gains nothing by it
)
LISTWISE = replace(POINTWISE, learning_rate=2e-4, batch_questions=1, loss="listwise")
# Compare-Aggregate of Matsubara et al. (2020, section 4.1.4): batches of 32 pairs. The dev MAP ends the training; the
# paper gives no number of epochs.
RERANK = TrainSettings(
    epochs=10,
    learning_rate=1e-4,
    schedule="constant",
    warmup=0.0,
    weight_decay=0.0,
    by_pairs=True,
    batch_questions=32,
    positives=UNLIMITED,
    negatives=UNLIMITED,
    loss="pointwise",
    bf16=False,
)


class StructureLearner(Learner[WordRanker]):
    """The loss is the ranker's own, pointwise or listwise, unless the settings name one of the two."""

    losses = ("pointwise", "listwise")

    def __init__(self, ranker: WordRanker, settings: TrainSettings) -> None:
        super().__init__(ranker, settings, loss="listwise" if ranker.listwise else "pointwise")
        if settings.distill:
            raise BadSetting(f"{ranker.kind} learns from labels alone: set distill to 0")
        if settings.by_pairs and ranker.settings["context"] != "none":
            raise BadSetting("a recurrent layer over the candidates reads them all: leave by_pairs out, or the context")
        self.exits = (ranker.kind,)

    def collate(self, batch: PlannedBatch) -> dict:
        questions = [g.question for g in batch.groups]
        if self.settings.by_pairs:
            questions = [replace(g.question, candidates=tuple(g.candidates)) for g in batch.groups]
        labels = [[c.label for c in q.candidates] for q in questions]
        return {
            "pairs": join_questions(
                [word_pairs(q.text, [c.text for c in q.candidates], self.ranker.vectors) for q in questions]
            ),
            "has_label": torch.tensor([y is not None for group in labels for y in group]),
            "labels": torch.tensor([y for group in labels for y in group if y is not None]),
            "sizes": [sum(y is not None for y in group) for group in labels],
        }

    def forward(self, pairs: WordPairs, labels: torch.Tensor, has_label: torch.Tensor, sizes: list[int]) -> list[Term]:
        """`has_label` (pairs,) marks those with a label, `labels` and `sizes` are theirs."""
        logits = self.module(pairs.to(labels.device))[has_label]  # the trainer moves tensors alone
        return [self.discriminative_loss(logits, labels, sizes)]
