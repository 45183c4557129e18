"""The papers' figures of cost and memory, and the front of what nothing both cheaper and better beats."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from as2core.cascade.schedule import DropSchedule
from as2core.cost import average_batch, cascade_cost, pareto, sequential_cost

LAYERS = (4, 6, 8, 10, 12)


def shares(ratio):
    return [(1 - ratio) ** i for i in range(5)]


@pytest.mark.parametrize(("ratio", "saved"), [(0.3, 0.37), (0.4, 0.45), (0.5, 0.51)])
def test_the_cascade_saves_what_table_3_says(ratio, saved):
    assert 1 - cascade_cost(LAYERS, shares(ratio)) == pytest.approx(saved, abs=0.005)
    counted = DropSchedule.constant(ratio, exits=5).survivors(128)
    assert 1 - cascade_cost(LAYERS, counted) == pytest.approx(saved, abs=0.007)


@pytest.mark.parametrize(("ratio", "more"), [(0.3, 0.53), (0.4, 0.18)])
def test_the_sequential_ranker_costs_what_table_3_says(ratio, more):
    assert sequential_cost(LAYERS, shares(ratio)) - 1 == pytest.approx(more, abs=0.01)


def test_at_half_the_sequential_ranker_saves_a_twelfth_where_the_paper_says_a_tenth():
    # by hand: (4 + 6/2 + 8/4 + 10/8 + 12/16) / 12 = 11/12
    assert sequential_cost(LAYERS, shares(0.5)) == pytest.approx(11 / 12)
    assert 1 - sequential_cost(LAYERS, shares(0.5)) == pytest.approx(0.10, abs=0.02)


def test_the_cascade_is_about_two_times_cheaper_than_the_sequential_ranker_at_the_same_ratio():
    for ratio in (0.3, 0.4, 0.5):  # section 5.4: between 1.9 and 2.4 times
        assert 1.8 < sequential_cost(LAYERS, shares(ratio)) / cascade_cost(LAYERS, shares(ratio)) < 2.5


def test_the_papers_average_batch_is_80_2_and_lets_52_percent_more_through():
    average = average_batch(LAYERS, (128, 90, 63, 44, 28))  # the numbers alive in section 4.3.2
    assert average == pytest.approx(80.2, abs=0.05)
    assert average < 84
    throughput = 128 / 84
    assert throughput == pytest.approx(1.52, abs=0.005)


def test_without_dropping_a_cascade_costs_the_whole_model_and_a_sequence_the_sum_of_its_models():
    assert cascade_cost(LAYERS, [100] * 5) == 1
    assert sequential_cost(LAYERS, [100] * 5) == pytest.approx(40 / 12)


def test_the_front_is_what_nothing_cheaper_and_better_beats():
    assert pareto([(1, 5), (2, 4), (2, 7), (3, 7), (4, 9)]) == [True, False, True, False, True]
    assert pareto([(1, 5), (1, 5)]) == [True, True]
    assert pareto([]) == []


@given(some.lists(some.tuples(some.integers(0, 5), some.integers(0, 5)), max_size=12))
def test_the_front_is_that_of_comparing_every_pair(points):
    def beaten(cost, value):
        return any(c <= cost and v >= value and (c < cost or v > value) for c, v in points)

    assert pareto(points) == [not beaten(*p) for p in points]
