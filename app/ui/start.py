"""A script that every page gets before Streamlit's own. It names the server's address, keeps the history tidy and, on a
phone, the side bar closed, and holds the keys that come before Label listens.

Streamlit looks for its server below the page's own address first, so that a page opened by its link asks twice for what
is not there. And it makes an entry in the browser's history of every change to a query parameter, which Back would have
to undo one by one.
"""

import json
from functools import cache

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.ui.navigation import PAGES, PLACES
from app.ui.scripts import load_text

HEAD = b"<head>"
UNCACHED = ("accept-encoding", "if-none-match", "if-modified-since")  # the file as it is, uncompressed


@cache
def render_script() -> bytes:
    """The script element, with the pages' names and the parameters that are places."""
    source = load_text("start.js")
    for name, value in (("PAGES", list(PAGES)), ("PLACES", PLACES)):
        source = source.replace(f'"__{name}__"', json.dumps(value))
    return f"<script>\n{source}</script>".encode()


class StartScript:
    """ASGI middleware that adds the script to every HTML page."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or "text/html" not in Headers(scope=scope).get("accept", ""):
            await self.app(scope, receive, send)
            return
        headers = [(name, value) for name, value in scope["headers"] if name.decode() not in UNCACHED]
        page = _Page(send)
        await self.app({**scope, "headers": headers, "extensions": {}}, receive, page.send)


class _Page:
    """Passes a response on: one of HTML when its body is complete, with the script in its head."""

    def __init__(self, send: Send) -> None:
        self.pass_on = send
        self.start: Message | None = None
        self.body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            if not Headers(raw=message["headers"]).get("content-type", "").startswith("text/html"):
                await self.pass_on(message)
                return
            self.start = message
        elif self.start is None:
            await self.pass_on(message)
        else:
            self.body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._finish(self.start)

    async def _finish(self, start: Message) -> None:
        body = self.body.replace(HEAD, HEAD + render_script(), 1)
        headers = MutableHeaders(scope=start)
        for name in ("etag", "last-modified"):  # which are those of the file
            if name in headers:
                del headers[name]
        headers["content-length"] = str(len(body))
        await self.pass_on(start)
        await self.pass_on({"type": "http.response.body", "body": body})
