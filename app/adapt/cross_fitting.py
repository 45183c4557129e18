"""Cross-fitting: where few questions are held out, training questions are judged too, by copies that did not see them.

Five held-out questions can tell nothing. The training questions are divided into folds, near-duplicates on one side;
for each fold a copy of the base learns from the others as the retrain does, and is measured on it (Stone, 1974,
"Cross-validatory choice and assessment of statistical predictions"). Before and after are compared on these questions
and on the held-out ones. The copies learn from fewer questions than the version, so they show rather less than it
gains. The version itself is trained on all folds, and never on a held-out question.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from app.adapt.report import BeforeAfter
from app.adapt.splitting import group_near_duplicates
from as2core.evaluation.rankers import Evaluation, join_evaluations
from as2core.types import Question

MIN_HELD_OUT_QUESTIONS = 20  # that can tell something alone
MAX_FEW_QUESTIONS = 20  # training questions, up to which there are FOLDS_OF_FEW
FOLDS_OF_FEW, FOLDS = 3, 2  # more would take longer than the retrain


@dataclass(frozen=True, slots=True)
class Fold:
    """A copy learns from `train` and is measured on `judged_questions`, each with labels of both kinds."""

    train: tuple[Question, ...]
    judged_questions: tuple[Question, ...]


MeasureCopy = Callable[[Fold, int], Evaluation]


@dataclass(frozen=True, slots=True)
class CrossFit:
    """Training questions with what the base and the copies make of them; empty where there were no folds."""

    questions: tuple[Question, ...] = ()
    evaluations: BeforeAfter[Evaluation] | None = None

    def add_to(self, held_out: BeforeAfter[Evaluation]) -> BeforeAfter[Evaluation]:
        """Before and after over the held-out questions and these."""
        own = self.evaluations
        if own is None:
            return held_out
        return BeforeAfter(
            join_evaluations([held_out.before, own.before]), join_evaluations([held_out.after, own.after])
        )


def plan_folds(
    train: Sequence[Question],
    held_out: Sequence[Question],
    *,
    trained_on: Collection[str],
    vectors: np.ndarray | None = None,
) -> tuple[Fold, ...]:
    """The folds of the training questions; none where enough are held out. Questions that the base learnt from
    (`trained_on`: their texts) are not judged. `vectors` are the training questions', unit length `(n, width)`."""
    if len(held_out) >= MIN_HELD_OUT_QUESTIONS:
        return ()
    number = FOLDS_OF_FEW if len(train) <= MAX_FEW_QUESTIONS else FOLDS
    places: list[list[int]] = [[] for _ in range(number)]
    for group in sorted(group_near_duplicates([q.text for q in train], vectors), key=len, reverse=True):
        min(places, key=len).extend(group)
    folds = []
    for own in map(set, places):
        others = tuple(q for i, q in enumerate(train) if i not in own)
        test = tuple(q for i, q in enumerate(train) if i in own and q.has_both_labels and q.text not in trained_on)
        if test and any(q.has_both_labels for q in others):
            folds.append(Fold(others, test))
    return tuple(folds)


def cross_fit(
    folds: Sequence[Fold], measure_base: Callable[[Sequence[Question]], Evaluation], measure_copy: MeasureCopy
) -> CrossFit:
    """Measure the base on all judged questions, and each fold's copy on its own. `measure_copy` gets the fold and its
    number, trains a copy and measures it."""
    if not folds:
        return CrossFit()
    questions = tuple(q for fold in folds for q in fold.judged_questions)
    before = measure_base(questions)
    after = [measure_copy(fold, number) for number, fold in enumerate(folds)]
    return CrossFit(questions, BeforeAfter(before, join_evaluations(after)))
