"""Learning the cascade's exits, and the cross-encoder: a cascade of one exit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import nn

from as2core.cascade.engine import run_cascade
from as2core.cascade.schedule import DropSchedule
from as2core.errors import BadSetting
from as2core.losses.listwise import listwise, soften
from as2core.nn.backbone import micro_batches
from as2core.rankers.cascade import CascadeRanker
from as2core.training.batches import Group, PlannedBatch
from as2core.training.calibrate import level
from as2core.training.learners.base import DISCRIMINATIVE, Teacher, discriminative
from as2core.training.settings import TrainSettings
from as2core.types import Question


class _CascadeLoss(nn.Module):
    def __init__(self, ranker: CascadeRanker, settings: TrainSettings) -> None:
        super().__init__()
        self.module, self.settings = ranker.module, settings

    def forward(self, parts, rows, labels, sizes, exit_index, teacher=None) -> dict:
        exits = self.module.exits if exit_index is None else (self.module.exits[exit_index],)
        logits = [  # each part of like lengths, so little padding
            self.module(*part, exits=exits, stop_gradient=self.settings.stop_gradient) for part in parts
        ]
        back = torch.argsort(rows)
        by_exit = [torch.cat([x[e] for x in logits])[back] for e in exits]
        loss = self.settings.loss or "pointwise"
        said = [discriminative(loss, x, labels, sizes, self.settings.margin) for x in by_exit]
        terms = [(torch.stack([value for value, _ in said]).mean(), said[0][1])]
        if teacher is not None:
            target = soften(teacher, sizes, self.settings.temperature)
            terms.append((self.settings.distill * _taught(by_exit, target, sizes), len(sizes)))
        if self.settings.self_distill and len(exits) > 1:
            target = soften(by_exit[-1].detach(), sizes, 1.0)
            terms.append((self.settings.self_distill * _taught(by_exit[:-1], target, sizes), len(sizes)))
        return {"loss": sum(value for value, _ in terms), "terms": terms}


def _taught(by_exit: Sequence[torch.Tensor], target: torch.Tensor, sizes: list[int]) -> torch.Tensor:
    """The exits' mean KL to a target over each question's candidates."""
    return torch.stack([listwise(x, target, sizes) for x in by_exit]).mean()


class CascadeLearner:
    """Cascade and cross-encoder (a cascade of one exit). Pointwise by default, as the papers."""

    def __init__(self, ranker: CascadeRanker, settings: TrainSettings, teacher: Teacher | None) -> None:
        if settings.loss not in (None, *DISCRIMINATIVE):
            known = ", ".join(DISCRIMINATIVE)
            raise BadSetting(f"the loss {settings.loss!r} is not for this ranker; use one of: {known}")
        if settings.distill and teacher is None:
            raise BadSetting("distillation needs a teacher: set distill to 0, or give fine_tune a teacher")
        self.ranker, self.teacher = ranker, teacher if settings.distill else None
        self.module = _CascadeLoss(ranker, settings)
        self.exits = tuple(str(layer) for layer in ranker.exits)
        self.needs = "pair" if settings.loss in ("listwise", "pairwise") else "label"
        self._complete = DropSchedule.constant(0.0, exits=len(ranker.exits))

    def begin(self, questions: Sequence[Question], should_stop: Callable[[], bool] | None = None) -> None:
        level(self.ranker, questions, should_stop)

    def tokens(self, group: Group) -> int:
        asked = [group.question.text] * len(group.rows)
        return sum(self.ranker.backbone.encode(asked, group.readings, max_length=self.ranker.max_length).lengths)

    def collate(self, batch: PlannedBatch) -> dict:
        texts = [t for g in batch.groups for t in g.readings]
        asked = [g.question.text for g in batch.groups for _ in g.rows]
        packed = self.ranker.backbone.encode(asked, texts, max_length=self.ranker.max_length)
        parts = micro_batches(packed.lengths, max_tokens=1024)
        out = {
            "parts": [self.ranker.backbone.pad(packed, rows) for rows in parts],
            "rows": torch.tensor([r for rows in parts for r in rows]),
            "labels": torch.tensor([y for g in batch.groups for y in g.labels]),
            "sizes": [len(g.rows) for g in batch.groups],
            "exit_index": batch.exit_index,
        }
        if self.teacher is not None:
            out["teacher"] = torch.from_numpy(
                np.concatenate([self.teacher(g.question.text, g.readings) for g in batch.groups])
            )
        return out

    def dev_scores(self, question: Question) -> dict[str, np.ndarray]:
        return self.dev_scores_many([question])[0]

    def dev_scores_many(self, questions: Sequence[Question]) -> list[dict[str, np.ndarray]]:
        asked = [(q.text, [c.reading for c in q.candidates]) for q in questions]
        traces = run_cascade(self.ranker.engine, asked, self._complete)  # without a first ranker: all are scored
        return [{str(e.layer): e.scores for e in trace.exits} for trace in traces]
