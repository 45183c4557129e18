"""A request on its way: into the queue, computed in a thread of its own, written, and left alone if its client goes.

Nothing of it keeps the event loop from taking other requests, so that health is answered at once under any load.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from fastapi import Request
from fastapi.responses import Response

from as2core.serving.fair_queue import FairQueue, Ticket
from as2core.serving.metrics import Meter

POLL_SECONDS = 1.0  # between two looks whether the client is still there
T = TypeVar("T")


class QueuedWork:
    def __init__(self, queue: FairQueue, meter: Meter) -> None:
        self.queue, self.meter = queue, meter
        # a thread each, most of which wait for their turn
        self._threads = ThreadPoolExecutor(queue.max_requests, thread_name_prefix="work")

    async def respond(
        self,
        http: Request,
        texts: int,
        priority: int | None,
        compute: Callable[[], T],
        write: Callable[[T], bytes],
    ) -> Response:
        """What `write` makes of the result of `compute`, which has turns. Raises what these and the queue raise."""
        address = http.client.host if http.client else ""
        ticket = self.queue.enter(name_key(http) or address, texts, priority or 0)

        def work() -> bytes:
            try:
                with self.queue.turns(ticket):
                    result = compute()
            finally:
                self.queue.leave(ticket)
            return write(result)

        answer = asyncio.get_running_loop().run_in_executor(self._threads, work)
        await self._wait(http, answer, ticket)
        return Response(await answer, media_type="application/json")

    async def _wait(self, http: Request, answer: asyncio.Future[bytes], ticket: Ticket) -> None:
        while not (await asyncio.wait({answer}, timeout=POLL_SECONDS))[0]:
            if await http.is_disconnected():
                self.queue.cancel(ticket)


def name_key(http: Request) -> str:
    """Of the request's key, "" without one."""
    return getattr(http.state, "client", None) or ""
