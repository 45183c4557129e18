"""Answers before everything else: what makes an answer complete waits while other questions have none yet."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

MAX_WAIT_SECONDS = 2.0  # for the answers of others


class Precedence:
    """Counts the answers that somebody waits for."""

    def __init__(self) -> None:
        self._urgent, self._changed = 0, threading.Condition()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """While an answer is made."""
        with self._changed:
            self._urgent += 1
        try:
            yield
        finally:
            with self._changed:
                self._urgent -= 1
                self._changed.notify_all()

    def wait(self, seconds: float = MAX_WAIT_SECONDS) -> bool:
        """Until no answer is being made, or the time is over; whether none is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._urgent, seconds)


PRECEDENCE = Precedence()  # of this process
