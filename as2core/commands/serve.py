"""`as2 serve`: rankers over HTTP."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from as2core.commands.keys import KeysDir
from as2core.errors import BadSetting
from as2core.lookup import ACTIVE, list_versions
from as2core.questions.synonyms import Synonyms
from as2core.system.telemetry import remove_queue
from as2core.terminal import print_note, show_progress

if TYPE_CHECKING:
    from as2core.serving.embeddings import ServedEmbedder
    from as2core.serving.fair_queue import FairQueue
    from as2core.serving.rankers import ServedRankers
    from as2core.serving.replicas import Replicas

DEFAULT_EMBEDDER = "bi-encoder"


@dataclass(frozen=True, slots=True)
class Placement:
    """Where rankers score."""

    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Score on Ray: local (this machine), auto or HOST:PORT (the cluster this machine is part of).",
        ),
    ] = None
    replicas: Annotated[
        int | None,
        typer.Option(min=1, help="With --ray, how many processes score, a core each; all free cores without it."),
    ] = None

    @contextmanager
    def open(self, port: int) -> Iterator[Replicas | None]:
        """None: in this process. Raises BadSetting."""
        if self.ray is None:
            if self.replicas is not None:
                raise BadSetting("--replicas needs --ray: without it one process scores on all cores")
            yield None
            return
        from as2core.serving.replicas import open_replicas

        with open_replicas(self.ray, self.replicas, port) as replicas:
            yield replicas


def serve(
    *,
    ranker: Annotated[
        list[str] | None,
        typer.Option(
            help="A catalog name, a version's name, or its directory; may be given several times, the first is the "
            "default. Without it: the version that answers in the workbench, or the shipped cascade.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes any that is free.")] = 8502,
    address: Annotated[
        str, typer.Option(help="The address to bind; 0.0.0.0 allows access from other machines.")
    ] = "127.0.0.1",
    allowed_hosts: Annotated[
        str,
        typer.Option(
            envvar="AS2_ALLOWED_HOSTS",
            help="Names by which it may be reached, besides localhost and the address, with commas; * for all.",
        ),
    ] = "",
    keys: KeysDir = None,
    synonyms: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Read a word with its meaning, by lines `word => meaning`.")
    ] = None,
    embedder: Annotated[
        str, typer.Option(help="The bi-encoder of /v1/embeddings; the default one is loaded when it is first asked.")
    ] = DEFAULT_EMBEDDER,
    placement: Placement,
) -> None:
    """Serve rankers over HTTP: POST /v1/rerank; Ctrl-C ends it."""
    try:
        from as2core.serving.keys import KeyRing, default_keys_dir
        from as2core.serving.routes import build
        from as2core.serving.shutdown import make_server
        from as2core.system.hosts import VARIABLE, HostGuard, is_loopback, parse_hosts
    except ModuleNotFoundError as e:
        raise BadSetting(f"serving needs {e.name}: install as2core with its extra `serve`") from e

    house = Synonyms.read(synonyms) if synonyms else Synonyms()
    remove_queue()
    key_ring = KeyRing(keys or default_keys_dir())
    if keys is not None and not key_ring.is_required:
        raise BadSetting(f"no keys in {keys}: make one with `as2 keys add NAME --keys {keys}`")
    listening = open_port(address, port)
    host, at = listening.getsockname()[:2]
    with listening, placement.open(at) as replicas:
        with show_progress("loading"):
            rankers = _load(ranker, house, replicas)
            embeddings = _make_embedder(embedder)
        print_note(f"POST http://{f'[{host}]' if ':' in host else host}:{at}/v1/rerank (Ctrl-C ends it)")
        if not key_ring.is_required and not is_loopback(address):
            print_note(f"no keys: everybody who reaches {address} is answered; `as2 keys add NAME` makes one")
        app = build(rankers, embedder=embeddings, keys=key_ring, queue=_make_queue(replicas))
        guarded = HostGuard(app, address, parse_hosts(allowed_hosts), setting=f"--allowed-hosts or {VARIABLE}")
        server = make_server(guarded)
        server.run(sockets=[listening])
    server.end_process()


def _load(specs: list[str] | None, house: Synonyms, replicas: Replicas | None) -> ServedRankers:
    """The rankers, where they score."""
    from as2core.serving.rankers import ServedRankers, score_here

    specs = list(dict.fromkeys(specs or ())) or [ACTIVE if ACTIVE in list_versions() else "cascade"]
    rankers = ServedRankers(specs, house, place=replicas.place if replicas else score_here)
    if replicas:
        replicas.start()
    rankers.follow_on()
    return rankers


def _make_embedder(spec: str) -> ServedEmbedder:
    """One that was asked for is loaded now, which reports what cannot embed."""
    from as2core.serving.embeddings import ServedEmbedder

    embedder = ServedEmbedder(spec)
    if spec != DEFAULT_EMBEDDER:
        embedder.load_ranker()
    return embedder


def _make_queue(replicas: Replicas | None) -> FairQueue:
    """A replica is sent a whole request, so that is what a turn is for."""
    from as2core.serving.bodies import MAX_DOCUMENTS
    from as2core.serving.fair_queue import FairQueue

    return FairQueue(turns=replicas.turns, slice_pairs=MAX_DOCUMENTS) if replicas else FairQueue()


def open_port(address: str, port: int) -> socket.socket:
    """Listen on the port, before anything is loaded. Raises BadSetting."""
    try:
        listening = socket.create_server((address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET)
    except OSError as e:
        number = e.errno or 0
        if number < 0 or number == errno.EADDRNOTAVAIL:  # below 0: the name is not known
            raise BadSetting(f"{address} is no address of this machine: choose another with --address") from e
        reason = os.strerror(number)  # Python's own text repeats the address
        raise BadSetting(f"port {port} of {address} cannot be opened ({reason}): choose another with --port") from e
    # connections inherit it; asyncio sets it for its own sockets alone. Without it the second part of an answer waits
    # for the acknowledgement of the first, which systems delay by 40 ms
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
