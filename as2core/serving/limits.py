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
    """Refuses a request that is larger than MAX_REQUEST_BYTES or takes longer than MAX_BODY_SECONDS as soon as that is
    so. One that has no room beside the others is forgotten at once, and refused when it is complete: a client that is
    still sending would not see why."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._bytes = Counter[str]()  # by client, of the bodies that are here

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client, share, is_complete = _name_client(scope), 0, False
        give_up = asyncio.get_running_loop().time() + MAX_BODY_SECONDS

        async def receive_whole() -> Message:
            nonlocal share, is_complete
            if is_complete:
                return await receive()
            chunks: list[bytes] = []
            size, refusal = 0, None
            while not is_complete:
                message = await _receive_until(give_up, receive)
                if message["type"] != "http.request":
                    return message
                is_complete = not message.get("more_body", False)
                chunks.append(message.get("body", b""))
                size += len(chunks[-1])
                if size > MAX_REQUEST_BYTES:
                    text = f"a request holds at most {MAX_REQUEST_BYTES:,} bytes: send fewer documents at once"
                    raise HTTPException(413, text)
                if refusal is None and size > FREE_BYTES:
                    refusal = self._explain_refusal(client, size - share)
                    share = self._set_share(client, share, 0 if refusal else size)
                if refusal is not None:
                    chunks.clear()
            if refusal is not None:
                raise refusal
            return {"type": "http.request", "body": b"".join(chunks), "more_body": False}

        try:
            await self._app(scope, receive_whole, send)
        finally:
            self._set_share(client, share, 0)

    def _explain_refusal(self, client: str, more: int) -> HTTPException | None:
        """None where there is room."""
        if self._bytes.total() + more > MAX_TOGETHER_BYTES:
            text = f"the requests here hold {MAX_TOGETHER_BYTES:,} bytes together, as many as there may be"
            return HTTPException(503, f"{text}: try again later", RETRY)
        if self._bytes[client] + more > MAX_CLIENT_BYTES:
            text = f"requests of a client hold at most {MAX_CLIENT_BYTES:,} bytes together"
            return HTTPException(429, f"{text}: wait for an answer", RETRY)
        return None

    def _set_share(self, client: str, before: int, now: int) -> int:
        """Of one request, in bytes."""
        self._bytes[client] += now - before
        if not self._bytes[client]:
            del self._bytes[client]
        return now


async def _receive_until(give_up: float, receive: Receive) -> Message:
    try:
        async with asyncio.timeout_at(give_up):
            return await receive()
    except TimeoutError:
        raise HTTPException(408, f"the request was not complete after {MAX_BODY_SECONDS:.0f} seconds") from None


def _name_client(scope: Scope) -> str:
    """By its key, else by its address."""
    host, _ = scope.get("client") or ("", 0)
    return str(scope.get("state", {}).get("client") or host)
