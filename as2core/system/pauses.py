"""Long computations let others come between: they pause before each slice of their work.

What serves several requests sets what a pause does (it waits for the next turn); everywhere else `pause` does nothing.
It holds for the thread that set it, so that a ranker needs no argument for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

SLICE_PAIRS = 64  # questions with a candidate that are read between two pauses
OnPause = Callable[[int], None]
_on_pause: ContextVar[OnPause | None] = ContextVar("on_pause", default=None)


@contextmanager
def handle_pauses(on_pause: OnPause) -> Iterator[None]:
    """Within it, `pause` calls `on_pause`, in this thread."""
    token = _on_pause.set(on_pause)
    try:
        yield
    finally:
        _on_pause.reset(token)


def are_pauses_handled() -> bool:
    return _on_pause.get() is not None


def pause(pairs: int) -> None:
    """Call it before so many pairs are read. Raises Cancelled if nobody waits for the result any more."""
    if (on_pause := _on_pause.get()) is not None:
        on_pause(pairs)
