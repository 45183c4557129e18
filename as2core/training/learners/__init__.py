"""One learner a kind of ranker; `learner_for` finds it."""

from __future__ import annotations

from dataclasses import replace

from as2core.errors import BadSetting
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.generative import GenerativeRanker
from as2core.rankers.seq2seq_classifier import Seq2SeqClassifierRanker
from as2core.rankers.word_ranker import WordRanker
from as2core.training.learners.base import Learner, Teacher
from as2core.training.learners.cascade import CascadeLearner
from as2core.training.learners.generative import GenerativeLearner
from as2core.training.learners.seq2seq import Seq2SeqLearner
from as2core.training.learners.structure import LISTWISE, POINTWISE, StructureLearner
from as2core.training.settings import ADAPT, TrainSettings

__all__ = ["Learner", "Teacher", "learner_for", "suggested"]


def learner_for(ranker: object, settings: TrainSettings, teacher: Teacher | None = None) -> Learner:
    """The learner of a trainable ranker. Raises BadSetting for one that has nothing to train."""
    if isinstance(ranker, CascadeRanker):
        return CascadeLearner(ranker, settings, teacher)
    if isinstance(ranker, GenerativeRanker):
        return GenerativeLearner(ranker, settings, teacher)
    if isinstance(ranker, Seq2SeqClassifierRanker):
        return Seq2SeqLearner(ranker, settings)
    if isinstance(ranker, WordRanker):
        return StructureLearner(ranker, settings)
    raise BadSetting(
        f"the ranker {getattr(ranker, 'name', ranker)!r} has nothing to train here; use cascade, cross-encoder, "
        "generative, cosinet, rel-cnn or compare-aggregate (the weights of a fusion: `as2 tune`)"
    )


def suggested(ranker: object) -> TrainSettings:
    """The settings to train a ranker with when nothing is said: its paper's, or those of adapting a transformer. What a
    generative ranker learns from labels is to rank (RLL): more MLE makes every question likely, the wrong ones, too."""
    if isinstance(ranker, WordRanker):
        return LISTWISE if ranker.listwise else POINTWISE
    return replace(ADAPT, loss="rll") if isinstance(ranker, GenerativeRanker) else ADAPT
