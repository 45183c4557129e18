"""The life of a question in a real browser: typed on Ask, found in the list, added to the queue, deleted."""

import sqlite3
from pathlib import Path
from urllib.parse import quote

import pytest
from keyboard import wait_until_idle
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

QUESTION = "Who looks after the iron tower in Paris?"
OTHER = "When does a bridge count as old?"


@pytest.fixture
def page(small_page) -> Page:
    return small_page


def stored(home: Path) -> dict[str, bool]:
    """Question typed on Ask -> whether the label queues offer it."""
    with sqlite3.connect(home / "as2.db") as database:
        return dict(database.execute("select text, queued from question where origin = 'asked'").fetchall())


def row(page: Page, text: str):
    """The row of a question in the list."""
    return page.locator("[class*=st-key-data_question_]").filter(has_text=text).first


def test_a_typed_question_is_filtered_added_to_the_queue_opened_and_deleted(page, small):
    for text in (QUESTION, OTHER):
        page.goto(f"{small.url}/?q={quote(text)}&as_typed=1")
        expect(page.get_by_role("button", name="Add to the label queue")).to_be_visible()
    wait_until_idle(page)
    assert stored(small.home) == {QUESTION: 0, OTHER: 0}

    page.goto(f"{small.url}/data?view=questions&origin=asked")
    expect(row(page, OTHER)).to_contain_text("Typed on Ask · last asked")
    search = page.get_by_role("textbox", name="Search questions")
    search.fill("IRON tower")
    search.press("Enter")
    expect(page.get_by_text("1 question, last asked first")).to_be_visible()
    expect(page.get_by_text(OTHER)).to_have_count(0)

    row(page, QUESTION).get_by_role("button", name="Add to the queue").click()
    expect(row(page, QUESTION)).to_contain_text("no labels · in the label queue")
    wait_until_idle(page)
    assert stored(small.home) == {QUESTION: 1, OTHER: 0}

    row(page, QUESTION).get_by_role("link", name="Open on Ask").click()
    expect(page.get_by_role("textbox", name="Question", exact=True)).to_have_value(QUESTION)
    expect(page.get_by_text("In the label queue")).to_be_visible()
    page.get_by_role("button", name="Correct", exact=True).first.click()
    expect(page.get_by_role("status").filter(has_text="Stored as correct").first).to_be_visible()  # it is read out
    wait_until_idle(page)

    page.goto(f"{small.url}/data?view=questions&find={quote('iron tower')}")
    delete = row(page, QUESTION).get_by_role("button", name="Delete …")
    expect(delete).to_have_accessible_description(QUESTION)  # there is one in every row
    delete.click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("This also deletes 1 label (1 by me)")
    dialog.get_by_role("button", name="Keep it").click()
    expect(dialog).to_have_count(0)
    assert QUESTION in stored(small.home)
    row(page, QUESTION).get_by_role("button", name="Delete …").click()
    dialog.get_by_role("button", name="Delete permanently").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_text("No question matches")).to_be_visible()
    assert stored(small.home) == {OTHER: 0}


def test_what_one_asked_last_stands_under_the_question_box_and_asks_again(page, small):
    page.goto(f"{small.url}/?q={quote(OTHER)}&as_typed=1")
    expect(page.locator(".as2-answer")).to_be_visible()
    wait_until_idle(page)
    page.goto(small.url)
    page.get_by_role("button", name=OTHER).click()
    expect(page.locator(".as2-answer")).to_be_visible()
    expect(page.get_by_role("textbox", name="Question", exact=True)).to_have_value(OTHER)


def test_a_question_without_a_word_is_refused(page, small):
    page.goto(small.url)
    box = page.get_by_role("textbox", name="Question", exact=True)
    box.fill("?")
    box.press("Enter")
    expect(page.get_by_text("has no letter or digit: type a question in words")).to_be_visible()
    assert "?" not in stored(small.home)
