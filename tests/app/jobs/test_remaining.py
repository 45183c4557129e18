"""How long a job still takes."""

import pytest

from app.jobs.remaining import describe_range, describe_remaining, find_remaining


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (2, 4, "about 5 s"),
        (14, 31, "15 to 35 s"),
        (61, 89, "65 to 90 s"),
        (70, 130, "2 to 3 min"),
        (100, 110, "about 2 min"),
        (4 * 3600, 6 * 3600 - 9, "4 to 6 h"),
    ],
)
def test_a_range_is_rounded_to_what_one_holds_in_mind(low, high, words):
    assert describe_range(low, high) == words


@pytest.mark.parametrize(
    ("seconds", "done", "total", "words"),
    [
        (0, 0, 40, ""),
        (9, 1, 40, ""),
        (4, 2, 22, ", 30 to 50 s left"),  # 40 s at 2 s a step, a quarter less or more
        (80, 40, 40, ""),
    ],
)
def test_steps_alike_take_as_long_as_those_before_a_quarter_less_or_more(seconds, done, total, words):
    assert describe_remaining(seconds, done, total) == words
    assert find_remaining(f"1,200 of 9,000 passages have vectors{words}") == words
