"""What took long to read or count, for some seconds: bounded, so that a server that runs for months keeps little."""

import threading
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class TimedCache(Generic[K, V]):
    """At most `size` values, each for the seconds that it was put in for; of more, those put in last. Safe to share
    between threads. `clock`: in seconds, never put back."""

    def __init__(self, size: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.size, self._clock = size, clock
        self._entries: dict[K, tuple[float, V]] = {}  # until when, in the order they were put in
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many it holds, those that are over included."""
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """None if there is none, or its time is over."""
        with self._lock:
            until, value = self._entries.get(key, (0.0, None))
            return value if self._clock() < until else None

    def put(self, key: K, value: V, seconds: float) -> None:
        """In place of the key's former value; what is over goes."""
        with self._lock:
            now = self._clock()
            others = {k: entry for k, entry in self._entries.items() if k != key and now < entry[0]}
            for oldest in list(others)[: max(0, len(others) - self.size + 1)]:
                del others[oldest]
            self._entries = {**others, key: (now + seconds, value)}

    def replace(self, key: K, value: V) -> None:
        """In place of the key's value, for the rest of its time; nothing where that is over."""
        with self._lock:
            until, _ = self._entries.get(key, (0.0, None))
            if self._clock() < until:
                self._entries = {**self._entries, key: (until, value)}
