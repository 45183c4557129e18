"""A person at the pages without a browser: the messages that a browser exchanges with Streamlit's server, over a real
WebSocket, so that the server does all that it does for a browser, and twenty people fit beside it on a small machine.

Streamlit documents no protocol. What is used of it: a run is asked for by the states of the widgets that changed, what
it draws arrives as deltas, and `script_finished` ends it; widgets have ids that end in the key that the page gave.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from urllib.parse import quote

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

PATIENCE_SECONDS = 120.0  # for one run
POLL_PATIENCE_SECONDS = 5.0  # for a part that draws itself again; the server drops what asks for one that is gone
KEYED = ("button", "text_input")


class PageError(Exception):
    """A run failed, was refused, or did not end; the text is what somebody at the page would see."""


class PageSession:
    """One tab. Its acts return when the server has drawn everything."""

    def __init__(self, url: str, name: str) -> None:
        cookie = {"Cookie": f"as2_name={quote(name)}"}
        address = url.replace("http", "ws", 1) + "/_stcore/stream"
        # a browser's own compression would cost this process more than the server
        self._socket = connect(
            address, subprotocols=["streamlit"], origin=url, additional_headers=cookie, max_size=None, proxy=None,
            compression=None,
        )  # fmt: skip
        self._query, self._page = "", ""
        self._pages: dict[str, str] = {}  # by the path in the address
        self._widgets: dict[str, tuple[str, str]] = {}  # by key: id, and the fragment that draws it
        self._polls: dict[str, tuple[float, float]] = {}  # by fragment: every so many seconds, and when next

    def close(self) -> None:
        self._socket.close()

    def open(self, page: str = "", query: str = "") -> None:
        """Open a page by its path; "" is the first one, which has to be opened once before another."""
        self._query, self._page, self._widgets = query, self._pages.get(page, ""), {}
        self._run({})

    def submit(self, text: str, field: str, button: str, is_shown: Callable[[Element], bool]) -> float | None:
        """Type into a field of a form and press the form's button, all three named by the beginnings of their keys.
        Seconds until something that `is_shown` arrived, None if it did not."""
        typed = WidgetState(id=self._find(field)[0], string_value=text)
        press = WidgetState(id=self._find(button)[0], trigger_value=True)
        return self._run({field: typed, button: press}, is_shown=is_shown)

    def has(self, key: str) -> bool:
        """Whether the page has a widget that can be used with this key."""
        return key in self._widgets

    def click(self, key: str) -> None:
        widget, fragment = self._find(key)
        self._run({key: WidgetState(id=widget, trigger_value=True)}, fragment=fragment)

    def rest(self, seconds: float) -> None:
        """Do nothing, as a browser does it: it goes on asking for the parts that draw themselves again."""
        until = time.monotonic() + seconds
        while (now := time.monotonic()) < until:
            due = min(self._polls, key=lambda f: self._polls[f][1], default="")
            if due and self._polls[due][1] <= now:
                self._polls[due] = (self._polls[due][0], now + self._polls[due][0])
                self._run({}, fragment=due, is_poll=True)
                continue
            next_poll = self._polls[due][1] if due else until
            if (message := self._receive(min(until, next_poll) - now)) is not None:
                self._take(message)

    def _find(self, key: str) -> tuple[str, str]:
        try:
            return next(found for name, found in self._widgets.items() if name.startswith(key))
        except StopIteration:
            raise PageError(f"the page has no {key}") from None

    def _run(
        self,
        changes: Mapping[str, WidgetState],
        *,
        fragment: str = "",
        is_poll: bool = False,
        is_shown: Callable[[Element], bool] | None = None,
    ) -> float | None:
        """Ask for a run and take all that it draws."""
        message = BackMsg()
        run = message.rerun_script
        run.query_string, run.page_script_hash = self._query, self._page
        run.fragment_id, run.is_auto_rerun = fragment, is_poll
        run.widget_states.widgets.extend(changes.values())
        patience = POLL_PATIENCE_SECONDS if is_poll else PATIENCE_SECONDS
        began, seconds = time.monotonic(), None
        self._socket.send(message.SerializeToString())
        while (remaining := began + patience - time.monotonic()) > 0:
            if (answer := self._receive(remaining)) is None:
                continue
            element = self._take(answer)
            if seconds is None and is_shown is not None and element is not None and is_shown(element):
                seconds = time.monotonic() - began
            ended = answer.WhichOneof("type") == "script_finished"
            if ended and answer.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                return seconds
        if not is_poll:
            raise PageError(f"no end within {PATIENCE_SECONDS:g} seconds")
        self._polls.pop(fragment, None)
        return None

    def _receive(self, seconds: float) -> ForwardMsg | None:
        try:
            return ForwardMsg.FromString(self._socket.recv(timeout=max(0.0, seconds)))
        except TimeoutError:
            return None
        except ConnectionClosed as e:
            raise PageError(f"the connection ended: {e}") from e

    def _take(self, message: ForwardMsg) -> Element | None:
        """Note what a browser notes. Raises PageError for an error on the page."""
        kind = message.WhichOneof("type")
        if kind == "new_session" and not message.metadata.run.fragment_ids:
            self._polls = {}
        elif kind == "navigation":
            self._pages = {p.url_pathname: p.page_script_hash for p in message.navigation.app_pages}
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
        elif kind == "auto_rerun":
            seconds = message.auto_rerun.interval
            self._polls[message.auto_rerun.fragment_id] = (seconds, time.monotonic() + seconds)
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            return self._take_element(message.delta.new_element, message.delta.fragment_id)
        return None

    def _take_element(self, element: Element, fragment: str) -> Element:
        kind = element.WhichOneof("type")
        if kind in KEYED:
            widget = getattr(element, kind)
            key = widget.id.split("-", 2)[2]
            if not widget.disabled:
                self._widgets[key] = widget.id, fragment
            else:
                self._widgets.pop(key, None)
        elif kind == "exception":
            raise PageError(element.exception.message)
        elif kind == "alert" and element.alert.format == element.alert.ERROR:
            raise PageError(element.alert.body)
        return element
