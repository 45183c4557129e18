"""After a log-in the browser is at the page where it began.

Streamlit's routes lead to the first page, whatever a link asked for, and say nothing where a log-in failed. This
middleware keeps the address in a cookie for some minutes, and puts it into the answer that leads back. It takes the
path of one of the pages and its query, whoever wrote them, and never another site's address.
"""

import logging
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

from app.ui.navigation import PAGES

log = logging.getLogger(__name__)

LOGIN, CALLBACK = "/auth/login", "/oauth2callback"  # Streamlit's routes
COOKIE, MAX_AGE_SECONDS = "as2_place", 900
MAX_PLACE_CHARS = 3500  # browsers keep cookies of 4096 bytes
OUTCOME, FAILED = "login", "failed"  # a query parameter, and its value where nobody was logged in
REDIRECTS = (302, 303, 307)
UNREACHABLE = (
    "nobody can log in: the provider did not answer as one, for the reason above; see that server_metadata_url in "
    "secrets.toml is its discovery address, and that this machine reaches it"
)


class LoginReturn:
    """ASGI middleware. `base`: the path that the app is served under, "" for the root."""

    def __init__(self, app: ASGIApp, base: str = "") -> None:
        self.app = app
        self.base = f"/{base.strip('/')}".rstrip("/")
        self.places = frozenset(f"{self.base}/{name}" for name in ("", *PAGES))
        self.changes = {f"{self.base}{LOGIN}": self._keep_place, f"{self.base}{CALLBACK}": self._lead_back}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_get = scope["type"] == "http" and scope["method"] == "GET"
        change = self.changes.get(scope["path"]) if is_get else None
        if change is None:
            await self.app(scope, receive, send)
            return

        async def send_changed(message: Message) -> None:
            if message["type"] == "http.response.start":
                change(Request(scope), message, MutableHeaders(scope=message))
            await send(message)

        await self.app(scope, receive, send_changed)

    def _keep_place(self, request: Request, message: Message, headers: MutableHeaders) -> None:
        """Of the page that leads to the provider, or back to it where the provider cannot be reached."""
        referer = request.headers.get("referer", "")
        is_own = _split(referer).netloc == request.headers.get("host")
        place = self.read_place(referer if is_own else "")
        if message["status"] in REDIRECTS and not headers.get("location", "/").startswith("/"):
            headers.append("set-cookie", self._write_cookie(place, MAX_AGE_SECONDS))
        else:
            if message["status"] not in REDIRECTS:  # Streamlit leads a page that is out of date to the first page
                log.error(UNREACHABLE)
            message["status"], headers["location"] = 302, mark_failure(place)

    def _lead_back(self, request: Request, message: Message, headers: MutableHeaders) -> None:
        """To the place. Providers lead here after a log-out, too, without a parameter."""
        place = request.cookies.get(COOKIE)
        is_answer = not {"state", "error"}.isdisjoint(request.query_params)
        if place is None or not is_answer or message["status"] not in REDIRECTS:
            return
        place = self.read_place(place)
        cookies = [value for value in headers.getlist("set-cookie") if value.startswith(f"{USER_COOKIE_NAME}=")]
        is_logged_in = any(not value.startswith(f'{USER_COOKIE_NAME}="";') for value in cookies)
        headers["location"] = place if is_logged_in else mark_failure(place)
        headers.append("set-cookie", self._write_cookie("", 0))

    def read_place(self, address: str) -> str:
        """Path and query of an address if it is a page's, without the outcome of an earlier log-in; else the first
        page's. The query is left out where a cookie could not hold it."""
        parts = _split(address)
        if parts.path not in self.places:
            return f"{self.base}/"
        pairs = [pair for pair in parse_qsl(parts.query) if pair[0] != OUTCOME]
        place = f"{parts.path}?{urlencode(pairs)}" if pairs else parts.path
        return place if len(place) <= MAX_PLACE_CHARS else parts.path

    def _write_cookie(self, value: str, max_age: int) -> str:
        return f"{COOKIE}={value}; Max-Age={max_age}; Path={self.base or '/'}; HttpOnly; SameSite=Lax"


def _split(address: str) -> SplitResult:
    """Empty for one that is damaged."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def mark_failure(place: str) -> str:
    """The same place, which says that nobody was logged in."""
    return f"{place}{'&' if '?' in place else '?'}{OUTCOME}={FAILED}"
