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
UNUSABLE = "scoring on torch, the onnx engine cannot be used: %s"
log = logging.getLogger(__name__)
T = TypeVar("T")


class PreparedEngine(Generic[T]):
    """`engine` is None until it is ready, and where it cannot be used; `progress` is how far its preparation is, None
    where none runs. What prepares it is called with what hears of its progress."""

    def __init__(self) -> None:
        self.engine: T | None = None
        self.progress: Progress | None = None
        self._thread: Thread | None = None

    def prepare(
        self, build: Callable[[OnProgress], T], on_progress: OnProgress | None = None, *, required: bool = False
    ) -> None:
        """At once. Raises what `build` raises if the engine is `required`; else that is a warning."""

        def report(progress: Progress) -> None:
            self.progress = progress
            if on_progress:
                on_progress(progress)

        try:
            self.engine = build(report)
        except Exception as e:
            if required:
                raise
            log.warning(UNUSABLE, e)
        finally:
            self.progress = None

    def start(self, build: Callable[[OnProgress], T], on_progress: OnProgress | None = None) -> None:
        """In a thread, which ends early when the program does. Raises nothing."""
        ending = Event()

        def report(progress: Progress) -> None:
            if ending.is_set():
                raise Cancelled("the program ends before its engine is ready")
            if on_progress:
                on_progress(progress)

        def run() -> None:
            try:
                self.prepare(build, report, required=True)
            except Exception as e:
                if not ending.is_set():
                    log.warning(UNUSABLE, e)

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

    @property
    def is_done(self) -> bool:
        """Whether it is clear."""
        return self._thread is None or not self._thread.is_alive()
