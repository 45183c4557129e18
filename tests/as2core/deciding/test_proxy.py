"""How probable a candidate is before it is labelled: the guess by hand, and what is learnt by another minimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

from as2core.deciding.proxy import RankProxy

RANKS_A, RANKS_B = np.array([1, 2, 3, 4, 1, 2]), np.array([1, 1, 2, 4, 3, 2])
NONE = np.full(6, -1)


def test_without_a_label_the_odds_are_even_at_the_top_of_both_and_fall_with_either_rank():
    guesses = RankProxy(RANKS_A, RANKS_B).predict(NONE)
    assert guesses[0] == 0.5
    assert guesses == pytest.approx((RANKS_A * RANKS_B) ** -0.7 / (1 + (RANKS_A * RANKS_B) ** -0.7))  # odds (ab)^-.7


def test_without_a_label_given_probabilities_are_taken_as_they_are():
    probabilities = np.array([0.5, 0.9, 0.2, 0.01, 0.6, 0.99])
    assert RankProxy(RANKS_A, RANKS_B, probabilities).predict(NONE) == pytest.approx(probabilities)
    assert RankProxy(RANKS_A[:2], RANKS_B[:2], np.array([0.0, 1.0])).predict(NONE[:2]) == pytest.approx(
        [expit(-6), expit(6)]
    )


@pytest.mark.parametrize("probabilities", [None, np.array([0.5, 0.9, 0.2, 0.01, 0.6, 0.99])])
def test_what_is_learnt_is_the_mode_under_a_gaussian_around_the_guess(probabilities):
    labels = np.array([1, 0, 1, -1, 0, -1])
    columns = [np.ones(6), np.log(RANKS_A), np.log(RANKS_B)]
    start, precision = np.array([0, -0.7, -0.7]), np.array([0.3, 3, 3])
    if probabilities is not None:
        columns.append(logit(probabilities))
        start, precision = np.array([0, 0, 0, 1.0]), np.array([0.3, 3, 3, 2])
    x, is_known = np.stack(columns, axis=1), labels >= 0

    def lose(weights):
        signs = 2 * labels[is_known] - 1
        return np.logaddexp(0, -signs * (x[is_known] @ weights)).sum() + precision @ (weights - start) ** 2 / 2

    best = minimize(lose, start, tol=1e-12).x
    assert RankProxy(RANKS_A, RANKS_B, probabilities).predict(labels) == pytest.approx(expit(x @ best), abs=1e-5)
