"""Only a session that was offered an upload may send files, and only so much."""

import pytest
from anyio.from_thread import start_blocking_portal
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from app.ui import uploads
from app.ui.uploads import HeldBytes, UploadGuard


@pytest.fixture
def stored(monkeypatch):
    """Bytes by session that the server holds."""
    monkeypatch.setattr(uploads, "_sessions", set())
    monkeypatch.setattr(uploads, "MAX_SESSION_BYTES", 1000)
    monkeypatch.setattr(uploads, "MAX_SERVER_BYTES", 1500)
    return {}


@pytest.fixture
def client(stored):
    async def take(request):
        stored[request.path_params["session"]] = stored.get(request.path_params["session"], 0) + len(
            await request.body()
        )
        return PlainTextResponse("", 204)

    app = Starlette(routes=[Route("/_stcore/upload_file/{session}/{file}", take, methods=["PUT", "DELETE"])])
    guard = UploadGuard(app, lambda session: HeldBytes(stored.get(session, 0), sum(stored.values())))
    return TestClient(guard)


def put(client, session, size, *, is_chunked=False):
    body = b"x" * size
    content = (body[i : i + 100] for i in range(0, size, 100)) if is_chunked else body
    return client.put(f"/_stcore/upload_file/{session}/f", content=content)


def test_a_session_without_an_uploader_sends_nothing(client, stored):
    answer = put(client, "anonymous", 10)
    assert answer.status_code == 403 and "Log in" in answer.text
    assert stored == {}


def test_a_session_with_an_uploader_sends_up_to_its_limit(client, stored):
    uploads.allow_session("a")
    assert put(client, "a", 600).status_code == 204
    for is_chunked in (False, True):  # with and without a declared length
        assert put(client, "a", 600, is_chunked=is_chunked).status_code == 413
    assert stored == {"a": 600}
    stored.clear()  # as when Streamlit forgets the files
    assert put(client, "a", 600, is_chunked=True).status_code == 204


def test_somebody_who_leaves_during_an_upload_is_no_error_and_the_bytes_count_no_longer(client, stored):
    uploads.allow_session("a")
    messages = [{"type": "http.request", "body": b"x" * 900, "more_body": True}, {"type": "http.disconnect"}]

    async def receive():
        return messages.pop(0)

    async def send(message):
        """Nobody is there."""

    scope = {"type": "http", "method": "PUT", "path": "/_stcore/upload_file/a/f", "headers": [], "query_string": b""}
    with start_blocking_portal() as portal:  # after browser tests a loop runs in this thread
        portal.call(client.app, scope, receive, send)
    assert stored == {} and put(client, "a", 1000).status_code == 204


def test_all_sessions_together_have_a_limit(client, stored):
    for session in "ab":
        uploads.allow_session(session)
    assert put(client, "a", 1000).status_code == 204
    assert put(client, "b", 600).status_code == put(client, "b", 600, is_chunked=True).status_code == 413
    assert put(client, "b", 400).status_code == 204


def test_the_files_that_streamlit_holds_are_counted(monkeypatch):
    from types import SimpleNamespace

    file = SimpleNamespace(data=b"x" * 7)
    manager = SimpleNamespace(file_storage={"a": {"1": file, "2": file}, "b": {"3": file}})
    instance = SimpleNamespace(uploaded_file_mgr=manager)
    monkeypatch.setattr(uploads.runtime, "exists", lambda: True)
    monkeypatch.setattr(uploads.runtime, "get_instance", lambda: instance)
    assert uploads.sum_files("a") == HeldBytes(14, 21)
    assert uploads.sum_files("c") == HeldBytes(0, 21)
