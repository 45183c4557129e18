"""The interval over seeds and questions: by hand, and by experiments whose truth is known."""

import math

import numpy as np
import pytest
from scipy import stats

from as2core.errors import BadSetting
from as2core.experiments.uncertainty import estimate_mean
from as2core.metrics import find_detectable_difference


def test_one_seed_gives_student_s_interval_over_questions():
    values = np.array([0.1, 0.4, -0.2, 0.3, 0.0, 0.6])
    interval = stats.ttest_1samp(values, 0).confidence_interval()
    found = estimate_mean(values)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert (found.seeds, found.questions) == (1, 6)


def test_two_seeds_by_two_questions_by_hand():
    # means by seed .3, .5; by question .2, .6; mean .4; what is left of each value is .1 or -.1
    table = np.array([[0.2, 0.4], [0.2, 0.8]])
    seed, question, rest = 2 * 0.02, 2 * 0.08, 4 * 0.01  # mean squares, one degree of freedom each
    errors = math.sqrt(seed / 4), math.sqrt((question - rest) / 4)
    margin = 12.7062 * math.hypot(*errors)  # Student's t for one degree of freedom
    found = estimate_mean(table)
    assert found.mean == pytest.approx(0.4)
    assert (found.low, found.high) == pytest.approx((0.4 - margin, 0.4 + margin), abs=1e-4)
    assert found.detectable == pytest.approx((12.7062 + 1.3764) * math.hypot(*errors), abs=1e-3)


def test_seeds_that_agree_to_the_last_digit_add_nothing():
    once = np.array([0.1, 0.4, -0.2, 0.3])
    assert estimate_mean(np.stack([once] * 3)).low == pytest.approx(estimate_mean(once).low)


@pytest.mark.parametrize(("seeds", "questions", "rest"), [(0.2, 0.3, 0.4), (0.0, 0.3, 0.4), (0.3, 0.0, 0.1)])
def test_nineteen_intervals_in_twenty_hold_the_true_mean(seeds, questions, rest):
    rng, covered, runs = np.random.default_rng(0), 0, 2000
    for _ in range(runs):
        table = seeds * rng.normal(size=(3, 1)) + questions * rng.normal(size=(1, 40)) + rest * rng.normal(size=(3, 40))
        found = estimate_mean(0.5 + table)
        covered += found.low <= 0.5 <= found.high
    assert covered / runs > 0.93


def test_few_seeds_of_trainings_that_differ_give_a_wide_interval():
    rng = np.random.default_rng(2)
    table = rng.normal(size=(3, 1)) + 0.01 * rng.normal(size=(3, 500))
    of_seeds = stats.ttest_1samp(table.mean(1), 0).confidence_interval()
    found = estimate_mean(table)
    assert (found.low, found.high) == pytest.approx((of_seeds.low, of_seeds.high), rel=0.01)


def test_the_detectable_difference_of_many_questions_is_that_of_the_paired_test():
    values = np.random.default_rng(1).normal(size=2000)
    assert estimate_mean(values).detectable == pytest.approx(find_detectable_difference(values), rel=1e-3)


def test_a_single_value_has_no_interval_and_no_value_no_mean():
    alone = estimate_mean(np.array([[0.3]]))
    assert (alone.mean, alone.low, alone.high, alone.detectable) == (0.3, None, None, None)
    with pytest.raises(BadSetting, match="one seed"):
        estimate_mean(np.empty((0, 4)))
