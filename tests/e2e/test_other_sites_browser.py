"""What a real browser gets by a name that is not allowed, and where a page of another site leads to the log-out."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def follow(page, url):
    """The answer to a navigation that the page shown starts by itself, as one of its links would."""
    with page.expect_response(url) as answer:
        page.evaluate("url => { location.assign(url) }", url)
    return answer.value


def test_another_name_gets_a_page_that_says_why_and_cannot_log_anybody_out(open_page, server):
    page, port = open_page(), urlsplit(server).port
    other = f"http://labels.localhost:{port}/"  # a name of this machine for every browser
    assert page.goto(other).status == 403
    expect(page.get_by_role("heading", name="This server refused the request")).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text(f"The name: labels.localhost:{port}")
    expect(page.get_by_role("main")).to_contain_text("AS2_ALLOWED_HOSTS")

    refused = follow(page, f"{server}/auth/logout")
    assert (refused.status, refused.text()) == (403, "Log out on a page of this server.\n")
    page.goto(server)
    assert follow(page, f"{server}/auth/logout").status != 403  # its own page may
    expect(page.get_by_role("button", name="Ask")).to_be_visible()  # a page that is on its way can't always be closed
