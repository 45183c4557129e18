import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from as2core.cascade.schedule import DropSchedule
from as2core.errors import BadSetting


def test_dropping_thirty_percent_of_128_keeps_90_then_63_then_45_then_32():
    assert DropSchedule.constant(0.3, exits=5).survivors(128) == (128, 90, 63, 45, 32)


def test_sizing_by_the_average_alive_fits_128_where_84_fit_as_the_paper_counts():
    # section 4.4 counts 44 and 28 where its own floors leave 45 and 32, so its 80.2 is our 81
    alive = DropSchedule.constant(0.3, exits=5).survivors(128)
    average = sum(layers * a for layers, a in zip((4, 2, 2, 2, 2), alive, strict=True)) / 12
    assert average == 81.0
    assert average < 84


def test_three_tenths_of_ten_is_three_although_binary_fractions_say_less():
    assert DropSchedule.constant(0.3, exits=2).survivors(10) == (10, 7)


def test_keep_stops_the_dropping_at_that_many():
    assert DropSchedule.constant(0.5, exits=5, keep=5).survivors(20) == (20, 10, 5, 5, 5)
    assert DropSchedule.constant(0.5, exits=3, keep=5).survivors(3) == (3, 3, 3)


def test_one_ratio_an_exit():
    assert DropSchedule((0.5, 0.0, 0.25)).survivors(100) == (100, 50, 50, 38)


@pytest.mark.parametrize("ratio", [-0.1, 1.0, 1.5])
def test_a_ratio_outside_zero_to_one_is_refused_by_value(ratio):
    with pytest.raises(BadSetting, match=str(ratio)):
        DropSchedule.constant(ratio, exits=3)


@given(st.integers(0, 5000), st.floats(0, 0.99), st.integers(1, 8), st.integers(1, 20))
def test_survivors_never_grow_and_never_vanish(n, ratio, exits, keep):
    alive = DropSchedule.constant(ratio, exits=exits, keep=keep).survivors(n)
    assert len(alive) == exits
    assert all(a >= b for a, b in itertools.pairwise(alive))
    assert alive[-1] >= min(n, keep)
