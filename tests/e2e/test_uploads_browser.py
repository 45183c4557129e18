"""The server's upload route takes files only from sessions that a page offered an upload."""

import re

import pytest
from keyboard import wait_until_idle
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("pause", [0, 100])  # the second click comes before the corpus is there, or its choice
def test_a_double_click_makes_one_corpus_and_its_upload_comes_into_sight(page, server, pause):
    page.set_viewport_size({"width": 1280, "height": 600})
    page.goto(f"{server}/data?corpus=starter")
    field = page.get_by_label("Name", exact=True)
    field.fill(f"Clicked twice after {pause}")
    button = page.get_by_role("button", name="Create")
    button.evaluate("(button, pause) => { button.click(); setTimeout(() => button.click(), pause) }", pause)
    page.wait_for_timeout(pause)
    wait_until_idle(page)
    expect(page.get_by_role("heading", name=f"Add documents to “Clicked twice after {pause}”")).to_be_visible()
    expect(page.get_by_role("button", name="Choose files first")).to_be_in_viewport()
    expect(field).to_have_value("")
    expect(page.get_by_role("alert").filter(has_text="name")).to_have_count(0)


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
