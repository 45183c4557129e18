"""The form of the Adapt page."""

import re

from playwright.sync_api import Page, expect


def start_retrain(page: Page, *, epochs: int) -> None:
    """Start a retrain and wait until it is on the page."""
    page.get_by_text("Training settings", exact=True).click()
    field = page.get_by_role("spinbutton", name="Epochs")
    expect(field).to_be_enabled()
    field.fill(str(epochs))
    field.press("Enter")
    page.get_by_role("textbox", name="Note").fill("a try")
    page.get_by_role("button", name="Retrain from labels").click()
    expect(page).to_have_url(re.compile(r"job=\d+"))
