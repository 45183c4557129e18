"""A request on its way: into the queue, ranked in a thread of its own, written, and left alone if its client goes away.

Nothing of it keeps the event loop from taking other requests, so that health is answered at once under any load.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from fastapi import Request
from fastapi.responses import Response

from as2core.serving.bodies import RerankRequest, TextsRequest
from as2core.serving.fair_queue import FairQueue, Ticket
from as2core.serving.metrics import Meter
from as2core.serving.rankers import Ranking, ServedRankers

POLL_SECONDS = 1.0  # between two looks whether the client is still there
AnyRequest = RerankRequest | TextsRequest
Write = Callable[[AnyRequest, Ranking], bytes]


class QueuedRanking:
    def __init__(self, rankers: ServedRankers, queue: FairQueue, meter: Meter) -> None:
        self.rankers, self.queue, self.meter = rankers, queue, meter
        # a thread each, most of which wait for their turn
        self._threads = ThreadPoolExecutor(queue.max_requests, thread_name_prefix="rank")

    async def respond(self, http: Request, request: AnyRequest, write: Write) -> Response:
        """The answer to a request. Raises what the queue and the ranker raise."""
        spec = self.rankers.choose(request.model)
        key_name = getattr(http.state, "client", None)
        address = http.client.host if http.client else ""
        candidates = request.list_candidates()
        ticket = self.queue.enter(key_name or address, len(candidates), request.priority or 0)

        def work() -> bytes:
            try:
                with self.queue.turns(ticket):
                    ranking = self.rankers.rank(spec, request.query, candidates)
            finally:
                self.queue.leave(ticket)
            return write(request, ranking)

        answer = asyncio.get_running_loop().run_in_executor(self._threads, work)
        await self._wait(http, answer, ticket)
        self.meter.count_documents(spec, key_name or "", len(candidates))
        return Response(await answer, media_type="application/json")

    async def _wait(self, http: Request, answer: asyncio.Future[bytes], ticket: Ticket) -> None:
        while not (await asyncio.wait({answer}, timeout=POLL_SECONDS))[0]:
            if await http.is_disconnected():
                self.queue.cancel(ticket)
