"""How much clients may send, one request and all of them together, and how long a client may take over it.

A request's body is in memory until its answer is written, also while it waits for its turn, and several times: as it
came, as texts, and cut for the ranker. So the bodies have a bound together; one client takes half of it at most.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from fastapi import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_REQUEST_BYTES = 64 * 2**20
MAX_BODY_SECONDS = 60.0
MAX_CLIENT_BYTES = 128 * 2**20  # of all bodies of one client
MAX_TOGETHER_BYTES = 256 * 2**20  # of all
FREE_BYTES = 2**16  # of a body that is always taken: as many as there may be requests are little
RETRY = {"Retry-After": "5"}


class BodyLimit:
    """Refuses a request as soon as it is larger than MAX_REQUEST_BYTES, takes longer than MAX_BODY_SECONDS, or has no
    room beside the others."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._bytes = Counter[str]()  # by client, of the bodies that are here

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        size, is_complete, share = 0, False, 0
        give_up = asyncio.get_running_loop().time() + MAX_BODY_SECONDS
        client = _name_client(scope)

        async def receive_and_count() -> Message:
            nonlocal size, is_complete, share
            try:
                async with asyncio.timeout_at(None if is_complete else give_up):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, f"the request was not complete after {MAX_BODY_SECONDS:.0f} seconds") from None
            is_complete = not message.get("more_body", False)
            size += len(message.get("body", b""))
            if size > MAX_REQUEST_BYTES:
                raise HTTPException(
                    413, f"a request holds at most {MAX_REQUEST_BYTES:,} bytes: send fewer documents at once"
                )
            if size > FREE_BYTES:
                self._make_room(client, size - share)
                share = size
            return message

        try:
            await self._app(scope, receive_and_count, send)
        finally:
            self._bytes[client] -= share
            if not self._bytes[client]:
                del self._bytes[client]

    def _make_room(self, client: str, more: int) -> None:
        """Raises HTTPException where there is none."""
        if self._bytes.total() + more > MAX_TOGETHER_BYTES:
            text = f"the requests here hold {MAX_TOGETHER_BYTES:,} bytes together, as many as there may be"
            raise HTTPException(503, f"{text}: try again later", RETRY)
        if self._bytes[client] + more > MAX_CLIENT_BYTES:
            text = f"requests of a client hold at most {MAX_CLIENT_BYTES:,} bytes together"
            raise HTTPException(429, f"{text}: wait for an answer", RETRY)
        self._bytes[client] += more


def _name_client(scope: Scope) -> str:
    """By its key, else by its address."""
    host, _ = scope.get("client") or ("", 0)
    return str(scope.get("state", {}).get("client") or host)
