"""A server on a free port, in a thread."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack, contextmanager

import pytest

PATIENCE = 60.0  # seconds


@contextmanager
def running(app):
    """The port on which uvicorn serves it, with our protocol."""
    import uvicorn

    from as2core.serving.connections import ImpatientProtocol

    server = uvicorn.Server(uvicorn.Config(app, port=0, http=ImpatientProtocol, log_level="critical"))
    thread = threading.Thread(target=server.run)
    thread.start()
    give_up = time.monotonic() + PATIENCE
    while not server.started and time.monotonic() < give_up:
        time.sleep(0.02)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def serve():
    """`serve(app)` gives the port."""
    with ExitStack() as stack:
        yield lambda app: stack.enter_context(running(app))
