"""An engine prepared in a thread of its own, so that nobody waits for its graphs; torch scores meanwhile."""

from __future__ import annotations

import atexit
import logging
from collections.abc import Callable
from threading import Event, Thread
from typing import Generic, TypeVar

from as2core.errors import Cancelled
from as2core.types import OnProgress, Progress

MAX_WAIT_SECONDS = 3.0  # for an engine that is being prepared: torch would compete with its preparation for the cores
log = logging.getLogger(__name__)
T = TypeVar("T")


class PreparedEngine(Generic[T]):
    """`engine` is None until it is ready, and where it cannot be used. `start` raises nothing; `prepare` is called with
    what hears of its progress, and ends early when the program does."""

    def __init__(self) -> None:
        self.engine: T | None = None
        self._thread: Thread | None = None

    def start(self, prepare: Callable[[OnProgress], T]) -> None:
        ending = Event()

        def report(progress: Progress) -> None:
            if ending.is_set():
                raise Cancelled("the program ends before its engine is ready")

        def run() -> None:
            try:
                self.engine = prepare(report)
            except Exception as e:
                if not ending.is_set():
                    log.warning("scoring on torch, the onnx engine cannot be used: %s", e)

        self._thread = thread = Thread(target=run, name="onnx graphs", daemon=True)
        thread.start()

        def end() -> None:  # a thread still in C++ when the interpreter goes would abort the program
            ending.set()
            thread.join()

        atexit.register(end)

    def wait(self, seconds: float | None = None) -> T | None:
        """The engine, once it is clear whether there is one; None if that takes longer than `seconds`."""
        if self._thread is not None:
            self._thread.join(seconds)
        return self.engine
