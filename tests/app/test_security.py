"""Every answer carries the headers that keep the page to itself."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from app.security import HEADERS, SecurityHeaders


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
