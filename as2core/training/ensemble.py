"""Ensemble distillation: a trained cascade learns from the mean of its own scores, the generative ranker's and the
backbone's cosines.

Some of its questions are written carelessly, which its teacher reads as they were, and some have no answer, so that the
level of its logits says whether there is one.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from as2core.rankers.base import Ranker
from as2core.rankers.cascade import CascadeRanker
from as2core.training.augmentation import drop_answers, write_carelessly
from as2core.training.fine_tune import TrainingResult, fine_tune
from as2core.training.learners import Teacher
from as2core.training.loop import RunControl
from as2core.training.mining import VectorCache, add_far_negatives
from as2core.training.recipe_data import Material
from as2core.training.recipes import EnsembleStage
from as2core.training.teachers import correct_teacher, mean_teacher, original_teacher, ranker_teacher
from as2core.types import Question


@dataclass(frozen=True, slots=True)
class EnsembleSample:
    """The questions to learn from. `originals`: what a teacher reads for a carelessly written one. `own` are those of
    this project's corpora among them, whose labels are complete."""

    questions: tuple[Question, ...]
    originals: Mapping[str, str]
    own: tuple[Question, ...]


def sample_for_ensemble(stage: EnsembleStage, material: Material, *, seed: int) -> EnsembleSample:
    """Drawn from a recipe's questions; where the stage wants more than there are, all."""
    rng = random.Random(seed)
    general = _draw(material.squad, stage.squad_questions, rng) + _draw(material.selqa_qed, stage.other_questions, rng)
    general = add_far_negatives(general, material.vectors, each=stage.far, seed=seed)
    starter = _draw(material.own, stage.own_questions // 10, rng)
    own = starter + _draw(material.reworded, stage.own_questions - len(starter), rng)
    sampled_questions = [q if rng.random() < stage.titled else q.drop_titles() for q in general + own]
    answerable = drop_answers(sampled_questions, stage.unanswerable, rng)
    questions, originals = write_carelessly(answerable, stage.careless, rng)
    return EnsembleSample(tuple(questions), originals, tuple(questions[len(general) :]))


def distill_ensemble(
    start: CascadeRanker,
    generative: Ranker,
    material: Material,
    stage: EnsembleStage,
    *,
    learning_rate: float,
    seed: int,
    workdir: Path,
    control: RunControl | None = None,
) -> tuple[TrainingResult[CascadeRanker], EnsembleSample]:
    """Train a copy of `start` once; the result, and the sample it learnt from. Raises as `fine_tune`."""
    sample = sample_for_ensemble(stage, material, seed=seed)
    teachers = (ranker_teacher(start), ranker_teacher(generative), _cosine_teacher(material.vectors, sample.questions))
    teacher = original_teacher(mean_teacher(teachers, stage.weights), sample.originals)
    result = fine_tune(
        start,
        sample.questions,
        [],
        replace(stage.settings, learning_rate=learning_rate, seed=seed),
        workdir=workdir,
        teacher=correct_teacher(teacher, sample.own),
        control=control,
    )
    return result, sample


def _draw(questions: Sequence[Question], most: int, rng: random.Random) -> list[Question]:
    return rng.sample(questions, min(most, len(questions)))


def _cosine_teacher(vectors: VectorCache, questions: Sequence[Question]) -> Teacher:
    """The backbone's cosines of texts without their titles."""
    return original_teacher(vectors.cosines, {c.titled_text: c.text for q in questions for c in q.candidates})
