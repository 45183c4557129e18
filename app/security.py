"""Headers every answer carries: no framing, no sniffing, and nothing loaded from another host. Routes that no page
needs are closed.

Streamlit compiles Vega expressions and component code in the browser, so scripts need 'unsafe-eval', blob: and inline;
what the policy buys is that text which slipped through as markup can neither load nor send anything elsewhere.
"""

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' data: blob:; "
    "worker-src 'self' blob:; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}

# Streamlit answers these to everybody, before the log-in, too: how many sessions there are and what they hold in
# memory, a second way to drive the app, and whether its script fails
CLOSED_ROUTES = ("/_stcore/metrics", "/_stcore/agent", "/_stcore/script-health-check")
LOGOUT_ROUTE = "/auth/logout"  # Streamlit's; a GET, so that a link of any site would log somebody out
OWN_SITES = ("same-origin", "none")  # of Sec-Fetch-Site: a page of this server, the address bar


class SecurityHeaders:
    """ASGI middleware that adds `HEADERS` to every HTTP response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        await self.app(scope, receive, with_headers)


class ClosedRoutes:
    """ASGI middleware that answers 404 for `CLOSED_ROUTES`, below any base path."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and any(route in scope["path"] for route in CLOSED_ROUTES):
            if scope["type"] == "http":
                await PlainTextResponse("There is nothing here.\n", 404)(scope, receive, send)
            else:
                await send({"type": "websocket.close", "code": 1008, "reason": ""})
            return
        await self.app(scope, receive, send)


class LogoutGuard:
    """ASGI middleware that answers 403 where a page of another site leads to the log-out. Browsers say so in a header
    that no page can set, but not over plain HTTP."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_logout = scope["type"] == "http" and scope["path"].endswith(LOGOUT_ROUTE)
        if is_logout and Headers(scope=scope).get("sec-fetch-site", OWN_SITES[0]) not in OWN_SITES:
            await PlainTextResponse("Log out on a page of this server.\n", 403)(scope, receive, send)
            return
        await self.app(scope, receive, send)
