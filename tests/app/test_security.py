"""Every answer carries the headers that keep the page to itself."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from app.security import HEADERS, LOGOUT_ROUTE, ClosedRoutes, LogoutGuard, SecurityHeaders


def run(coroutine):
    """Its result, from a thread of its own: in this one the browser tests may have left a loop running."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


async def run_app(scope):
    sent = []

    async def inner(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": b"x"})

    async def send(message):
        sent.append(message)

    await SecurityHeaders(inner)(scope, None, send)
    return {k.decode(): v.decode() for k, v in sent[0]["headers"]}


def test_a_response_gets_the_headers_and_keeps_its_own():
    headers = run(run_app({"type": "http"}))
    assert headers["content-type"] == "text/plain"
    assert {k.lower() for k in HEADERS} <= set(headers)
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"


def test_nothing_may_be_loaded_from_another_host():
    policy = dict(part.split(maxsplit=1) for part in HEADERS["Content-Security-Policy"].split("; "))
    hosts = {source for sources in policy.values() for source in sources.split()}
    assert not [h for h in hosts if "." in h or "//" in h or h == "*"]
    assert not {"ws:", "wss:", "http:", "https:"} & hosts
    assert policy["default-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"


def test_a_websocket_passes_untouched():
    seen = []

    async def inner(scope, receive, send):
        seen.append(send)

    run(SecurityHeaders(inner)({"type": "websocket"}, None, "the same send"))
    assert seen == ["the same send"]


async def open_route(path, kind="http"):
    sent = []

    async def send(message):
        sent.append(message)

    async def inner(scope, receive, send):
        await PlainTextResponse("ok")(scope, receive, send)

    await ClosedRoutes(inner)({"type": kind, "path": path, "method": "GET", "headers": []}, None, send)
    return sent[0]


@pytest.mark.parametrize(
    "path",
    [
        "/_stcore/metrics",
        "/base/_stcore/metrics",
        "/_stcore/agent/interact",
        "/_stcore/agent/openapi.json",
        "/_stcore/script-health-check",
    ],
)
def test_routes_that_no_page_needs_are_closed(path):
    assert run(open_route(path))["status"] == 404
    assert run(open_route(path, "websocket")) == {"type": "websocket.close", "code": 1008, "reason": ""}


@pytest.mark.parametrize("path", ["/", "/label", "/_stcore/health", "/_stcore/host-config", "/media/a.csv"])
def test_routes_that_pages_need_are_open(path):
    assert run(open_route(path))["status"] == 200


def test_the_app_has_these_layers_and_streamlit_the_routes_that_they_close():
    from streamlit.web.server.starlette import starlette_agent_routes, starlette_routes

    import streamlit_app

    assert {ClosedRoutes, LogoutGuard, SecurityHeaders} <= {layer.cls for layer in streamlit_app.middleware}
    routes = [starlette_routes.ROUTE_METRICS, starlette_routes.ROUTE_SCRIPT_HEALTH]
    routes += [v for k, v in vars(starlette_agent_routes).items() if k.startswith("_ROUTE_AGENT_")]
    assert len(routes) == 5  # another one in a later version shows here
    assert [run(open_route(f"/{route}"))["status"] for route in routes] == [404] * 5


@pytest.mark.parametrize(
    ("site", "path", "status"),
    [
        ("same-origin", "/auth/logout", 200),  # the button
        ("none", "/auth/logout", 200),  # typed
        ("", "/auth/logout", 200),  # plain HTTP, where browsers do not say
        ("cross-site", "/auth/logout", 403),
        ("same-site", "/base/auth/logout", 403),  # another name of the same domain
        ("cross-site", "/oauth2callback", 200),  # the provider leads back
        ("cross-site", "/label", 200),  # a link to a page
    ],
)
def test_another_site_logs_nobody_out(site, path, status):
    headers = {"sec-fetch-site": site} if site else {}
    client = TestClient(LogoutGuard(PlainTextResponse("ok")))
    assert client.get(path, headers=headers).status_code == status


def test_the_guarded_log_out_is_where_streamlit_has_it():
    from streamlit.user_info import AUTH_LOGOUT_ENDPOINT

    assert AUTH_LOGOUT_ENDPOINT == LOGOUT_ROUTE
