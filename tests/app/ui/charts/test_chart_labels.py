"""Labels beside a chart, pushed apart."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as some

from app.ui.charts.labels import find_shifts, spread_labels


def pixel(rank, *, height, low, high):
    return math.log(rank / low) / math.log(high / low) * height


def test_labels_that_stand_far_apart_stay_at_their_ranks():
    assert spread_labels([1, 10, 100], height=400, low=1, high=100, gap=18) == pytest.approx([1, 10, 100])


def test_two_labels_on_one_rank_are_one_gap_apart_and_the_first_keeps_its_place():
    # 200 pixels a decade: 20 pixels below rank 10 is 10 ** 1.1
    assert spread_labels([10, 10], height=400, low=1, high=100, gap=20) == pytest.approx([10, 10**1.1])


def test_labels_that_run_out_at_the_bottom_are_pushed_up():
    assert spread_labels([100, 100], height=400, low=1, high=100, gap=20) == pytest.approx([10**1.9, 100])


@given(some.lists(some.integers(1, 1000), max_size=12))
def test_no_two_labels_are_closer_than_the_gap_and_their_order_is_that_of_the_ranks(ranks):
    axis = {"height": 400, "low": 0.8, "high": 1120}
    places = [pixel(p, **axis) for p in spread_labels(ranks, **axis, gap=18)]
    by_rank = [places[i] for i in sorted(range(len(ranks)), key=lambda i: ranks[i])]
    assert all(b - a >= 18 - 1e-6 for a, b in itertools.pairwise(by_rank))
    assert all(p <= 400 + 1e-6 for p in places)


def test_labels_side_by_side_stay_and_those_on_one_place_are_moved_as_little_as_they_can():
    assert find_shifts([(0, 50, 100), (60, 90, 100), (10, 40, 100), (10, 40, 100)]) == [0, 0, -15, 15]


def test_labels_at_an_edge_are_moved_inwards():
    assert find_shifts([(0, 50, 0)] * 3, low=0, high=100) == [0, 15, 30]
