"""Connections that wait for nothing do not stay.

uvicorn closes a connection that is idle after an answer, but not one on which no request, or only half a header, ever
comes. Those end after MAX_HEADER_SECONDS. It also waits for ever for a client that does not read its answer, which is
kept in memory meanwhile; such a connection ends once nothing has been read for MAX_UNREAD_SECONDS. And when there are
MAX_CONNECTIONS, the one that has been idle the longest makes room for the next, so that idle ones shut nobody out.
Once the server is told to end, a request that is still being sent has MAX_ENDING_SECONDS.

Nor does a connection go on after a request whose end a proxy may see at another place. And none is handed to another
protocol: what asks for a WebSocket or HTTP/2 is answered as if it had not, without uvicorn's warning.
"""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 1000
MAX_HEADER_SECONDS = 10.0
MAX_UNREAD_SECONDS = 30.0
MAX_ENDING_SECONDS = 5.0
# longer than clients and proxies keep an unused connection (5 to 60 s): one that the server closes just when they use
# it again fails a request
KEEP_ALIVE_SECONDS = 75
TWO_LENGTHS = (
    "the request has both Content-Length and Transfer-Encoding, or Transfer-Encoding in HTTP/1.0: proxies differ on "
    "where it ends. Send one of them, in HTTP/1.1"
)


class LengthGuard:
    """ASGI middleware that refuses a request with two lengths (RFC 9112, sections 6.1 and 6.3) and ends its connection:
    what a proxy takes for its rest would be read as the next request, with another client waiting for the answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        names = {name for name, _ in scope["headers"]}
        if b"transfer-encoding" in names and (b"content-length" in names or scope["http_version"] == "1.0"):
            body = {"detail": TWO_LENGTHS, "message": TWO_LENGTHS}
            await JSONResponse(body, 400, {"Connection": "close"})(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class ImpatientProtocol(H11Protocol):
    """`idle_since`, in the loop's time, is None while a request is answered."""

    idle_since: float | None = None
    _limit: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.app = LengthGuard(self.app)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.idle_since = self.loop.time()
        self._limit_header()
        idle = [c for c in self.connections if isinstance(c, ImpatientProtocol) and c.idle_since is not None]
        if len(self.connections) > MAX_CONNECTIONS and idle:
            min(idle, key=lambda c: c.idle_since or 0.0).transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self.idle_since = None
            self._drop_limit()
        elif self._limit is None:
            self._limit_header()

    def on_response_complete(self) -> None:
        self.idle_since = self.loop.time()
        super().on_response_complete()  # begins the next request, where it is here already
        if not self.cycle.response_complete:
            self.idle_since = None
        self._watch_reading()

    def shutdown(self) -> None:
        super().shutdown()
        self.loop.call_later(MAX_ENDING_SECONDS, self._drop_sender)

    def _drop_sender(self) -> None:
        if self.cycle is not None and self.cycle.more_body and not self.cycle.response_complete:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._drop_limit()
        super().connection_lost(exc)

    def _should_upgrade(self) -> bool:
        return False

    def _watch_reading(self, last: int | None = None) -> None:
        """Of the answer's bytes, `last` were unread a while ago."""
        unread = self.transport.get_write_buffer_size()
        if unread and unread == last:
            self.transport.abort()
        elif unread:
            self.loop.call_later(MAX_UNREAD_SECONDS, self._watch_reading, unread)

    def _limit_header(self) -> None:
        self._limit = self.loop.call_later(MAX_HEADER_SECONDS, self.transport.close)

    def _drop_limit(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
