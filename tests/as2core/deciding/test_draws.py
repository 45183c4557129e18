"""Estimates from unequal draws: the mean over everything that could have been drawn is the truth."""

from itertools import permutations

import numpy as np
import pytest

from as2core.deciding.draws import Draw, plan_probabilities, weigh_draws
from as2core.deciding.powered import estimate_powered_mean
from as2core.errors import BadSetting

VALUES = np.array([1.0, -1.0, 0.0, 1.0, 0.5])
SIZES = np.array([5.0, 1.0, 2.0, 1.0, 1.0])


def lure_weights(pool: int, probabilities: np.ndarray) -> np.ndarray:
    """LURE's weight of each value drawn from so many, in the order drawn; the mean of weight times value is unbiased.
    `(M,)`, M at most `pool`."""
    total = len(probabilities)
    turns = np.arange(1, total + 1)
    if total == pool:
        return np.ones(total)
    return 1 + (pool - total) / (pool - turns) * (1 / ((pool - turns + 1) * np.asarray(probabilities)) - 1)


def follow(sequence, predict):
    """The draws in this order, each with its probability among what is left, and the probability of the whole order."""
    draws, chance = [], 1.0
    for t, place in enumerate(sequence):
        left = [i for i in range(len(VALUES)) if i not in sequence[:t]]
        q = SIZES[place] / SIZES[left].sum()
        predictions = predict(sequence[:t])
        filled = [VALUES[i] if i in sequence[:t] else predictions[i] for i in range(len(VALUES))]
        draws.append(Draw(place, q, predictions[place], float(np.mean(filled)), len(left), len(VALUES), -9, 9))
        chance *= q
    return draws, chance


@pytest.mark.parametrize("predict", [lambda seen: np.zeros(5), lambda seen: np.array([0.9, 0, 0, 3, 0]) + len(seen)])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_the_estimate_is_unbiased_whatever_the_predictions_are(count, predict):
    mean = 0.0
    for sequence in permutations(range(5), count):
        draws, chance = follow(sequence, predict)
        mean += chance * (weigh_draws([d.pool for d in draws]) @ [d.estimate(VALUES[d.place]) for d in draws])
    assert mean == pytest.approx(VALUES.mean())


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_without_predictions_it_is_lure(count):
    for sequence in list(permutations(range(5), count))[::7]:
        draws, _ = follow(sequence, lambda seen: np.zeros(5))
        weights = lure_weights(5, np.array([d.probability for d in draws]))
        ours = weigh_draws([d.pool for d in draws]) @ [d.estimate(VALUES[d.place]) for d in draws]
        assert ours == pytest.approx((weights * VALUES[list(sequence)]).mean())


def test_lure_s_weights_worked_by_hand():
    # N = 3, M = 2: the first is 1 + 1/2 (1/(3 * 1/2) - 1) = 5/6, the second 1 + 1/1 (1/(2 * 1/4) - 1) = 2
    assert lure_weights(3, np.array([0.5, 0.25])) == pytest.approx([5 / 6, 2])
    assert lure_weights(4, np.full(3, 1 / np.array([4, 3, 2]))) == pytest.approx([1, 1, 1])  # drawn at random
    assert lure_weights(2, np.array([0.9, 1.0])) == pytest.approx([1, 1])  # everything was drawn


def test_a_question_is_drawn_by_its_deviation_and_its_range():
    assert plan_probabilities(np.array([0.3, 0.6]), np.zeros(2)) == pytest.approx([1 / 3, 2 / 3])
    assert plan_probabilities(np.array([3.0, 0.0]), np.array([4.0, 5.0])) == pytest.approx([0.5, 0.5])
    assert plan_probabilities(np.array([3.0, 0.0]), np.array([4.0, 5.0]), caution=0) == pytest.approx([1, 0])


def test_a_powered_mean_worked_by_hand():
    # predictions 1, 1, 0, 0 mean .5; errors 0, 1 on two labelled mean .5, variance .5
    found = estimate_powered_mean([1, 1], [1, 0], [1, 1, 0, 0])
    error = (0.5 / 2 + (1 / 3) / 4) ** 0.5
    assert (found.mean, found.low) == pytest.approx((1.0, 1.0 - 1.959964 * error))


ANSWERS, FORECASTS = [1, 0, 1, 1, 0, 1, 0, 1], [0.9, 0.2, 0.6, 0.8, 0.3, 0.4, 0.1, 0.7]
REST, WEIGHTS = [0.5, 0.9, 0.1, 0.3, 0.8, 0.7, 0.2, 0.6], [2, 0.5, 1, 1, 0.5, 1, 1.5, 0.5]


@pytest.mark.parametrize(
    ("settings", "low", "high"),
    [
        ({"power": 1.0}, 0.3620843032610693, 0.9129156967389307),
        ({"power": 0.5}, 0.3549164183723149, 0.907583581627685),
        ({"power": 0.0}, 0.28952609805303303, 0.960473901946967),
        ({"weights": np.array(WEIGHTS)}, 0.39918708, 0.91331292),
    ],
)
def test_a_powered_interval_is_that_of_the_authors_package(settings, low, high):
    """`ppi_mean_ci(ANSWERS, FORECASTS, REST, alpha=0.05, lam=..., w=...)` of ppi-python 0.2.3. It divides squares by
    n and we by n - 1, so with 8 of each its intervals are shorter by the root of 7/8."""
    found = estimate_powered_mean(ANSWERS, FORECASTS, REST, **settings)
    assert found.mean == pytest.approx((low + high) / 2)
    assert (found.high - found.low) * (7 / 8) ** 0.5 == pytest.approx(high - low)


def test_the_power_that_is_chosen_makes_the_variance_least():
    y, f, rest = (np.array(x, dtype=float) for x in (ANSWERS, FORECASTS, REST[:5]))
    spread, n, count = np.concatenate([f, rest]).var(ddof=1), len(y), len(rest)
    covariance = np.cov(y, f)[0, 1]
    grid = np.linspace(
        -1, 2, 300_001
    )  # PPI++, of lambda: (var y - 2 lambda cov + lambda^2 var f) / n + lambda^2 var f / N
    variance = (y.var(ddof=1) - 2 * grid * covariance + grid**2 * spread) / n + grid**2 * spread / count
    best = grid[variance.argmin()]
    chosen, fixed = (estimate_powered_mean(y, f, rest, power=power) for power in (None, best))
    assert (chosen.mean, chosen.low) == pytest.approx((fixed.mean, fixed.low), abs=1e-5)


def test_weighted_intervals_hold_the_mean_of_what_the_draws_were_not_made_by():
    """Half of the questions are of one kind, of which four fifths of the draws are."""
    rng, runs, held = np.random.default_rng(1), 1000, 0
    for _ in range(runs):
        kind, rest = (rng.random(80) < 0.8).astype(float), (rng.random(600) < 0.5).astype(float)
        values = 0.4 * kind + rng.normal(0.1, 0.3, 80)  # 0.3 on average
        weights = np.where(kind == 1, 0.5 / 0.8, 0.5 / 0.2)
        found = estimate_powered_mean(values, 0.5 * kind, 0.5 * rest, weights=weights)
        held += found.low <= 0.3 <= found.high
    assert 0.93 <= held / runs <= 0.97


def test_without_power_it_is_the_mean_of_the_labelled():
    values = np.array([0.2, 0.9, 0.4, 0.4])
    found = estimate_powered_mean(values, values[::-1], np.ones(9), power=0.0)
    margin = 1.959964 * values.std(ddof=1) / 2
    assert (found.low, found.high) == pytest.approx((values.mean() - margin, values.mean() + margin))


@pytest.mark.parametrize(("noise", "power"), [(0.1, 1.0), (0.1, None), (9.0, None)])
def test_powered_intervals_hold_the_mean_and_are_shorter_for_good_predictions(noise, power):
    rng = np.random.default_rng(0)
    held, widths, plain = 0, [], []
    for _ in range(1000):
        truth = rng.normal(0.3, 1, 600)
        predictions = truth + rng.normal(0.5, noise, 600)
        found = estimate_powered_mean(truth[:60], predictions[:60], predictions[60:], power=power)
        held += found.low <= 0.3 <= found.high
        widths.append(found.high - found.low)
        plain.append(2 * 1.96 * truth[:60].std(ddof=1) / 60**0.5)
    assert 0.93 <= held / 1000 <= 0.97
    assert np.mean(widths) < (0.5 if noise < 1 else 1.02) * np.mean(plain)


def test_too_few_labelled_questions_are_refused():
    with pytest.raises(BadSetting, match=r"1 labelled and 3 other"):
        estimate_powered_mean([1], [1], [1, 1, 1])
