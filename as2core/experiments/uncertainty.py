"""A mean over training seeds and questions, with an interval that holds for other seeds and other questions.

Every seed answers the same questions, so the two are crossed: value = mean + seed + question + rest, all random. The
variance of the mean is estimated from the mean squares of the two-way table, in two parts: of seeds with the rest, and
of questions. Each part has Student's margin on its own degrees of freedom, and the margin of the sum is the root of
their squares (Howe, "Approximate confidence limits on the mean of X + Y", 1974).

A bootstrap that draws seeds and then questions is the usual alternative. Of the two to five seeds that one can afford
it draws too few, and with three its intervals are too short. One seed gives an interval over questions alone, which
says nothing about another training; `Estimate.seeds` tells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from as2core.errors import BadSetting
from as2core.metrics import detect_by_error

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean, its interval (None of a single value), and the smallest difference from a bound that such a table would
    have shown four times in five."""

    mean: float
    low: float | None
    high: float | None
    detectable: float | None
    seeds: int
    questions: int


def estimate_mean(values: np.ndarray, *, level: float = LEVEL) -> Estimate:
    """Of a table `(seeds, questions)`. One seed: over questions alone; one question: over seeds alone. Raises
    BadSetting for a table without a value."""
    from scipy.stats import t

    table = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if not table.size:
        raise BadSetting("no values to estimate a mean from: give those of one seed and one question or more")
    seeds, questions = table.shape
    mean, errors = float(table.mean()), _standard_errors(table)
    if not errors:
        return Estimate(mean, None, None, None, seeds, questions)
    margin = math.hypot(*(float(t.ppf((1 + level) / 2, freedom)) * error for error, freedom in errors))
    detectable = math.hypot(*(detect_by_error(error, freedom=freedom, level=level) for error, freedom in errors))
    return Estimate(mean, mean - margin, mean + margin, detectable, seeds, questions)


def _standard_errors(table: np.ndarray) -> list[tuple[float, int]]:
    """The parts of the mean's standard error, each with its degrees of freedom; none of a single value."""
    seeds, questions = table.shape
    if 1 in table.shape:
        return [(float(table.std(ddof=1)) / math.sqrt(table.size), table.size - 1)] if table.size > 1 else []
    by_seed, by_question = table.mean(1), table.mean(0)
    rest = table - by_seed[:, None] - by_question[None, :] + table.mean()
    rest_square = (rest**2).sum() / ((seeds - 1) * (questions - 1))
    seed_square, question_square = questions * by_seed.var(ddof=1), seeds * by_question.var(ddof=1)
    of_questions = max(question_square - rest_square, 0.0)  # the rest is in the seeds' mean square already
    return [
        (math.sqrt(seed_square / table.size), seeds - 1),
        (math.sqrt(of_questions / table.size), questions - 1),
    ]
