"""Waiting until the Label page hears the next key."""

import time

from conftest import PATIENCE
from playwright.sync_api import Page, expect

REST_MS = 500  # between two runs of one act the page rests for a moment
RESTS = """([wait, rest]) => {
  const state = document.querySelector('[data-testid="stApp"]')?.getAttribute("data-test-script-state");
  const now = performance.now(), seen = window.__as2rest;
  const goesOn = state === "notRunning" && seen?.wait === wait;  // a page that is too busy to look has not rested
  window.__as2rest = { wait, now, rested: goesOn ? seen.rested + Math.min(now - seen.now, 100) : 0 };
  return window.__as2rest.rested >= rest;
}"""
RANK = "Rank questions"
WORKER_MS = max(180_000, PATIENCE)  # a worker that has just started imports torch and loads its models first


def wait_until_idle(page: Page) -> None:
    """The run is over: nothing on the page is about to be drawn anew, and the next key will be heard. A key's run may
    begin late on a busy machine, and answers the key before it draws the rows: so the answer is awaited, then its end.
    """
    if "/label" in page.url:  # the other pages listen to no keys
        wait_for_listener(page)
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    page.wait_for_function(RESTS, arg=[time.monotonic(), REST_MS], polling=25)
    if "/label" in page.url:
        wait_for_listener(page)


def wait_for_listener(page: Page) -> None:
    """What is shown has its keys; enough where each press is told by what it changes."""
    page.wait_for_function("() => window.__as2keys?.data && window.__as2keys.sent.doc !== window.__as2keys.data.doc")


def show_in(page: Page, scheme: str) -> None:
    """The open page as a browser with this colour scheme shows it: "light" or "dark"."""
    page.emulate_media(color_scheme=scheme)
    expect(page.get_by_test_id("stApp")).to_have_css("color-scheme", scheme)


def sign(page: Page, name: str) -> None:
    """Give a name, which the page's labels are signed with from then on."""
    field = page.get_by_role("textbox", name="Your name")
    field.fill(name)
    field.press("Enter")
    expect(page.get_by_title(f"Sentences labelled by {name}")).to_be_visible()
    wait_until_idle(page)


def open_queue(page: Page, url: str, item: str) -> None:
    """Open a queue, and have its questions ranked if nothing in it is ranked yet."""
    page.goto(url)
    rank = page.get_by_role("button", name=RANK, exact=True)
    expect(page.locator(item).or_(rank).first).to_be_visible()
    if rank.is_visible():
        rank.click()
    expect(page.locator(item).first).to_be_visible(timeout=WORKER_MS)
