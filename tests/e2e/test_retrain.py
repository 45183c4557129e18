"""The loop in a real browser: retrain from labels, read the card, promote, ask with the new one, roll back; cancel."""

import re

import pytest
from playwright.sync_api import Page, expect
from retrain_form import start_retrain

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LONG = 240_000  # milliseconds: training and measuring, on a machine with other things to do
JOB = ".st-key-adapt_job"
CARD = ".st-key-adapt_card"


def start(page: Page, url: str, *, epochs: int) -> None:
    page.goto(f"{url}/adapt?corpus=starter")  # other tests of this server may have added one
    expect(page.get_by_role("button", name="Retrain from labels")).to_be_enabled()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    start_retrain(page, epochs=epochs)


def test_from_labels_to_a_promoted_version_that_answers(small_page, open_page, small, small_worker):
    page = small_page
    start(page, small.url, epochs=2)
    address = page.url

    page.close()  # nobody is looking: the job goes on, and its address shows it again
    page = open_page()
    page.goto(address)
    card = page.locator(CARD)
    expect(card).to_be_visible(timeout=LONG)
    expect(card.get_by_test_id("as2-outcome")).to_contain_text(re.compile(r"on \d+ questions"))
    expect(card).to_contain_text("On the frozen benchmark")
    expect(card).to_contain_text("Calibration of its probabilities")
    expect(card).to_contain_text("Made from cascade")
    expect(card).to_contain_text(
        re.compile(r"Trained on \d+ questions \(\d+ from the starter corpus; \d+ correct and \d+ incorrect labels")
    )

    reason = card.get_by_role("textbox")
    if reason.count():  # it is worse: promoting asks why
        reason.fill("the test wants it")
        reason.press("Enter")
    card.get_by_role("button", name="Promote").click()
    in_use = card.get_by_text(re.compile(r"starter-\d+ is in use, for all corpora"))
    expect(in_use).to_be_in_viewport()
    name = in_use.inner_text().split(" is in use")[0].split()[-1]
    expect(page.get_by_text(f"Ranker: {name}")).to_be_visible()

    page.goto(f"{small.url}/?corpus=starter&q=Who+made+it%3F")
    expect(page.locator(".as2-answer")).to_be_visible(timeout=LONG)
    expect(page.get_by_role("combobox", name="Ranker")).to_have_value(f"{name} (in use)")

    page.goto(f"{small.url}/adapt")  # and back to the version it came with
    page.locator(".stVerticalBlock").get_by_role("button", name="Roll back to cascade").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox").fill("the first was good enough")
    dialog.get_by_role("textbox").press("Enter")
    dialog.get_by_role("button", name="Roll back to cascade").click()
    expect(page.get_by_text("Ranker: cascade")).to_be_visible()


def test_a_cancelled_retrain_says_so_and_leaves_the_page_usable(small_page, small, small_worker):
    page = small_page
    start(page, small.url, epochs=50)
    panel = page.locator(JOB)
    expect(panel.get_by_role("button", name="Cancel")).to_be_enabled()
    expect(page.get_by_test_id("as2-log")).to_contain_text("start:", timeout=LONG)
    panel.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Cancel the retrain").click()
    expect(panel).to_contain_text("It was stopped. No version was made", timeout=LONG)
    expect(panel.get_by_role("button", name="Run again")).to_be_enabled()
    expect(page.get_by_role("button", name="Retrain from labels")).to_be_enabled()
    page.get_by_role("button", name="Dismiss").click()
    expect(panel).to_have_count(0)
    expect(page).not_to_have_url(re.compile(r"job=\d+"))
