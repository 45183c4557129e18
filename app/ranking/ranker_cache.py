"""Results that are cached with the ranker that computed them, for as long as it is loaded; the least recently used go
first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import TypeVar, cast
from weakref import WeakKeyDictionary

T = TypeVar("T")
Key = tuple[object, ...]


class RankerCache:
    """At most `size` results a ranker. Threads may share it; two that need one result at once may both compute it."""

    def __init__(self, size: int) -> None:
        self._size, self._lock = size, Lock()
        self._caches: WeakKeyDictionary[object, OrderedDict[Key, object]] = WeakKeyDictionary()

    def get_or_compute(self, ranker: object, key: Key, compute: Callable[[], T]) -> T:
        """`key` alone tells the results of a ranker apart, so it names the kind of the result where there are two."""
        with self._lock:
            cache = self._caches.setdefault(ranker, OrderedDict())
            if key in cache:
                cache.move_to_end(key)
                return cast("T", cache[key])
        result = compute()
        with self._lock:
            cache[key] = result
            while len(cache) > self._size:
                cache.popitem(last=False)
        return result
