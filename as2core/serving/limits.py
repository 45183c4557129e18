"""How much a client may send, and how long it may take over it."""

from __future__ import annotations

import asyncio

from fastapi import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_REQUEST_BYTES = 64 * 2**20
MAX_BODY_SECONDS = 60.0


class BodyLimit:
    """Refuses a request as soon as it is larger than MAX_REQUEST_BYTES, or takes longer than MAX_BODY_SECONDS."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        size, is_complete = 0, False
        give_up = asyncio.get_running_loop().time() + MAX_BODY_SECONDS

        async def receive_and_count() -> Message:
            nonlocal size, is_complete
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
            return message

        await self._app(scope, receive_and_count, send)
