"""One learner a kind of ranker; `learner_for` finds it."""

from __future__ import annotations

from as2core.errors import BadSetting
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.generative import GenerativeRanker
from as2core.training.learners.base import Learner, Teacher
from as2core.training.learners.cascade import CascadeLearner
from as2core.training.learners.generative import GenerativeLearner
from as2core.training.settings import TrainSettings

__all__ = ["Learner", "Teacher", "learner_for"]


def learner_for(ranker: object, settings: TrainSettings, teacher: Teacher | None = None) -> Learner:
    """The learner of a trainable ranker. Raises BadSetting for one that has nothing to train."""
    if isinstance(ranker, CascadeRanker):
        return CascadeLearner(ranker, settings, teacher)
    if isinstance(ranker, GenerativeRanker):
        return GenerativeLearner(ranker, settings, teacher)
    raise BadSetting(
        f"the ranker {getattr(ranker, 'name', ranker)!r} has nothing to train; use cascade, cross-encoder or generative"
    )
