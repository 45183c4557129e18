"""How much a client may send."""

from __future__ import annotations

from fastapi import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_REQUEST_BYTES = 64 * 2**20


class BodyLimit:
    """Refuses a request as soon as it is larger than MAX_REQUEST_BYTES."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        size = 0

        async def receive_counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > MAX_REQUEST_BYTES:
                raise HTTPException(
                    413, f"a request holds at most {MAX_REQUEST_BYTES:,} bytes: send fewer documents at once"
                )
            return message

        await self._app(scope, receive_counted, send)
