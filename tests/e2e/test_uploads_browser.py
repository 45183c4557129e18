"""The server's upload route takes files only from sessions that a page offered an upload."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_files_arrive_from_the_page_with_an_uploader_and_from_no_other_session(page, server):
    sent = []
    page.on("request", lambda request: "/upload_file/" in request.url and sent.append((request.method, request.url)))
    page.goto(f"{server}/data")
    note = {"name": "note.txt", "mimeType": "text/plain", "buffer": b"A note about the bell."}
    page.locator('input[type="file"]').first.set_input_files([note])
    expect(page.get_by_role("button", name="Add 1 file")).to_be_enabled()
    _, url = next(x for x in sent if x[0] == "PUT")
    session, file = re.search(r"upload_file/([^/]+)/([^/]+)", url).groups()
    refused = page.request.put(url.replace(session, "0" * 8), data=b"x")
    assert refused.status == 403 and "may not upload" in refused.text()
    assert page.request.put(url.replace(file, "other"), data=b"x").status != 413
