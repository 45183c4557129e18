"""Learning a checkpoint of others further: TandA's two steps (Garg et al., 2020, section 5.1) are `TRANSFER` for a head
that is new, and `ADAPT` for one that was trained."""

from __future__ import annotations

from dataclasses import replace

import torch

from as2core.errors import BadSetting
from as2core.nn.micro_batches import split_by_length
from as2core.rankers.classifier import ClassifierRanker
from as2core.training.batches import Group, PlannedBatch
from as2core.training.learners.base import Learner, Term, drop_aliases, label_tensors
from as2core.training.settings import UNLIMITED, TrainSettings

ADAPT = TrainSettings(
    epochs=3,
    learning_rate=1e-6,
    weight_decay=0.0,
    by_pairs=True,
    batch_questions=32,
    positives=UNLIMITED,
    negatives=UNLIMITED,
    bf16=False,
)
TRANSFER = replace(ADAPT, epochs=9, learning_rate=2e-5)


class ClassifierLearner(Learner[ClassifierRanker]):
    """Pointwise by default, as the paper: the cross-entropy of two classes is that of their log-odds."""

    exits = ("last",)

    def __init__(self, ranker: ClassifierRanker, settings: TrainSettings) -> None:
        super().__init__(ranker, settings, loss="pointwise")
        if settings.distill:
            raise BadSetting("a checkpoint of others learns from labels alone: set distill to 0")
        self.register_state_dict_post_hook(drop_aliases)

    def count_tokens(self, group: Group) -> int:
        batch = PlannedBatch((group,), None)
        return sum(len(ids) for ids, _ in self.ranker.module.encode(batch.questions, batch.readings))

    def collate(self, batch: PlannedBatch) -> dict:
        pairs = self.ranker.module.encode(batch.questions, batch.readings)
        parts = split_by_length([len(ids) for ids, _ in pairs], max_tokens=1024)  # of like lengths, so little padding
        return {
            "parts": [self.ranker.module.pad([pairs[r] for r in rows]) for rows in parts],
            "rows": torch.tensor([r for rows in parts for r in rows]),
            **label_tensors(batch),
        }

    def forward(
        self, parts: list[dict[str, torch.Tensor]], rows: torch.Tensor, labels: torch.Tensor, sizes: list[int]
    ) -> list[Term]:
        logits = torch.cat([self.module(**part) for part in parts])[torch.argsort(rows)]
        return [self.discriminative_loss(logits, labels, sizes)]
