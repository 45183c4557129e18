"""Uploads: only a session that a page offered one may send files, and only so much.

Streamlit takes a file from every session that is connected, also from one that has not passed the log-in, keeps it in
memory, and bounds each file alone. `offer_upload` draws every uploader here; `UploadGuard` refuses what comes from a
session without one, and what exceeds the limits of a session or of the server.
"""

import string
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import streamlit as st
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFileManager

ROUTE = "/_stcore/upload_file/"
MAX_SESSION_BYTES = 1_000_000_000
MAX_SERVER_BYTES = 4_000_000_000
TOO_MUCH = "These files are more than this app takes at once. Add some of them, then the others."
NOT_OFFERED = "This session may not upload files. Log in, or reload the page."
LOST_MESSAGE = (
    "The server was restarted while this page was open, and the files chosen here are gone. Choose them again."
)
_LOST_FILES, _SUFFIX = "_as2_lost_files", "_as2_upload_suffix"  # of a session

_sessions: set[str] = set()  # which have been offered an upload


def offer_upload(label: str, *, key: str, is_allowed: bool = True, **settings: Any) -> Any:
    """As `st.file_uploader`, which takes no files unless `is_allowed`. A number at the end of `key` makes an uploader
    anew. Where a server that was restarted has lost its files, it is emptied, and says so until others are chosen."""
    if is_allowed and (context := get_script_run_ctx()) is not None:
        allow_session(context.session_id)
    stem, lost_files = key.rstrip(string.digits), st.session_state.get(_LOST_FILES, frozenset())
    place = st.container() if any(k.startswith(stem) for k in lost_files) else None
    files = st.file_uploader(label, disabled=not is_allowed, key=key + st.session_state.get(_SUFFIX, ""), **settings)
    if files:
        st.session_state[_LOST_FILES] = frozenset(k for k in lost_files if not k.startswith(stem))
    elif place is not None:
        place.warning(LOST_MESSAGE, icon=":material/sync_problem:")
    return files


def note_lost_files(keys: Iterable[str]) -> None:
    """In the first run of a session: the browser shows files in the uploaders of these keys, which another server had.
    Their names differ from now on, since the browser keeps what it shows for a name."""
    context, lost_files = get_script_run_ctx(), frozenset(keys)
    if lost_files and context is not None:
        st.session_state[_LOST_FILES] = lost_files
        st.session_state[_SUFFIX] = f"_{context.session_id}"


def allow_session(session_id: str) -> None:
    """Forget those that ended, too."""
    if runtime.exists():
        is_active = runtime.get_instance().is_active_session
        _sessions.intersection_update({s for s in _sessions if is_active(s)})
    _sessions.add(session_id)


@dataclass(frozen=True, slots=True)
class HeldBytes:
    """Of uploads in the memory of the server."""

    session: int
    server: int


def sum_files(session_id: str) -> HeldBytes:
    """What Streamlit's manager holds; nothing where there is none or it is of another kind."""
    manager: UploadedFileManager | None = runtime.get_instance().uploaded_file_mgr if runtime.exists() else None
    storage = getattr(manager, "file_storage", {})
    sizes = {session: sum(len(file.data) for file in list(files.values())) for session, files in list(storage.items())}
    return HeldBytes(sizes.get(session_id, 0), sum(sizes.values()))


class UploadGuard:
    """ASGI middleware in front of Streamlit's upload route."""

    def __init__(self, app: ASGIApp, measure: Callable[[str], HeldBytes] = sum_files) -> None:
        self.app, self.measure = app, measure
        self._arriving: dict[str, int] = {}  # bytes by session, not yet stored

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or ROUTE not in scope["path"] or scope["method"] not in ("PUT", "POST"):
            await self.app(scope, receive, send)
            return
        session_id = scope["path"].partition(ROUTE)[2].partition("/")[0]
        if session_id not in _sessions:
            await PlainTextResponse(NOT_OFFERED, 403)(scope, receive, send)
            return
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if not self._has_room(session_id, int(length) if length.isdigit() else 0):
            await PlainTextResponse(TOO_MUCH, 413)(scope, receive, send)
            return
        await self._pass_on(session_id, scope, receive, send)

    async def _pass_on(self, session_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        arrived = 0

        async def receive_and_count() -> Message:
            nonlocal arrived
            message = await receive()
            size = len(message.get("body", b""))
            arrived += size
            self._arriving[session_id] = self._arriving.get(session_id, 0) + size
            if not self._has_room(session_id):
                raise HTTPException(413, TOO_MUCH)
            return message

        try:
            await self.app(scope, receive_and_count, send)
        except ClientDisconnect:  # somebody left the page: the log need not have a traceback of it
            pass
        finally:
            self._arriving[session_id] = self._arriving.get(session_id, 0) - arrived
            if not self._arriving[session_id]:
                del self._arriving[session_id]

    def _has_room(self, session_id: str, size: int = 0) -> bool:
        memory = self.measure(session_id)
        session = memory.session + self._arriving.get(session_id, 0) + size
        server = memory.server + sum(self._arriving.values()) + size
        return session <= MAX_SESSION_BYTES and server <= MAX_SERVER_BYTES
