"""A version goes out as a zip and comes back in, in a real browser; and is compared from its row."""

import re

import pytest
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_version_goes_out_as_a_zip_and_comes_back_in(page: Page, server: str, tmp_path):
    page.goto(f"{server}/adapt")
    row = page.locator("[class*='st-key-adapt_version_']").first
    row.get_by_role("button", name="Export").click()
    page.get_by_role("button", name="Create the file").click()
    button = page.get_by_role("button", name=re.compile("Download, "))
    expect(button).to_be_visible()
    with page.expect_download() as download:
        button.click()
    assert download.value.suggested_filename == "cascade.as2.zip"
    file = tmp_path / "cascade.as2.zip"
    download.value.save_as(file)
    page.keyboard.press("Escape")

    page.get_by_text("Import a version", exact=True).click()
    page.locator(".st-key-adapt_import input[type=file]").set_input_files(file)
    name = page.get_by_role("textbox", name="Name", exact=True)
    name.fill("from elsewhere")
    name.press("Enter")
    page.locator(".st-key-adapt_import_start button").click()
    row = page.locator("[class*='st-key-adapt_version_']").filter(has_text="from elsewhere")
    expect(row).to_contain_text("not promoted")
    row.get_by_role("link", name="Compare").click()
    expect(page).to_have_url(re.compile(r"/compare\?.*rankers="))
    chosen = page.locator(".st-key-compare_rankers")
    expect(chosen).to_contain_text("from elsewhere")
    expect(chosen).to_contain_text("cascade")
