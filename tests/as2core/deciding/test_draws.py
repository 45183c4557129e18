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


def test_the_weights_of_draws_worked_by_hand():
    assert weigh_draws([3, 2]) == pytest.approx([1 / 4, 3 / 4])  # 1 / (3 * 2) and 1 / (2 * 1)
    assert weigh_draws([3, 2, 1]).tolist() == [0, 0, 1]  # the last of a pool of one knows all the others


def test_a_question_is_drawn_by_its_deviation_and_its_range():
    assert plan_probabilities(np.array([0.3, 0.6]), np.zeros(2)) == pytest.approx([1 / 3, 2 / 3])
    assert plan_probabilities(np.array([3.0, 0.0]), np.array([4.0, 5.0])) == pytest.approx([0.5, 0.5])
    assert plan_probabilities(np.array([3.0, 0.0]), np.array([4.0, 5.0]), caution=0) == pytest.approx([1, 0])


def test_a_powered_mean_worked_by_hand():
    # draws: .6^2 .5^2 + .4^2 1^2 = .25; questions: variance 1/4 and mean square .09 / 2, over 4 - 1
    mean = estimate_powered_mean(
        0.2, np.array([0.5, -1.0]), np.array([0.6, 0.4]), np.array([0, 0, 1, 1]), np.array([0, 0, 0.3, 0.3])
    )
    margin = 1.959964 * (0.25 + (0.25 + 0.045) / 3) ** 0.5
    assert (mean.mean, mean.low, mean.high) == pytest.approx((0.2, 0.2 - margin, 0.2 + margin))


def test_of_known_questions_it_is_the_interval_of_their_mean():
    values, none = np.array([0.2, 0.9, 0.4, 0.4]), np.zeros(3)
    mean = estimate_powered_mean(float(values.mean()), none, np.full(3, 1 / 3), values, np.zeros(4))
    margin = 1.959964 * values.std(ddof=1) / 2
    assert (mean.low, mean.high) == pytest.approx((values.mean() - margin, values.mean() + margin))


def draw_some(rng, values, predictions, deviation, count, sizes):
    """The estimate of other questions' mean from `count` of these, drawn one after another by the `sizes`."""
    known, draws = np.zeros(len(values), dtype=bool), []
    for _ in range(count):
        base, left = float(np.where(known, values, predictions).mean()), np.flatnonzero(~known)
        q = sizes[left] / sizes[left].sum()
        i = rng.choice(len(left), p=q)
        place = int(left[i])
        draws.append(Draw(place, q[i], predictions[place], base, len(left), len(values), -9, 9))
        known[place] = True
    weights = weigh_draws([d.pool for d in draws])
    estimates = np.array([d.estimate(values[d.place]) for d in draws])
    return estimate_powered_mean(
        float(weights @ estimates), estimates - [d.base for d in draws], weights, np.where(known, values, predictions),
        np.where(known, 0.0, deviation),
    )  # fmt: skip


@pytest.mark.parametrize(("noise", "count"), [(0.3, 15), (0.3, 39), (1.0, 15), (1.0, 39)])
def test_powered_intervals_hold_the_mean_and_are_shorter_for_good_predictions(noise, count):
    """Predictions are right on average, and off by the `noise`; 15 of 40 questions are known, or 39."""
    rng, runs = np.random.default_rng(2), 400
    held, widths = 0, []
    for _ in range(runs):
        predictions = rng.normal(0.3, 1, 40)
        values, sizes = predictions + rng.normal(0, noise, 40), rng.uniform(0.5, 1.5, 40)
        mean = draw_some(rng, values, predictions, noise, count, sizes)
        held += mean.low <= 0.3 <= mean.high
        widths.append(mean.high - mean.low)
    assert 0.93 <= held / runs <= 0.97
    of_known = 2 * 1.96 * ((1 + noise**2) / count) ** 0.5  # of the known questions alone
    assert np.mean(widths) < (0.7 if noise < 1 and count == 15 else 1.02) * of_known


@pytest.mark.parametrize("offset", [0.0, 0.3])
def test_powered_intervals_hold_the_mean_of_what_the_draws_were_not_made_by(offset):
    """Half of the questions are of a kind with larger values, which is drawn four times as often. Predictions say half
    of it, and are off by the `offset` beside."""
    rng, runs, held, means = np.random.default_rng(1), 400, 0, []
    for _ in range(runs):
        kind = (rng.random(40) < 0.5).astype(float)
        values = 0.4 * kind + rng.normal(0.1, 0.3, 40)  # 0.3 on average
        mean = draw_some(rng, values, 0.2 * kind + offset, 0.3, 15, np.where(kind == 1, 0.8, 0.2))
        held += mean.low <= 0.3 <= mean.high
        means.append(mean.mean)
    assert held / runs >= 0.93
    assert np.mean(means) == pytest.approx(0.3, abs=4 * np.std(means) / runs**0.5)


def test_one_question_tells_nothing_about_others():
    with pytest.raises(BadSetting, match="1 questions: two at least"):
        estimate_powered_mean(0.5, np.zeros(2), np.full(2, 0.5), np.array([0.5]), np.zeros(1))
