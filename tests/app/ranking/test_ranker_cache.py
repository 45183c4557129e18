"""What a ranker computed is there again until more recent results take its place, or the ranker goes."""

import gc
from weakref import ref

from app.ranking.ranker_cache import RankerCache


class Ranker:
    pass


def list_computed(cache, ranker, *keys):
    """Those of the keys that were computed, not read from the cache."""
    computed = []

    def compute(key):
        computed.append(key)
        return key.upper()

    for key in keys:
        assert cache.get_or_compute(ranker, (key,), lambda key=key: compute(key)) == key.upper()
    return computed


def test_the_least_recently_used_result_goes_first():
    cache, ranker = RankerCache(2), Ranker()
    assert list_computed(cache, ranker, "a", "b", "a", "c") == ["a", "b", "c"]
    assert list_computed(cache, ranker, "a", "c", "b") == ["b"]


def test_each_ranker_has_its_own_results_and_takes_them_with_it():
    cache, first, second = RankerCache(2), Ranker(), Ranker()
    assert list_computed(cache, first, "a") == list_computed(cache, second, "a") == ["a"]
    gone = ref(cache.get_or_compute(first, ("result",), Ranker))
    assert gone() is cache.get_or_compute(first, ("result",), Ranker)
    del first
    gc.collect()
    assert gone() is None
