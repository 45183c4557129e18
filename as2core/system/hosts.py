"""Which names a server answers to, and which pages may speak to it.

A page of another site can have its own name resolve to this machine (DNS rebinding) and then read and drive a local
server as if it were its own; the requests give that away by their `Host`. A page can also open a WebSocket to any
server; that one gives itself away by its `Origin`. So a request is answered if its host is a loopback name, the bound
address or in the list, and if its origin, if it has one, is that very host or in the list. One in HTTP/1.0 may have no
host, as the probes of HAProxy: no browser sends that.

A browser is refused with a page that names the setting, anything else with JSON. The page holds the name that was asked
for, which a stranger chooses: it is escaped and cut, and the page loads and runs nothing.
"""

import html
import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from as2core.errors import BadSetting

VARIABLE = "AS2_ALLOWED_HOSTS"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
ANY_ADDRESS = ("0.0.0.0", "::")  # compared with, not bound  # nosec B104
REFUSED_STATUS, REFUSED_CODE = 403, 1008  # of HTTP, of a WebSocket
MAX_NAME_CHARS = 253  # of a name in the DNS
PAGE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Refused</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 1rem/1.5 sans-serif; max-width: 38rem; margin: 12vh auto; padding: 0 1.5rem; overflow-wrap: anywhere; }}
h1 {{ font: 600 1.45rem serif; }}
code {{ background: light-dark(#f3f1ec, #282522); padding: .1em .3em; border-radius: .3em; }}
</style></head>
<body><main>
<h1>This server refused the request</h1>
<p>{reason}</p>
<p>{what}: <code>{name}</code></p>
<p>If it is yours, whoever runs the server adds it, without a port, to the setting <code>{setting}</code> and starts
the server again.
Several names stand with commas between them.</p>
</main></body>
</html>
"""


_PATTERN = re.compile(r"\*|(\*\.)?[\w-]+(\.[\w-]+)*\.?")


def parse_hosts(text: str) -> tuple[str, ...]:
    """The names of a list with commas or blanks. Raises BadSetting for what no request could have as its host's name,
    such as an address with https:// or a port."""
    names = tuple(text.replace(",", " ").lower().split())
    for name in names:
        if not _PATTERN.fullmatch(name) and not _is_number(name):
            raise BadSetting(
                f"{VARIABLE}: {name!r} is no name of a host: write it without https://, port and path, as "
                "labels.example.org or *.lab.example"
            )
    return names


@dataclass(frozen=True, slots=True)
class Refusal:
    """`name` is what was refused, as the request has it, and `what` that is: a name or a page."""

    reason: str
    what: str
    name: str


def make_response(refusal: Refusal, accept: str, setting: str) -> Response:
    """A page for who accepts HTML; else JSON, as `as2 serve` gives its other errors."""
    name = refusal.name[:MAX_NAME_CHARS]
    if "text/html" not in accept:
        message = f"{refusal.reason} {refusal.what} is {name!r}: if it is yours, list it in {setting}, without a port."
        return JSONResponse({"detail": message, "message": message}, REFUSED_STATUS)
    page = PAGE.format(reason=refusal.reason, what=refusal.what, name=html.escape(name), setting=html.escape(setting))
    return HTMLResponse(page, REFUSED_STATUS, {"Content-Security-Policy": PAGE_POLICY})


class HostGuard:
    """ASGI middleware that refuses what comes by another name or from another page.

    `address` is the bound one; bound to every address, a server answers to each as a number, which no foreign name can
    pose as. `names` are further hosts: "labels.example.org", "*.example.org", or "*" for all. `setting` is
    what lists them, in the words of a refusal.
    """

    def __init__(self, app: ASGIApp, address: str, names: Iterable[str] = (), *, setting: str = VARIABLE) -> None:
        self.app, self.setting = app, setting
        self.names = tuple(names)
        self.is_bound_to_all = address in ANY_ADDRESS
        self.own = {*LOOPBACK, address.strip("[]").lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or not (refusal := self.find_refusal(Headers(scope=scope))):
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await make_response(refusal, Headers(scope=scope).get("accept", ""), self.setting)(scope, receive, send)
        else:
            reason = f"{refusal.reason} {self.setting} lists further ones."
            await send({"type": "websocket.close", "code": REFUSED_CODE, "reason": reason})

    def find_refusal(self, headers: Headers) -> Refusal | None:
        """Why a request with these headers is refused, None if it is not."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if "host" in headers and not self._is_host(_read_name(host)):
            return Refusal("This server does not answer to this name.", "The name", host)
        if (
            origin is None
            or (host and origin.lower().partition("://")[2] == host.lower())
            or self._is_listed(_read_origin(origin))
        ):
            return None
        return Refusal("This server does not answer to pages of another site.", "The page", origin)

    def _is_host(self, name: str) -> bool:
        return name in self.own or (self.is_bound_to_all and _is_number(name)) or self._is_listed(name)

    def _is_listed(self, name: str) -> bool:
        return bool(name) and any(
            pattern in ("*", name) or (pattern.startswith("*.") and name.endswith(pattern[1:]))
            for pattern in self.names
        )


def _read_name(host: str) -> str:
    """The name in "name:port", "" if it is none."""
    try:
        parts = urlsplit(f"//{host}")
        is_plain = parts.netloc == host and "@" not in host and parts.port != -1  # asking for the port checks it
        return (parts.hostname or "").rstrip(".") if is_plain else ""
    except ValueError:
        return ""


def _read_origin(origin: str) -> str:
    try:
        return (urlsplit(origin).hostname or "").rstrip(".")
    except ValueError:
        return ""


def is_loopback(address: str) -> bool:
    """Whether only this machine reaches a server that is bound to it."""
    name = address.strip("[]").lower()
    return name in LOOPBACK or (_is_number(name) and ipaddress.ip_address(name).is_loopback)


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
