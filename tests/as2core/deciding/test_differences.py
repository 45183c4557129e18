"""Bounds and weights of missing labels, against every possible labelling of small lists."""

from itertools import product

import numpy as np
import pytest

from as2core.deciding.differences import (
    UNKNOWN,
    OrderPair,
    bound_difference,
    choose_item,
    measure_difference,
    weigh_items,
)
from as2core.errors import BadSetting
from as2core.metrics import measure_each
from as2core.types import Candidate, Question


def pair(order_a, order_b, labels):
    return OrderPair("q", np.array(order_a), np.array(order_b), np.array(labels))


def complete(p):
    """Every labelling that agrees with the labels there are."""
    options = [(0, 1) if label == UNKNOWN else (label,) for label in p.labels]
    return np.array(list(product(*options)), dtype=bool)


def draw_pairs(count, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = int(rng.integers(1, 7))
        yield pair(rng.permutation(n), rng.permutation(n), rng.choice([UNKNOWN, UNKNOWN, 0, 1], n))


def test_a_difference_is_that_of_trec_eval():
    for p in draw_pairs(20):
        for labels in complete(p)[:4]:
            question = Question("q", "?", tuple(Candidate(str(i), "", int(x)) for i, x in enumerate(labels)))
            scores = []
            for places in (p.order_a, p.order_b):
                s = np.empty(len(places))
                s[places] = -np.arange(len(places))
                scores.append({"q": s})
            for measure in ("P@1", "RR", "AP"):
                a, b = (measure_each([question], s, (measure,))[measure]["q"] for s in scores)
                assert measure_difference(p, labels[None], measure)[0] == pytest.approx(a - b)


@pytest.mark.parametrize("measure", ["P@1", "RR", "AP"])
def test_bounds_are_those_of_every_labelling(measure):
    for p in draw_pairs(200):
        low, high = bound_difference(p, measure)
        values = measure_difference(p, complete(p), measure)
        if measure == "AP":
            assert low <= values.min() + 1e-12 and high >= values.max() - 1e-12
        else:
            assert (low, high) == pytest.approx((values.min(), values.max()))


def test_the_bounds_of_ap_close_with_the_last_label():
    p = pair([0, 1, 2], [2, 0, 1], [0, 1, 1])
    assert bound_difference(p, "AP") == pytest.approx((7 / 12 - 5 / 6, 7 / 12 - 5 / 6))  # (1/2 + 2/3)/2, (1 + 2/3)/2


def test_two_rankers_of_one_order_differ_by_nothing_whatever_the_labels():
    for measure in ("P@1", "RR", "AP"):
        assert bound_difference(pair([1, 0], [1, 0], [UNKNOWN, UNKNOWN]), measure) == (0, 0)


@pytest.mark.parametrize(
    ("measure", "labels", "weights"),
    [
        # A ranks 0 1 2, B ranks 2 1 0
        ("P@1", [-1, -1, -1], [1, 0, 1]),  # only the first of each
        ("P@1", [-1, -1, 1], [1, 0, 0]),
        ("RR", [-1, -1, -1], [2 / 3, 0, 2 / 3]),  # the first of one is the last of the other: 1 - 1/3
        ("RR", [1, -1, -1], [0, 1 / 6, 2 / 3]),  # B's RR is 1/3: with 1 it is 1/2, with 2 it is 1
        # A minus B by the labels of 1 and 2: none 0, only 1: 1/2 - 1/2, only 2: 1/3 - 1, both: (1/2 + 2/3)/2 - 1
        ("AP", [0, -1, -1], [0, 1 / 4, 2 / 3]),
    ],
)
def test_an_item_weighs_what_its_label_changes(measure, labels, weights):
    p = pair([0, 1, 2], [2, 1, 0], labels)
    assert weigh_items(p, measure) == pytest.approx(np.array(weights))


def test_weights_are_changes_between_two_labellings():
    for p in draw_pairs(60, seed=1):
        for measure in ("P@1", "RR", "AP"):
            weights = weigh_items(p, measure)
            for i in range(len(p.labels)):
                if p.labels[i] != UNKNOWN:
                    assert weights[i] == 0
                    continue
                changes = []
                for others in (0, 1):
                    filled = np.where(p.labels == UNKNOWN, others, p.labels)
                    values = []
                    for own in (0, 1):
                        filled[i] = own
                        values.append(measure_difference(p, filled[None] == 1, measure)[0])
                    changes.append(abs(values[1] - values[0]))
                assert weights[i] == pytest.approx(max(changes))


def test_of_equal_weights_the_likelier_answer_comes_first():
    p = pair([0, 1, 2], [2, 1, 0], [UNKNOWN] * 3)
    assert choose_item(p, "P@1", np.array([0.2, 0.9, 0.4])) == 2
    assert choose_item(p, "P@1", np.array([0.5, 0.9, 0.4])) == 0


def test_scores_for_other_candidates_are_refused():
    with pytest.raises(BadSetting, match=r"question 'q': 2 and 1 scores for 2 candidates"):
        OrderPair.of_scores("q", np.zeros(2), np.zeros(1), np.zeros(2))


def test_both_ends_of_ap_are_of_the_same_number_of_correct_candidates():
    # A ranks 0 1 2, B ranks 1 2 0, and 0 is correct. With one of the others B has it first: (1 + 2/3)/2 at least
    p = pair([0, 1, 2], [1, 2, 0], [1, UNKNOWN, UNKNOWN])
    # A minus B: none 1 - 1/3, one (1 + 2/3)/2 or (1 + 1)/2 minus (1/2 + 2/3)/2 or (1 + 2/3)/2, both 0
    assert bound_difference(p, "AP") == pytest.approx((0.0, 2 / 3))


def test_the_label_comes_first_that_is_expected_to_bring_the_bounds_closest():
    # both rank 0 first: what its label changes is the same for both, but if it is correct RR is known
    p = pair([0, 1, 2, 3], [0, 2, 1, 3], [UNKNOWN] * 4)
    assert weigh_items(p, "RR")[0] == 0 < weigh_items(p, "RR")[1]
    assert choose_item(p, "RR", np.array([0.9, 0.3, 0.3, 0.1])) == 0
    assert choose_item(p, "RR", np.array([0.1, 0.6, 0.3, 0.1])) != 0
