"""Writes that nobody waits for: they are made soon after they were added, and at once where somebody needs them."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

log = logging.getLogger(__name__)
DELAY_SECONDS = 1.0  # in which the page that shows the result is drawn


@dataclass(eq=False)
class _Write:
    act: Callable[[], None]
    due: float
    lock: threading.Lock = field(default_factory=threading.Lock)  # held while it is made
    is_done: bool = False


class LaterWrites:
    """The writes that are due, by the id of what they are about. One thread makes them in their order; `finish` makes
    those of an id in the caller's, and waits where the thread is at it. An act has to handle its own errors; what it
    raises is logged."""

    def __init__(self, delay: float = DELAY_SECONDS) -> None:
        self.delay = delay  # seconds
        self._writes: list[tuple[int, _Write]] = []
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, key: int, act: Callable[[], None]) -> None:
        with self._changed:
            self._writes.append((key, _Write(act, time.monotonic() + self.delay)))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="later writes", daemon=True)
                self._thread.start()
                atexit.register(self.finish)  # the server ends without closing its workbench
            self._changed.notify()

    def finish(self, key: int | None = None) -> None:
        """Every write of this id is made when this returns; None: of all."""
        with self._changed:
            writes = [w for of, w in self._writes if key is None or of == key]
        for write in writes:
            self._make(write)

    def close(self) -> None:
        """`finish` all, and end the thread."""
        self.finish()
        atexit.unregister(self.finish)
        with self._changed:
            self._thread = None
            self._changed.notify()

    def _make(self, write: _Write) -> None:
        with write.lock:
            if write.is_done:
                return
            write.is_done = True
            try:
                write.act()
            except Exception:
                log.exception("a later write failed")
        with self._changed:
            self._writes = [(key, w) for key, w in self._writes if w is not write]

    def _work(self) -> None:
        me = threading.current_thread()
        while True:
            with self._changed:
                while not self._writes and self._thread is me:
                    self._changed.wait()
                if not self._writes:
                    return
                write = self._writes[0][1]
                remaining = write.due - time.monotonic()
                if remaining > 0:
                    self._changed.wait(remaining)
                    continue
            self._make(write)
