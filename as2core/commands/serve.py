"""`as2 serve`: rankers over HTTP."""

from __future__ import annotations

import socket
from typing import Annotated

import typer

from as2core.errors import BadSetting
from as2core.named import versions
from as2core.terminal import note, working

MOST_AT_ONCE = 100  # connections; another is told to come again


def serve(
    ranker: Annotated[
        list[str] | None,
        typer.Option(
            help="A catalog name, a version's name, or its directory; may be given several times, the first is the "
            "default. Without it: the version that answers in the workbench, or the shipped cascade.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 takes any that is free.")] = 8502,
    address: Annotated[str, typer.Option(help="0.0.0.0 lets other machines in.")] = "127.0.0.1",
) -> None:
    """Serve rankers over HTTP: POST /v1/rerank; Ctrl-C ends it."""
    try:
        import uvicorn

        from as2core.serving import ACTIVE, Rankers, build
    except ModuleNotFoundError as e:
        raise BadSetting(f"serving needs {e.name}: install as2core with its extra `serve`") from e

    listening = _listen(address, port)
    with listening:
        with working("loading"):
            rankers = Rankers(ranker or [ACTIVE if ACTIVE in versions() else "cascade"])
        rankers.follow_on()
        host, at = listening.getsockname()[:2]
        note(f"POST http://{f'[{host}]' if ':' in host else host}:{at}/v1/rerank (Ctrl-C ends it)")
        config = uvicorn.Config(build(rankers), log_level="warning", limit_concurrency=MOST_AT_ONCE)
        uvicorn.Server(config).run(sockets=[listening])


def _listen(address: str, port: int) -> socket.socket:
    """Taken before anything is loaded. Raises BadSetting."""
    try:
        return socket.create_server((address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET)
    except OSError as e:
        raise BadSetting(f"port {port} of {address} cannot be had ({e.strerror}): choose another with --port") from e
