"""Wrong labels that a retrain leaves out, once there are many: how many there are, and which.

How many is told by two looks, and the smaller counts. Of the pairs of which the shipped cascade is sure that they do
not answer, the share that is labelled correct: it learnt from none of these labels, and seldom errs there. And the
lowest fifth of what a model of the labels (`doubts.cross_validated`) makes of the pairs: were all labels right, it
would be near 0 there (Menon et al., "Learning from Corrupted Binary Labels via Class-Probability Estimation", ICML
2015). Taking a slip to be as likely either way, Bayes' rule gives the probability that a label is right; what is more
likely wrong is not learnt from. The label itself stays as it is.

Where many are wrong, the shipped cascade alone is a poor judge of a field it hardly knows. Then each half of the
questions is judged by a copy of it that has learnt from the other half, too; what these say counts if a model of the
labels does better with it than without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from app.services.doubts import TooFewLabels, cross_validated, said_of
from app.services.measuring import Recording
from app.services.workbench import Workbench
from as2core.errors import As2Error, NotEnoughLabels
from as2core.types import OnProgress, Question

SURE, SURE_PAIRS = 0.01, 50  # probability below which the cascade is sure of "incorrect", and so many such pairs
LOWEST = 0.2
MANY = 0.05  # a smaller share of wrong labels costs less than leaving out some that were right
AT_MOST = 0.45

Taught = Callable[[Sequence[Question], int], Any]


@dataclass(frozen=True, slots=True)
class Believed:
    """`questions` to learn from. `rate`: the share of labels taken for wrong, None where it cannot be told;
    `left_out`: (question, candidate with its label) of those not believed, the least likely first."""

    questions: tuple[Question, ...]
    rate: float | None = None
    left_out: tuple[tuple[Question, Any], ...] = ()


def shipped_judge(wb: Workbench) -> Any | None:
    """The shipped cascade, if it can say how sure it is; else None."""
    try:
        ranker = wb.models.version(wb.settings.models_dir / "cascade")
    except As2Error:
        return None
    return ranker if getattr(ranker, "calibrated", False) and hasattr(ranker, "trace_many") else None


def believed(
    judge: Any | None,
    questions: Sequence[Question],
    *,
    seed: int = 0,
    taught: Taught | None = None,
    on_progress: OnProgress | None = None,
) -> Believed:
    """The questions without the labels that are more likely wrong than right, all of them where it cannot be told or
    few labels are wrong. Every candidate has to be labelled. `taught(questions, number)` gives a copy of the judge
    that learnt from these questions, the first or the second half; without it the judge alone decides. An exception
    from `on_progress` stops it."""
    from sklearn.metrics import log_loss

    everything = Believed(tuple(questions))
    if judge is None:
        return everything
    said = _said_of_each(judge, questions, on_progress)
    given = np.array([int(c.label or 0) for q in questions for c in q.candidates])
    groups = [i for i, q in enumerate(questions) for _ in q.candidates]
    try:
        p = _of_correct(said, given, groups, seed)
    except TooFewLabels:
        return everything
    sure = np.concatenate([judge.probability(x[:, len(judge.exits) - 1]) for x in said]) < SURE
    if sure.sum() < SURE_PAIRS:
        return everything
    rate = wrong_share(p, given, sure)
    if rate < MANY:
        return replace(everything, rate=rate)
    if taught is not None and (learnt := _said_by_the_other_half(taught, questions, on_progress)):
        knowing = _of_correct([np.hstack(both) for both in zip(said, learnt, strict=True)], given, groups, seed)
        if log_loss(given, knowing) < log_loss(given, p):
            p, rate = knowing, wrong_share(knowing, given, sure)
    kept, left_out = _parted(questions, probability_right(p, given, rate))
    if not any(q.positives for q in kept) or not any(q.negatives for q in kept):
        return replace(everything, rate=rate)
    return Believed(kept, rate, left_out)


def _parted(questions: Sequence[Question], right: np.ndarray) -> tuple[tuple[Question, ...], tuple[tuple, ...]]:
    """What is believed and what is not, by the probability `(n,)` that each label is right."""
    kept, left_out, at = [], [], 0
    for q in questions:
        chances = right[at : at + len(q.candidates)]
        at += len(q.candidates)
        left_out += [(x, q, c) for x, c in zip(chances, q.candidates, strict=True) if x < 0.5]
        kept.append(replace(q, candidates=tuple(c for x, c in zip(chances, q.candidates, strict=True) if x >= 0.5)))
    left_out.sort(key=lambda found: found[0])
    return tuple(q for q in kept if q.candidates), tuple((q, c) for _, q, c in left_out)


def _said_of_each(judge: Any, questions: Sequence[Question], on_progress: OnProgress | None) -> list[np.ndarray]:
    """What a judge says of each question's candidates, `(n, features)`."""
    traces = Recording(judge, questions, on_progress).traces
    return [said_of(traces[q.text, q.candidates]) for q in questions]


def _said_by_the_other_half(
    taught: Taught, questions: Sequence[Question], on_progress: OnProgress | None
) -> list[np.ndarray]:
    """The same by judges that learnt from the half of the questions that each is not in; [] where a half teaches
    nothing."""
    halves = questions[::2], questions[1::2]
    try:
        judges = [taught(half, number) for number, half in enumerate(halves)]
    except NotEnoughLabels:
        return []
    even, odd = (_said_of_each(judges[1 - i], half, on_progress) for i, half in enumerate(halves))
    return [(odd if i % 2 else even)[i // 2] for i in range(len(questions))]


def _of_correct(said: Sequence[np.ndarray], given: np.ndarray, groups: Sequence[int], seed: int) -> np.ndarray:
    """What a model of the labels gives "correct", `(n,)`. Raises TooFewLabels."""
    return cross_validated(np.concatenate(said), given, groups, seed=seed, balance=0.0)[:, 1]


def wrong_share(p: np.ndarray, given: np.ndarray, sure: np.ndarray) -> float:
    """The share of wrong labels, at most AT_MOST: `p` (n,) is what a model of the labels gives "correct", `given` the
    labels, `sure` the pairs that surely do not answer, of which there has to be one."""
    return float(min(np.quantile(p, LOWEST), given[sure].mean(), AT_MOST))


def probability_right(p: np.ndarray, given: np.ndarray, rate: float) -> np.ndarray:
    """That each label is right `(n,)`, if `rate` of them were turned round whichever way they were: the posterior of
    the label before, given the label after and `p`, a model's probability of "correct" after."""
    before = np.clip((p - rate) / (1 - 2 * rate), 0, 1)
    if_correct = before * (1 - rate) / np.maximum(p, 1e-9)
    if_incorrect = (1 - before) * (1 - rate) / np.maximum(1 - p, 1e-9)
    return np.clip(np.where(given == 1, if_correct, if_incorrect), 0, 1)
