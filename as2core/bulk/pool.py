"""Chunks of work handed to Ray actors, one a core, as they become free.

The bookkeeping is here and not in Ray: Ray's own retries (`max_task_retries`) run a method again without saying so, and
know nothing of a chunk that ends every worker it meets. Here an actor that dies is replaced, and its chunk handed out
again: whole first, then item by item, so that the one that ends its workers can be named. A chunk waits or is at one
worker, so no item counts twice. Ray is imported when a pool is opened.
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from as2core.errors import As2Error, BadSetting
from as2core.system.cores import LIMIT, count_cores
from as2core.system.threads import stop_spinning
from as2core.version import __version__

LOCAL, AUTO, CLIENT = "local", "auto", "ray://"
EXTRA = "ray"
CONNECT_SECONDS = 5.0
START_SECONDS = 120.0  # in which the first worker has to be ready
POLL_SECONDS = 1.0
MAX_TRIES = 3  # of an item whose worker dies; of a chunk of several before it is divided: MAX_CHUNK_TRIES
MAX_CHUNK_TRIES = 2
MAX_START_FAILURES = 5  # in a row
SETTINGS = {  # of Ray, in the environment; nothing is reported to its makers
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


class WorkFailed(As2Error):
    """The workers of a pool cannot be started, or die whenever they are given a certain item."""


class WorkerDied(Exception):
    """There is no result, and its chunk is to be handed out again."""


class Work(Protocol):
    """What is done with each chunk. It travels to the workers by pickle."""

    def prepare(self, fetch: Callable[[Any], Any]) -> Callable[[Sequence[Any]], Any]:
        """Once in each worker: load what is needed, and return the function for a chunk. `fetch` gets what the pool's
        `store` was given."""

    def name_item(self, item: Any) -> str:
        """For errors: "question 'q17'"."""


class Worker:
    """The actor. `run` may get another work than before; the last one stays prepared."""

    def __init__(self) -> None:
        stop_spinning()
        os.environ[LIMIT] = os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported
        self._key = ""
        self._run: Callable[[Sequence[Any]], Any] | None = None

    def read_version(self) -> str:
        return __version__

    def run(self, key: str, work: Work, items: Sequence[Any]) -> Any:
        import ray

        if self._run is None or self._key != key:
            self._run = None  # the old one's memory is needed for the new one
            self._key, self._run = key, work.prepare(ray.get)
        return self._run(items)


@dataclass(frozen=True, slots=True)
class Chunk:
    """`start` is the position of its first item; `tries` counts the workers that died of it or with it."""

    start: int
    items: tuple[Any, ...]
    tries: int = 0

    def divide(self) -> list[Chunk]:
        return [Chunk(self.start + i, (item,)) for i, item in enumerate(self.items)]


@contextmanager
def open_ray(address: str, extra: str = EXTRA) -> Iterator[tuple[Any, Path | None]]:
    """Start Ray on this machine (`local`) or join a cluster (`auto`, `HOST:PORT`, `ray://HOST:PORT`), until the end of
    the block: the module `ray`, and a folder for files of the workers, None where they are on other machines. Raises
    BadSetting without the package, which `extra` installs, or a cluster there."""
    check_address(address, extra)
    os.environ |= SETTINGS
    with tempfile.TemporaryDirectory(prefix="as2ray-", ignore_cleanup_errors=True) as folder:
        ray = _connect(address, Path(folder))
        try:
            with _end_at_sigterm():
                yield ray, Path(folder) if address == LOCAL else None
        finally:
            ray.shutdown()


@contextmanager
def open_pool(address: str) -> Iterator[RayPool]:
    """A pool of workers on the Ray of that address, until the end of the block. Raises BadSetting as `open_ray`."""
    with open_ray(address) as (ray, folder):
        pool = RayPool(ray, folder)
        try:
            yield pool
        finally:
            pool.close()


@contextmanager
def _end_at_sigterm() -> Iterator[None]:
    """As at Ctrl-C; Ray's own handler aborts the process with a trace of its stack."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def check_address(address: str, extra: str = EXTRA) -> None:
    """Raises BadSetting for what is no address, where nothing answers at it, or without the package."""
    if find_spec("ray") is None:
        raise BadSetting(f"--ray needs the package ray: pip install -e '.[{extra}]' in the checkout")
    if address in (LOCAL, AUTO):
        return
    host, colon, port = address.removeprefix(CLIENT).rpartition(":")
    if not host or not colon or not port.isdecimal() or "/" in host or not 0 < int(port) < 65536:
        raise BadSetting(f"--ray {address}: give local, auto, HOST:PORT or ray://HOST:PORT")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except OSError as error:
        raise BadSetting(f"--ray {address}: nothing answers there ({error}): is the head node running?") from None
    if not _speaks_grpc(f"{host}:{port}"):
        raise BadSetting(f"--ray {address}: what answers there is no Ray cluster: is the port right?")


def _connect(address: str, folder: Path) -> Any:
    """The module ray, connected. `folder` is for the files of a Ray that is started here."""
    if address == LOCAL and "ray" not in sys.modules:  # who reaches its ports has to know the token, read at import
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    import ray

    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if address == LOCAL:
            ray.init(LOCAL, num_cpus=count_cores(), include_dashboard=False, _temp_dir=str(folder), **quiet)
        else:
            ray.init(address, **quiet)
    except Exception as error:  # of many classes, by what went wrong where
        ray.shutdown()
        reason = " ".join(str(error).split())[:300]
        raise BadSetting(f"--ray {address}: Ray does not start or cannot be joined ({reason})") from error
    return ray


def _speaks_grpc(target: str) -> bool:
    """Ray itself waits minutes for whatever listens there. Not asked where the connection is encrypted."""
    if find_spec("grpc") is None or os.environ.get("RAY_USE_TLS", "0") != "0":
        return True
    import grpc

    with grpc.insecure_channel(target) as channel:
        try:
            grpc.channel_ready_future(channel).result(CONNECT_SECONDS)
        except grpc.FutureTimeoutError:
            return False
    return True


class RayPool:
    """Workers on a Ray that is connected, one for each core. `folder`: where they may put files that are gone when the
    pool closes; None where they are on other machines."""

    def __init__(self, ray: Any, folder: Path | None) -> None:
        self.folder = folder
        self._ray = ray
        self._actor = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(Worker)
        self._starting: dict[Any, Any] = {}  # the reference of its first answer -> worker
        self._idle: list[Any] = []
        self._start_failures = 0
        self._cores, self._next_count = 0, 0.0

    def count_workers(self) -> int:
        """As many as there are cores; raises WorkFailed where there is none."""
        if (now := time.monotonic()) >= self._next_count:  # nodes come and go
            self._cores, self._next_count = int(self._ray.cluster_resources().get("CPU", 0)), now + POLL_SECONDS
        return self._cores

    def store(self, value: object) -> Any:
        """Put a value where all workers can fetch it; the reference to it."""
        return self._ray.put(value)

    def map(
        self,
        work: Work,
        chunks: Sequence[Sequence[Any]],
        on_result: Callable[[Sequence[Any]], None] = lambda items: None,
    ) -> list[Any]:
        """The results in the order of the chunks; of a chunk that had to be divided, those of its items. `on_result`
        gets the items of each that is done. Raises what the work raises, and WorkFailed."""
        results: dict[int, Any] = {}
        for chunk, result in self.stream(work, chunks):
            results[chunk.start] = result
            on_result(chunk.items)
        return [results[start] for start in sorted(results)]

    def stream(self, work: Work, chunks: Iterable[Sequence[Any]]) -> Iterator[tuple[Chunk, Any]]:
        """Each chunk with its result, once, as it comes; of a chunk that had to be divided, those of its items.
        `chunks` is asked for no more than the workers take. Raises what the work and `chunks` raise, and WorkFailed."""
        source = _number_chunks(chunks)
        queue: deque[Chunk] = deque()
        key = secrets.token_hex(8)
        running: dict[Any, tuple[Any, Chunk]] = {}
        self._ask_idle()  # some may have died meanwhile
        give_up = time.monotonic() + START_SECONDS
        while True:
            queue.extend(islice(source, max(0, max(1, self.count_workers()) - len(queue) - len(running))))
            if not queue and not running:
                return
            self._recruit(len(queue) + len(running), len(running))
            while queue and self._idle:
                worker, chunk = self._idle.pop(), queue.popleft()
                running[worker.run.remote(key, work, chunk.items)] = (worker, chunk)
            if running:
                give_up = time.monotonic() + START_SECONDS
            elif time.monotonic() > give_up:
                raise WorkFailed(
                    f"no worker was ready within {START_SECONDS:g} s: Ray has {self.count_workers()} cores, which "
                    "others may be using; try again later, or join another cluster"
                )
            for reference in self._wait([*running, *self._starting]):
                if reference in self._starting:
                    self._admit(reference)
                    continue
                worker, chunk = running.pop(reference)
                try:
                    result = self._take(reference)
                except WorkerDied:
                    self._dismiss(worker)
                    self._ask_idle()  # they may have been on the same node
                    queue.extendleft(reversed(hand_out_again(work, chunk)))
                else:
                    self._idle.append(worker)
                    yield chunk, result

    def close(self) -> None:
        """End the workers that are idle or start; those at work end when Ray is shut down."""
        for worker in [*self._idle, *self._starting.values()]:
            self._dismiss(worker)
        self._idle, self._starting = [], {}

    def _take(self, reference: Any) -> Any:
        """The result. Raises WorkerDied, and what the work raised."""
        from ray.exceptions import RayError, RayTaskError

        try:
            return self._ray.get(reference)
        except RayTaskError as error:
            cause = error.cause
            raise (cause if isinstance(cause, Exception) else error) from None
        except RayError as error:
            raise WorkerDied from error

    def _wait(self, references: Sequence[Any]) -> list[Any]:
        if not references:
            time.sleep(POLL_SECONDS)
            return []
        ready, _ = self._ray.wait(references, num_returns=1, timeout=POLL_SECONDS)
        return list(ready)

    def _recruit(self, chunks: int, busy: int) -> None:
        """Start workers, one a core, no more than there are chunks."""
        if self._start_failures >= MAX_START_FAILURES:
            return
        for _ in range(min(self.count_workers(), chunks) - busy - len(self._idle) - len(self._starting)):
            worker = self._actor.remote()
            self._starting[worker.read_version.remote()] = worker

    def _admit(self, reference: Any) -> None:
        """Take in a worker that has answered. Raises BadSetting where it runs another release, WorkFailed where workers
        die at once, again and again, and none is left."""
        from ray.exceptions import RayError

        worker = self._starting.pop(reference)
        try:
            version = self._ray.get(reference)
        except RayError as error:
            self._dismiss(worker)
            self._start_failures += 1
            if self._start_failures >= MAX_START_FAILURES and not self._idle and not self._starting:
                reason = " ".join(str(error).split())[-300:]
                raise WorkFailed(
                    f"workers end as soon as they start: is as2core installed on all nodes? {reason}"
                ) from None
            return
        if version != __version__:
            raise BadSetting(f"a node has as2core {version}, this machine {__version__}: install the same on all")
        self._start_failures = 0
        self._idle.append(worker)

    def _ask_idle(self) -> None:
        """Those that do not answer any more are replaced."""
        self._starting |= {worker.read_version.remote(): worker for worker in self._idle}
        self._idle = []

    def _dismiss(self, worker: Any) -> None:
        with suppress(Exception):  # it may be dead
            self._ray.kill(worker)


def _number_chunks(chunks: Iterable[Sequence[Any]]) -> Iterator[Chunk]:
    position = 0
    for items in chunks:
        yield Chunk(position, tuple(items))
        position += len(items)


def hand_out_again(work: Work, chunk: Chunk) -> list[Chunk]:
    """What is left to do of a chunk whose worker died. Raises WorkFailed for an item that was tried often enough."""
    tries = chunk.tries + 1
    if len(chunk.items) > 1:
        return chunk.divide() if tries >= MAX_CHUNK_TRIES else [Chunk(chunk.start, chunk.items, tries)]
    if tries >= MAX_TRIES:
        raise WorkFailed(
            f"{tries} workers died one after another of {work.name_item(chunk.items[0])}: is there enough memory for "
            "it? Leave it out, or run it alone without --ray to see why"
        )
    return [Chunk(chunk.start, chunk.items, tries)]
