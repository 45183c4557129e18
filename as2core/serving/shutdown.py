"""How the server ends: at the first signal it finishes what it is answering, at the second it does not wait for that.

uvicorn raises every signal again when it has ended; a second Ctrl-C would then interrupt the closing of the event loop
and print what was interrupted. Here signals are handled until the process is over, and later ones do nothing.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from as2core.serving.connections import KEEP_ALIVE_SECONDS, ImpatientProtocol

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class SignalledServer(uvicorn.Server):
    first_signal: int | None = None

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                signal.signal(number, self.handle_exit)
        yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True
        self.first_signal = self.first_signal or sig

    def end_process(self) -> None:
        """As the first signal would have ended it: Ctrl-C by KeyboardInterrupt, further ones ignored."""
        if self.first_signal == signal.SIGINT:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            raise KeyboardInterrupt
        if self.first_signal is not None:
            signal.signal(self.first_signal, signal.SIG_DFL)
            signal.raise_signal(self.first_signal)


def make_server(app: ASGIApp) -> SignalledServer:
    return SignalledServer(
        uvicorn.Config(
            app, http=ImpatientProtocol, lifespan="off", log_level="warning", timeout_keep_alive=KEEP_ALIVE_SECONDS
        )
    )
