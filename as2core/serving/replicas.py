"""Rankers on Ray Serve: this process answers over HTTP, replicas on the machines of a cluster score.

`open_replicas` is where the rankers of `as2core.serving.rankers` are placed. Each replica has one core and all rankers,
and scores the requests that wait for it together. Routes, keys, limits and the queue stay in this process; Ray Serve
starts the replicas, replaces one that dies and chooses the one for a request. A ranker travels as `as2core.bulk` packs
it. One that is promoted later is loaded by a replica at its first request.

Where we differ from the usual: Ray Serve's HTTP proxy is off, since our routes have limits that it does not. It does
not send a request again whose replica died, because that might do harm; scoring does none, so it is sent again here.
"""

from __future__ import annotations

import logging
import os
import socket
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from as2core.bulk.packed_ranker import PackedRanker, pack_ranker
from as2core.bulk.packing import is_bound_here
from as2core.bulk.pool import CLIENT, open_ray
from as2core.errors import BadSetting
from as2core.evaluation.rankers import BATCH_CANDIDATES, prepare_ranker
from as2core.lookup import list_versions
from as2core.rankers.base import Query, Ranker
from as2core.relevance import Relevance, score_relevance
from as2core.serving.rankers import LocalScorer, Scorer, Unavailable
from as2core.system.cores import LIMIT
from as2core.system.threads import stop_spinning
from as2core.types import Candidate
from as2core.version import __version__

BATCH_REQUESTS = 4  # that a replica scores together, if so many wait
MAX_TRIES = 3  # of a request whose replica dies
REPLY_SECONDS = 600.0  # to wait for a replica that scores, and for its scores
DEPLOYMENT = "rankers"
EXTRA = "ray-serve"

ScoringRequest = tuple[PackedRanker, str, Sequence[Candidate]]


class Replica:
    """In a process of its own on some node. `rankers` are loaded before the first request. Raises BadSetting for
    another `version` than this node's."""

    def __init__(self, rankers: Sequence[PackedRanker], version: str) -> None:
        stop_spinning()
        os.environ[LIMIT] = os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported
        if version != __version__:
            raise BadSetting(f"a node has as2core {__version__}, this machine {version}: install the same on all")
        self._rankers: OrderedDict[str, Ranker] = OrderedDict()  # the last used at the end
        self._max_rankers = len(rankers) + 1
        for ranker in rankers:
            self._load(ranker)

    def score_batch(self, requests: Sequence[ScoringRequest]) -> list[Relevance | Exception]:
        """An answer for each, in order; what one of them raises is its answer alone."""
        answers: list[Relevance | Exception] = [Unavailable("not scored")] * len(requests)
        for places in group_requests(requests):
            try:
                group: Sequence[Relevance | Exception] = self._score([requests[i] for i in places])
            except Exception:
                group = [self._score_alone(requests[i]) for i in places]
            for i, answer in zip(places, group, strict=True):
                answers[i] = answer
        return answers

    def _score_alone(self, request: ScoringRequest) -> Relevance | Exception:
        try:
            return self._score([request])[0]
        except Exception as error:
            return error

    def _score(self, requests: Sequence[ScoringRequest]) -> list[Relevance]:
        """Of one ranker."""
        queries: list[Query] = [(query, candidates) for _, query, candidates in requests]
        return score_relevance(self._load(requests[0][0]), queries)

    def _load(self, packed: PackedRanker) -> Ranker:
        if packed.spec not in self._rankers:
            ranker = packed.load(_fetch)
            prepare_ranker(ranker)
            self._rankers[packed.spec] = ranker
            if len(self._rankers) > self._max_rankers:
                self._rankers.popitem(last=False)
        self._rankers.move_to_end(packed.spec)
        return self._rankers[packed.spec]


def _fetch(reference: Any) -> Any:
    import ray

    return ray.get(reference)


def group_requests(requests: Sequence[ScoringRequest]) -> list[list[int]]:
    """Positions of those of the same ranker, in groups of at most BATCH_CANDIDATES candidates, or a single one."""
    groups: list[list[int]] = []
    by_ranker: dict[str, tuple[list[int], int]] = {}
    for i, (packed, _, candidates) in enumerate(requests):
        group, size = by_ranker.get(packed.spec, ([], BATCH_CANDIDATES + 1))  # full: the first begins a group
        if size + len(candidates) > BATCH_CANDIDATES:
            group, size = [], 0
            groups.append(group)
        group.append(i)
        by_ranker[packed.spec] = group, size + len(candidates)
    return groups


@dataclass(frozen=True, slots=True)
class RemoteScorer:
    """A ranker on the replicas. `send` gives what is waited for by its `result`."""

    ranker: PackedRanker
    send: Callable[[ScoringRequest], Any]

    def score(self, query: str, candidates: Sequence[Candidate]) -> Relevance:
        """Raises what the ranker raises, and Unavailable."""
        from ray.exceptions import RayError, RayTaskError
        from ray.serve.exceptions import RayServeException

        for _ in range(MAX_TRIES):
            response = self.send((self.ranker, query, candidates))
            try:
                answer = response.result(timeout_s=REPLY_SECONDS)
            except TimeoutError:
                response.cancel()
                raise Unavailable(f"no replica answered within {REPLY_SECONDS:g} s: try again later") from None
            except RayTaskError as error:
                raise error.cause if isinstance(error.cause, Exception) else error from None
            except (RayError, RayServeException):  # the replica died, or is going
                continue
            if isinstance(answer, Exception):
                raise answer
            assert isinstance(answer, Relevance)
            return answer
        raise Unavailable(f"{MAX_TRIES} replicas died one after another of this request: send fewer documents")


class Replicas:
    """The rankers that are placed before `start` are loaded by it, later ones when they are first asked."""

    def __init__(self, ray: Any, folder: Path | None, count: int | None, name: str) -> None:
        self._ray, self._folder, self._name = ray, folder, name
        self.count = self._check_count(count)
        self._handle: Any = None
        self._rankers: list[PackedRanker] = []

    @property
    def turns(self) -> int:
        """How many requests can be with them at a time."""
        return self.count * BATCH_REQUESTS

    def place(self, spec: str, ranker: Ranker) -> Scorer:
        """Where the ranker of that spec is scored: one that sends texts to an address in this process, which has its
        key. Raises BadSetting, UnknownRanker."""
        if is_bound_here(spec, list_versions()):
            return LocalScorer(ranker)
        packed = pack_ranker(spec, self._ray.put, self._folder)
        if self._handle is None:
            self._rankers.append(packed)
        return RemoteScorer(packed, self._send)

    def start(self) -> None:
        """What has the same name on the cluster, since it was not ended, is replaced. Raises Unavailable."""
        from ray import serve

        application = make_deployment(serve, self.count).bind(self._rankers, __version__)
        try:
            self._handle = serve.run(application, name=self._name, route_prefix=None)
        except Exception as error:  # of many classes, with the stack of a node
            reason = " ".join(str(error).split())[-300:]
            raise Unavailable(f"the replicas do not start: is as2core installed on all nodes? {reason}") from None

    def _send(self, request: ScoringRequest) -> Any:
        if self._handle is None:
            raise Unavailable("the replicas are not started yet: try again later")
        return self._handle.score.remote(request)

    def _check_count(self, count: int | None) -> int:
        """All free cores without a number. Raises BadSetting for more than there are."""
        free = int(self._ray.available_resources().get("CPU", 0))
        if not 0 < (count or free) <= free:
            raise BadSetting(f"{count or 1} replicas need a free core each, and Ray has {free}: give --replicas fewer")
        return count or free


def make_deployment(serve: Any, count: int) -> Any:
    """Of `Replica`, which collects the requests that wait while it scores."""

    class BatchReplica(Replica):
        @serve.batch(max_batch_size=BATCH_REQUESTS, batch_wait_timeout_s=0.0)
        async def score(self, requests: list[ScoringRequest]) -> list[Relevance | Exception]:
            return self.score_batch(requests)

    return serve.deployment(
        BatchReplica,
        name=DEPLOYMENT,
        num_replicas=count,
        max_ongoing_requests=BATCH_REQUESTS,
        max_constructor_retry_count=MAX_TRIES,
        ray_actor_options={"num_cpus": 1},
        logging_config={"log_level": "ERROR", "enable_access_log": False},
    )


@contextmanager
def open_replicas(address: str, count: int | None, port: int) -> Iterator[Replicas]:
    """On the Ray of that address (`as2core.bulk.pool.open_ray`), until the end of the block; to be started. `port` is
    the server's: one that is started again there replaces what it left behind. Raises BadSetting."""
    if address.startswith(CLIENT):
        raise BadSetting(f"--ray {address}: run as2 serve on a machine of the cluster, with --ray auto")
    name = f"as2-serve-{socket.gethostname()}-{port}"
    with open_ray(address, EXTRA) as (ray, folder):
        try:
            from ray import serve
        except ModuleNotFoundError as error:
            raise BadSetting(f"serving on Ray needs {error.name}: pip install -e '.[{EXTRA}]'") from error
        logging.getLogger("ray.serve").setLevel(logging.ERROR)
        serve.start(proxy_location="Disabled")
        try:
            if name in serve.status().applications:
                serve.delete(name)
            yield Replicas(ray, folder, count, name)
        finally:
            if folder is None:  # else Ray ends with all that is in it
                _leave(serve, name)


def _leave(serve: Any, name: str) -> None:
    """End the replicas, and Ray Serve itself where nobody else uses it."""
    with suppress(Exception):  # the cluster may be gone
        serve.delete(name)
        if not serve.status().applications:
            serve.shutdown()
