"""The tour on the handbook in a real browser: 20 prepared labels, one retrain, before and after, promote."""

import re

import pytest
from keyboard import wait_until_idle
from playwright.sync_api import expect
from retrain_form import start_retrain

pytestmark = pytest.mark.browser

LONG = 240_000  # milliseconds: training and measuring, on a machine with other things to do


def test_twenty_labels_a_retrain_and_the_same_questions_before_and_after(small_page, small, small_worker):
    page = small_page
    page.goto(small.url)
    page.get_by_role("button", name="Take the three steps on the handbook").click()
    expect(page).to_have_url(re.compile("corpus=handbook"))
    expect(page.get_by_text("whale belly torque")).to_be_visible()
    wait_until_idle(page)
    page.goto(small.url)  # the browser knows which corpus was used last
    expect(page).to_have_url(re.compile("corpus=handbook"))
    page.get_by_role("link", name="Go to Adapt").click()

    expect(page.get_by_text("No training question is labelled")).to_be_visible()
    page.get_by_role("button", name="Accept 20").click()
    expect(page.get_by_role("button", name="Accept the remaining 4")).to_be_visible()
    wait_until_idle(page)
    start_retrain(page, epochs=1)  # what it learns is measured elsewhere

    card = page.locator(".st-key-adapt_card")
    expect(card).to_be_visible(timeout=LONG)
    expect(card).to_contain_text("Of 20 held-out questions")
    expect(card).to_contain_text("The same questions, before and after")
    expect(card).to_contain_text("Labels by starter (20)")
    reason = card.get_by_role("textbox")
    if reason.count():  # twenty questions may show it as worse
        reason.fill("the test wants it")
        reason.press("Enter")
    card.get_by_role("button", name="Promote").click()
    in_use = card.get_by_text(re.compile(r"handbook-\d+ is in use, for all corpora"))
    expect(in_use).to_be_visible()
    name = in_use.inner_text().split(" is in use")[0].split()[-1]

    page.goto(f"{small.url}/ask?corpus=handbook&q=whale+belly+torque&against=cascade")
    expect(page.get_by_text(name).first).to_be_visible()
    expect(page.locator(".as2-pair-answer, .as2-answer").first).to_be_visible(timeout=LONG)
