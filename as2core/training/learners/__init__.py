"""One learner for each kind of ranker; `learner_for` finds it."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol, runtime_checkable

from as2core.errors import BadSetting
from as2core.nn.question_lm import Seq2SeqLM
from as2core.rankers.base import HasWeights, Ranker
from as2core.rankers.cascade import CascadeRanker, PaperCascadeRanker
from as2core.rankers.classifier import ClassifierRanker
from as2core.rankers.generative import GenerativeRanker
from as2core.rankers.seq2seq_classifier import Seq2SeqClassifierRanker
from as2core.rankers.word_ranker import WordRanker
from as2core.training.learners import cascade, classifier, generative
from as2core.training.learners.base import Learner, R, Teacher
from as2core.training.learners.cascade import CascadeLearner
from as2core.training.learners.classifier import ClassifierLearner
from as2core.training.learners.generative import GenerativeLearner
from as2core.training.learners.seq2seq import Seq2SeqLearner
from as2core.training.learners.structure import LISTWISE, POINTWISE, RERANK, StructureLearner
from as2core.training.settings import ADAPT, TrainSettings

__all__ = ["Learner", "MakesLearner", "R", "Teacher", "learner_for", "require_weights", "suggest_settings"]


@runtime_checkable
class MakesLearner(Protocol):
    """A ranker with a learner of its own, and so with a loss of its own."""

    def make_learner(self, settings: TrainSettings, teacher: Teacher | None) -> Learner: ...


def learner_for(ranker: Ranker, settings: TrainSettings, teacher: Teacher | None = None) -> Learner:
    """The learner of a trainable ranker. Raises BadSetting for one that has nothing to train."""
    if isinstance(ranker, MakesLearner):
        return ranker.make_learner(settings, teacher)
    if isinstance(ranker, CascadeRanker):
        return CascadeLearner(ranker, settings, teacher)
    if isinstance(ranker, GenerativeRanker):
        return GenerativeLearner(ranker, settings, teacher)
    if isinstance(ranker, ClassifierRanker):
        return ClassifierLearner(ranker, settings)
    if isinstance(ranker, Seq2SeqClassifierRanker):
        return Seq2SeqLearner(ranker, settings)
    if isinstance(ranker, WordRanker):
        return StructureLearner(ranker, settings)
    raise _no_weights(ranker)


def require_weights(ranker: Ranker) -> HasWeights:
    """The ranker if it has weights to train. Raises BadSetting."""
    if isinstance(ranker, HasWeights):
        return ranker
    raise _no_weights(ranker)


def _no_weights(ranker: Ranker) -> BadSetting:
    return BadSetting(
        f"the ranker {ranker.name!r} has nothing to train here; use cascade, cross-encoder, "
        "classifier, generative, cosinet, rel-cnn or compare-aggregate (the weights of a fusion: `as2 tune`)"
    )


def suggest_settings(ranker: Ranker) -> TrainSettings:
    """The default settings to train a ranker with: its paper's, or those of adapting a transformer. A generative ranker
    learns to rank (RLL) from labels: more MLE makes every question likely, also given wrong passages."""
    if isinstance(ranker, WordRanker):
        if ranker.settings.get("as") == "rerank":
            return RERANK
        return LISTWISE if ranker.listwise else POINTWISE
    if isinstance(ranker, ClassifierRanker):
        return classifier.ADAPT if ranker.is_trained else classifier.TRANSFER
    if isinstance(ranker, PaperCascadeRanker):
        return cascade.PAPER
    if isinstance(ranker, GenerativeRanker) and getattr(ranker.module, "as_paper", False):
        return generative.PAPER_SEQ2SEQ if isinstance(ranker.module, Seq2SeqLM) else generative.PAPER
    return replace(ADAPT, loss="rll") if isinstance(ranker, GenerativeRanker) else ADAPT
