"""One question by two rankers, side by side, in a real browser: one click opens it, Back leaves, Forward enters."""

import re
from urllib.parse import quote

import pytest
from keyboard import show_in, wait_until_idle
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

QUESTION = "When did the Eiffel Tower open?"
ANSWERS, PICTURE, MOVES = ".st-key-as2_pair .as2-answer", "svg.picture", '[data-testid="as2-moves"]'
CHART = ".stVegaLiteChart svg"


def open_answer(page: Page, server: str) -> None:
    page.goto(f"{server}/?q={quote(QUESTION)}")
    expect(page.locator(PICTURE)).to_be_visible()
    wait_until_idle(page)


def test_one_click_opens_it_and_one_press_leaves_and_enters_it(page, server):
    open_answer(page, server)
    answer = page.locator(".as2-answer mark").inner_text()
    before = page.evaluate("history.length")
    page.get_by_role("button", name="Compare with").click()
    expect(page.locator(ANSWERS)).to_have_count(2)
    expect(page.locator(MOVES)).to_contain_text(re.compile(r"\d+ of 10"))
    expect(page).to_have_url(re.compile(r"against=generative\b"))
    assert page.locator(f"{ANSWERS} mark").first.inner_text() == answer
    wait_until_idle(page)
    assert page.evaluate("history.length") == before + 1
    page.go_back()
    expect(page.locator(PICTURE)).to_be_visible()
    expect(page.locator(MOVES)).to_have_count(0)
    expect(page).not_to_have_url(re.compile("against="))
    wait_until_idle(page)
    page.go_forward()
    expect(page.locator(ANSWERS)).to_have_count(2)
    expect(page).to_have_url(re.compile(r"against=generative\b"))
    wait_until_idle(page)
    assert page.evaluate("history.length") == before + 1


def test_a_link_opens_it_and_another_ranker_is_chosen(page, server):
    page.goto(f"{server}/?q={quote(QUESTION)}&against=generative")
    expect(page.locator(ANSWERS)).to_have_count(2)
    wait_until_idle(page)
    box = page.get_by_role("combobox", name="Second")
    box.click()
    box.fill("bm25")
    box.press("Enter")
    expect(page).to_have_url(re.compile(r"against=bm25\b"))
    expect(page.locator(ANSWERS).last).to_contain_text("not calibrated")
    expect(page.locator(CHART)).to_contain_text("bm25")
    page.get_by_role("button", name="Back to one answer").click()
    expect(page.locator(PICTURE)).to_be_visible()


def test_a_line_of_the_picture_says_its_sentence_and_both_ranks(page, server):
    page.goto(f"{server}/?q={quote(QUESTION)}&against=bm25")
    dots = page.locator(f"{CHART} g.mark-symbol.role-mark path")
    expect(dots.first).to_be_visible()
    wait_until_idle(page)
    dots.last.hover(force=True)
    tip = page.locator("#vg-tooltip-element")
    for words in ("candidate", "rank by cascade", "rank by bm25"):
        expect(tip).to_contain_text(words)


def test_on_a_phone_the_answers_stand_one_below_the_other(page, server):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{server}/?q={quote(QUESTION)}&against=generative")
    expect(page.locator(ANSWERS)).to_have_count(2)
    wait_until_idle(page)
    for scheme in ("light", "dark"):
        show_in(page, scheme)
        first, second = (page.locator(ANSWERS).nth(i).bounding_box() for i in range(2))
        assert second["y"] >= first["y"] + first["height"] and abs(first["x"] - second["x"]) < 1
        assert page.get_by_test_id("stMain").evaluate("e => e.scrollWidth") <= 390
