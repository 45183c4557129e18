"""Anchors: candidates on which a retrain keeps the scores of its base, so that it does not forget them.

Dark experience replay (Buzzega et al., 2020, arXiv:2004.07211): beside the new labels, each step takes some old
questions and penalises the squared difference of their logits from those before. No label is needed. Replayed labels
are of little use for a base that has learnt them by heart, whose loss on them is near zero whatever else changes.

Where we differ: the logits are not those met along the first training but the base's, and every exit keeps its own.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from as2core.metrics import order
from as2core.rankers.cascade import CascadeRanker
from as2core.training.batches import Group
from as2core.training.calibrate import exit_logits
from as2core.training.plan import BatchPlan
from as2core.types import OnProgress, Progress, Question

BEST, OTHERS = 8, 16  # candidates of a question: the base's best, and others
QUESTIONS_PER_BATCH, SAMPLE = 2, 5  # of a step, and candidates of each (docs/decisions/0113)


@dataclass(frozen=True, slots=True)
class Anchors:
    """Questions cut to their anchors, and the base's logits `(exits, candidates)` by these: their ids may come from
    several sets, and one stand for two questions."""

    questions: tuple[Question, ...]
    logits: Mapping[Question, np.ndarray]


def strip_labels(question: Question) -> Question:
    """The question as it can be an anchor."""
    return replace(question, candidates=tuple(replace(c, label=None) for c in question.candidates))


def choose_anchors(
    base: CascadeRanker, questions: Sequence[Question], *, seed: int, on_progress: OnProgress | None = None
) -> Anchors:
    """Of each question without labels the candidates that the base ranks first, and a sample of the others. The base
    ranks on the engine that it runs on. The logits are of its weights on torch: those of int8 are lower by .2 at the
    last exits, which the training would learn. Both go through the base's cache of logits if it has one.
    `on_progress` is called between questions; what it raises stops the choice."""
    rng, exact = random.Random(seed), base.exact_engine()
    anchors, logits = [], {}
    usable = [q for q in questions if q.candidates and not q.has_labels]
    for done, q in enumerate(usable):
        if on_progress:
            on_progress(Progress(done, len(usable)))
        [by_exit] = exit_logits(base, [(q.text, q.candidates)])
        best_first = order(by_exit[-1]).tolist()
        others = best_first[BEST:]
        rows = sorted([*best_first[:BEST], *rng.sample(others, min(OTHERS, len(others)))])
        anchors.append(replace(q, candidates=tuple(q.candidates[r] for r in rows)))
        [logits[anchors[-1]]] = exit_logits(base, [(q.text, anchors[-1].candidates)], exact)
    return Anchors(tuple(anchors), logits)


def count_anchors(questions: Sequence[Question]) -> int:
    """How many candidates `choose_anchors` keeps of these."""
    return sum(min(len(q.candidates), BEST + OTHERS) for q in questions)


def plan_anchors(batches: BatchPlan, anchors: Anchors, *, seed: int) -> BatchPlan:
    """The batches, each with the next QUESTIONS_PER_BATCH of the anchors and a sample of their candidates. The
    questions come in turn, in another order each time. Without anchors, the batches as they are."""
    if not anchors.questions:
        return batches
    rng = random.Random(seed)
    waiting: list[Question] = []

    def draw() -> Group:
        if not waiting:
            waiting.extend(rng.sample(anchors.questions, len(anchors.questions)))
        q = waiting.pop()
        return Group(q, tuple(sorted(rng.sample(range(len(q.candidates)), min(SAMPLE, len(q.candidates))))))

    per_batch = min(QUESTIONS_PER_BATCH, len(anchors.questions))
    return batches.with_anchors([tuple(draw() for _ in range(per_batch)) for _ in range(len(batches))])


def measure_drift(logits: Tensor, target: Tensor) -> Tensor:
    """The mean squared difference of logits `(exits, anchors)` from the base's, as a scalar."""
    return (logits - target).square().mean()
