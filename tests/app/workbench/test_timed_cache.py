"""A value for some seconds, and never more than so many of them."""

import pytest

from app.workbench.timed_cache import TimedCache


@pytest.fixture
def now():
    return [0.0]


@pytest.fixture
def cache(now):
    return TimedCache(3, clock=lambda: now[0])


def test_a_value_is_there_for_its_seconds(cache, now):
    cache.put("a", 1, seconds=10)
    now[0] = 9.9
    assert cache.get("a") == 1
    now[0] = 10.0
    assert cache.get("a") is None


def test_a_key_without_a_value_has_none(cache):
    assert cache.get("a") is None


def test_a_new_value_takes_the_place_and_the_time_of_the_former(cache, now):
    cache.put("a", 1, seconds=10)
    now[0] = 9.0
    cache.put("a", 2, seconds=10)
    now[0] = 18.0
    assert cache.get("a") == 2
    assert len(cache) == 1


def test_a_value_may_be_replaced_for_the_rest_of_its_time(cache, now):
    cache.put("a", 1, seconds=10)
    now[0] = 9.0
    cache.replace("a", 2)
    cache.replace("b", 3)
    assert (cache.get("a"), cache.get("b")) == (2, None)
    now[0] = 10.0
    cache.replace("a", 3)
    assert cache.get("a") is None


def test_what_is_over_goes_with_the_next_that_is_put_in(cache, now):
    cache.put("a", 1, seconds=10)
    cache.put("b", 2, seconds=30)
    now[0] = 20.0
    cache.put("c", 3, seconds=10)
    assert len(cache) == 2
    assert cache.get("b") == 2


def test_of_more_than_it_holds_the_oldest_go(cache):
    for number, key in enumerate("abcde"):
        cache.put(key, number, seconds=10)
    assert [cache.get(key) for key in "abcde"] == [None, None, 2, 3, 4]
    cache.put("c", 5, seconds=10)  # it is the newest now
    cache.put("f", 6, seconds=10)
    assert [cache.get(key) for key in "cdef"] == [5, None, 4, 6]
