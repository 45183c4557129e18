"""Questions of the pages are ranked in the order in which they came, as many at a time as there are cores.

Side by side they would share the cores, and of twenty that come at once each would be answered when the last one is. A
question whose reader has left goes out of the line: what hears of its waiting raises.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from as2core.system.cores import count_cores

REPORT_SECONDS = 0.5  # between two reports of one that waits


class Line:
    """A line whose first `limit` have their turn."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._line: list[object] = []
        self._changed = threading.Condition()

    @contextmanager
    def take(self, on_wait: Callable[[int], None] = lambda ahead: None) -> Iterator[None]:
        """Stand in line until it is one's turn, and have it. `on_wait` hears now and then how many are before; what it
        raises ends the waiting."""
        ticket = object()
        with self._changed:
            self._line.append(ticket)
        try:
            while ahead := self._wait(ticket):
                on_wait(ahead)
            yield
        finally:
            with self._changed:
                self._line.remove(ticket)
                self._changed.notify_all()

    def _wait(self, ticket: object) -> int:
        """Until it is the ticket's turn, or for REPORT_SECONDS; how many have to end before."""
        with self._changed:
            self._changed.wait_for(lambda: self._line.index(ticket) < self.limit, REPORT_SECONDS)
            return max(0, self._line.index(ticket) - self.limit + 1)


LINE = Line(count_cores())  # of this process
