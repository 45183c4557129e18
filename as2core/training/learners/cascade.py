"""Learning the cascade's exits, and the cross-encoder: a cascade of one exit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import islice

import numpy as np
import torch

from as2core.errors import BadSetting
from as2core.losses.listwise import contrast, listwise, soften
from as2core.nn.backbone import Packed
from as2core.nn.micro_batches import split_by_length
from as2core.rankers.cascade import CascadeRanker
from as2core.training.anchors import choose_anchors, measure_drift, plan_anchors
from as2core.training.batches import Group, PlannedBatch
from as2core.training.calibrate import exit_logits, level_heads
from as2core.training.learners.base import Learner, Teacher, Term, label_tensors
from as2core.training.plan import BatchPlan
from as2core.training.prior import fit_offset
from as2core.training.settings import UNLIMITED, TrainSettings
from as2core.types import OnProgress, Question

# The paper's own (section 5.2), which gives no number of epochs: TandA's at most 3.
PAPER = TrainSettings(
    epochs=3,
    learning_rate=1e-6,
    warmup_updates=4_000,
    weight_decay=0.0,
    by_pairs=True,
    max_tokens=2_000,
    positives=UNLIMITED,
    negatives=UNLIMITED,
    freeze_embeddings=False,
    exit_draw="uniform",
    bf16=False,
)
MAX_PRIOR_CANDIDATES = 200  # that the offsets are fitted on; the last batch of questions may exceed it
PRIOR_QUESTIONS_PER_BATCH = 16
PART_TOKENS = 4096, 16_384  # padded, that go through the encoder at once


class CascadeLearner(Learner[CascadeRanker]):
    """Cascade and cross-encoder (a cascade of one exit). Pointwise by default, as the papers."""

    extras = ("contrast", "match_prior", "unlabelled", "anchor")

    def __init__(self, ranker: CascadeRanker, settings: TrainSettings, teacher: Teacher | None) -> None:
        super().__init__(ranker, settings, teacher, loss="pointwise")
        if settings.distill and teacher is None:
            raise BadSetting("distillation needs a teacher: set distill to 0, or give fine_tune a teacher")
        self.exits = tuple(str(layer) for layer in ranker.exits)
        self.offsets = dict.fromkeys(ranker.exits, 0.0)
        self.anchor_logits: Mapping[Question, np.ndarray] = {}  # the base's, (exits, candidates) by question

    def prepare(self, questions: Sequence[Question], should_stop: Callable[[], bool] | None = None) -> None:
        level_heads(self.ranker, questions, should_stop)

    def match_prior(self, batches: Sequence[PlannedBatch], should_stop: Callable[[], bool] | None = None) -> None:
        """Fit each exit's offset to the share of correct labels, on the first batches. The heads stay as they are."""
        counts = Counter(c.label for batch in batches for g in batch.groups for c in g.candidates)
        share = counts[1] / (counts[0] + counts[1])
        groups = (g for batch in batches for g in batch.groups)
        logits: list[np.ndarray] = []
        while part := [*islice(groups, PRIOR_QUESTIONS_PER_BATCH)]:
            if sum(x.shape[1] for x in logits) >= MAX_PRIOR_CANDIDATES or (should_stop and should_stop()):
                break
            queries = [(g.question.text, [c for c in g.candidates if c.label is not None]) for g in part]
            logits += exit_logits(self.ranker, queries)
        if logits:
            by_exit = np.concatenate(logits, axis=1)
            self.offsets = {e: fit_offset(x, share) for e, x in zip(self.ranker.exits, by_exit, strict=True)}

    def add_anchors(
        self, batches: BatchPlan, base: CascadeRanker, questions: Sequence[Question], on_progress: OnProgress
    ) -> BatchPlan:
        seed = self.settings.seed
        anchors = choose_anchors(base, questions, seed=seed, on_progress=on_progress)
        self.anchor_logits = anchors.logits
        return plan_anchors(batches, anchors, seed=seed)

    def count_tokens(self, group: Group) -> int:
        return sum(self._encode(PlannedBatch((group,), None)).lengths)

    def _encode(self, batch: PlannedBatch) -> Packed:
        """Of the labelled candidates, then of the anchors."""
        groups = (*batch.groups, *batch.anchors)
        texts = self.ranker.list_texts([c for g in groups for c in g.candidates])
        questions = [g.question.text for g in groups for _ in g.rows]
        return self.ranker.backbone.encode(questions, texts, max_length=self.ranker.max_length)

    def collate(self, batch: PlannedBatch) -> dict:
        packed = self._encode(batch)
        device = next(self.parameters()).device.type
        parts = split_by_length(packed.lengths, max_tokens=PART_TOKENS[device == "cuda"])  # of like lengths
        out = {
            "parts": [self.ranker.backbone.pad(packed, rows) for rows in parts],
            "rows": torch.tensor([r for rows in parts for r in rows]),
            **label_tensors(batch),
            "exit_index": batch.exit_index,
        }
        if self.settings.unlabelled:
            out["has_label"] = torch.tensor([y for g in batch.groups for y in g.has_label])
        if batch.anchors:
            logits = [self.anchor_logits[g.question][:, list(g.rows)] for g in batch.anchors]
            out["anchors"] = torch.from_numpy(np.concatenate(logits, axis=1)).float()
        if self.teacher is not None:
            scores = [self.teacher(g.question.text, g.readings) for g in batch.groups]
            out["teacher"] = torch.from_numpy(np.concatenate(scores))
        return out

    def dev_scores(self, questions: Sequence[Question]) -> list[dict[str, np.ndarray]]:
        by_question = exit_logits(self.ranker, [(q.text, q.candidates) for q in questions])
        return [dict(zip(self.exits, logits, strict=True)) for logits in by_question]

    def forward(
        self,
        parts: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]],
        rows: torch.Tensor,
        labels: torch.Tensor,
        sizes: list[int],
        exit_index: int | None,
        teacher: torch.Tensor | None = None,
        has_label: torch.Tensor | None = None,
        anchors: torch.Tensor | None = None,
    ) -> list[Term]:
        """`parts` are the pairs by length, as ids and masks; `rows` are their places in the batch: n labelled
        candidates, then the anchors, with the base's logits `anchors` (exits, m)."""
        settings, exits = self.settings, self.ranker.exits
        if exit_index is not None:
            exits = (exits[exit_index],)
        logits = [self.module(*part, exits=exits, stop_gradient=settings.stop_gradient) for part in parts]
        back = torch.argsort(rows)
        whole = [torch.cat([x[e] for x in logits])[back] for e in exits]
        by_exit = [x[: len(labels)] + self.offsets[e] for e, x in zip(exits, whole, strict=True)]
        terms = self._label_terms(by_exit, labels, sizes, has_label)
        if settings.anchor:
            drift, count = self._measure_drift([x[len(labels) :] for x in whole], anchors, exit_index)
            terms.append((settings.anchor * drift, count))
        if teacher is not None:
            target = soften(teacher, sizes, settings.temperature)
            terms.append((settings.distill * _distillation_loss(by_exit, target, sizes), len(sizes)))
        if settings.self_distill and len(exits) > 1:
            target = soften(by_exit[-1].detach(), sizes, 1.0)
            terms.append((settings.self_distill * _distillation_loss(by_exit[:-1], target, sizes), len(sizes)))
        return terms

    def _measure_drift(self, by_exit: list[torch.Tensor], anchors: torch.Tensor | None, exit_index: int | None) -> Term:
        """Over `by_exit`, logits (m,) an exit; in a batch without anchors it has no weight."""
        if anchors is None:
            return torch.stack(by_exit).sum(), 0
        target = anchors if exit_index is None else anchors[exit_index : exit_index + 1]
        return measure_drift(torch.stack(by_exit), target), anchors.shape[1]

    def _label_terms(
        self, by_exit: list[torch.Tensor], labels: torch.Tensor, sizes: list[int], has_label: torch.Tensor | None
    ) -> list[Term]:
        """The exits' mean loss over the labelled candidates, and the contrast between those of one question."""
        if has_label is not None:
            sizes = [int(part.sum()) for part in has_label.split(sizes)]
            by_exit, labels = [x[has_label] for x in by_exit], labels[has_label]
        losses = [self.discriminative_loss(x, labels, sizes) for x in by_exit]
        terms: list[Term] = [(torch.stack([value for value, _ in losses]).mean(), losses[0][1])]
        if self.settings.contrast:
            contrasts = [contrast(x, labels, sizes) for x in by_exit]
            value = torch.stack([value for value, _ in contrasts]).mean()
            terms.append((self.settings.contrast * value, contrasts[0][1]))
        return terms


def _distillation_loss(by_exit: Sequence[torch.Tensor], target: torch.Tensor, sizes: list[int]) -> torch.Tensor:
    """The exits' mean KL to a target over each question's candidates."""
    return torch.stack([listwise(x, target, sizes) for x in by_exit]).mean()
