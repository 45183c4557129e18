"""A server on a free port, in a thread."""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec

import pytest
from polling import until

from as2core.serving.rankers import ServedRankers

PATIENCE = 60.0  # seconds
ON_RAY = [pytest.mark.ray, pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra ray-serve")]


@contextmanager
def running(app):
    """The port on which uvicorn serves it, with our protocol."""
    import uvicorn

    from as2core.serving.connections import ImpatientProtocol

    server = uvicorn.Server(uvicorn.Config(app, port=0, http=ImpatientProtocol, log_level="critical"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started, "the server", seconds=PATIENCE)
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def serve():
    """`serve(app)` gives the port."""
    with ExitStack() as stack:
        yield lambda app: stack.enter_context(running(app))


@pytest.fixture
def serve_briefly():
    """`with serve_briefly(app) as port`: the server ends after it."""
    return running


@pytest.fixture(scope="module", params=["here", pytest.param("ray", marks=ON_RAY)])
def served(request):
    """bm25 and jaccard, which score in this process or on two replicas: the contract is the same."""
    if request.param == "here":
        yield ServedRankers(["bm25", "jaccard"])
        return
    from as2core.bulk import pool
    from as2core.serving.replicas import open_replicas

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "count_cores", lambda: 2)
        with open_replicas("local", 2, 0) as replicas:
            rankers = ServedRankers(["bm25", "jaccard"], place=replicas.place)
            replicas.start()
            yield rankers
