"""A whole session without a mouse; undo after a reload; two people and one queue; a conflict settled."""

import sqlite3

import pytest
from keyboard import open_queue, sign, wait_until_idle
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

ITEM, ROW, ACT = ('[data-testid="as2-item"]', '[data-testid="as2-candidate"]', '[data-testid="as2-act"]')
CONFLICT = '[data-testid="as2-conflict"]'


@pytest.fixture
def page(small_page, small_worker) -> Page:
    return small_page


def open_label(page: Page, url: str, name: str) -> None:
    open_queue(page, url, ITEM)
    wait_until_idle(page)  # who is signed in already gets the focus back from the listener alone: it has to be there
    sign(page, name)


def press(page: Page, key: str, shows: str = ITEM) -> None:
    """A key that changes what is shown."""
    before = page.locator(shows).first.inner_text()
    page.keyboard.press(key)
    expect(page.locator(shows).first).not_to_have_text(before, use_inner_text=True)
    wait_until_idle(page)


def labels(small, name: str) -> list[str]:
    """This person's labels at present, oldest first."""
    with sqlite3.connect(small.home / "as2.db") as database:
        return [
            label
            for (label,) in database.execute(
                "select label from current_label join annotator on annotator.id = annotator_id "
                "where annotator.name = ? order by current_label.id",
                (name,),
            )
        ]


def test_a_session_with_the_keyboard_alone(page, small):
    open_label(page, f"{small.url}/label?queue=tops&mode=list", "Keyboarder")
    here = page.locator(f'{ROW}[aria-current="true"]')
    expect(here).to_be_in_viewport(ratio=1)  # without scrolling by hand
    press(page, "a")
    press(page, "x")  # on the next row that nobody has labelled
    press(page, "ArrowDown", f'{ROW}[aria-current="true"]')
    expect(here).to_have_count(1)
    expect(here).to_be_in_viewport(ratio=1)
    page.keyboard.press("i")
    expect(page.locator(".asks", has_text="not shown yet? Press i again")).to_be_visible()
    wait_until_idle(page)
    page.keyboard.press("i")
    expect(page.locator(ACT).first).to_contain_text("more")
    wait_until_idle(page)
    everything = labels(small, "Keyboarder")
    assert everything.count("correct") == 1
    assert everything.count("incorrect") >= 3
    page.keyboard.press("Backspace")
    expect(page.locator(ACT)).to_have_count(2)
    wait_until_idle(page)
    assert sorted(labels(small, "Keyboarder")) == ["correct", "incorrect"]
    page.keyboard.press("f")
    note = page.get_by_role("textbox", name="What should others check?")
    expect(note).to_be_visible()
    wait_until_idle(page)  # a run that draws the box anew would take what is typed
    note.fill("a, x and space are typed here")
    note.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    wait_until_idle(page)
    press(page, "ArrowRight")
    assert sorted(labels(small, "Keyboarder")) == ["correct", "incorrect"]
    page.goto(f"{small.url}/label?queue=flagged&mode=one")
    expect(page.locator(ITEM)).to_contain_text("Flagged by Keyboarder: a, x and space are typed here")


@pytest.mark.slow
def test_undo_goes_on_after_a_reload_and_the_name_is_remembered(page, small):
    open_label(page, f"{small.url}/label?queue=tops&mode=one", "Undoer")
    for key in "axa":
        press(page, key)
    assert labels(small, "Undoer") == ["correct", "incorrect", "correct"]
    page.reload()
    expect(page.get_by_title("Sentences labelled by Undoer")).to_be_visible()
    expect(page.locator(ACT)).to_have_count(3)
    wait_until_idle(page)
    for left in (2, 1, 0):
        page.keyboard.press("Backspace")
        expect(page.locator(ACT)).to_have_count(left)
        wait_until_idle(page)
    assert labels(small, "Undoer") == []


@pytest.mark.slow
def test_two_people_and_one_queue_then_a_conflict_is_settled(page, small, browser):
    page.goto(f"{small.url}/agreement?view=rules")
    with sqlite3.connect(small.home / "as2.db") as database:
        row = database.execute("select name from annotator where role = 'admin' order by id").fetchone()
    admin = row[0] if row else "First"  # whoever signs in first is an admin
    overlap = page.get_by_role("spinbutton", name="People per pair")
    field = page.get_by_role("textbox", name="Your name")
    field.fill(admin)
    field.press("Enter")
    expect(overlap).to_be_enabled()
    overlap.fill("9")  # whoever labelled before in this corpus, two more are wanted
    page.get_by_role("button", name="Save").first.click()
    expect(page.get_by_text("Saved. The rules apply from the next item on.")).to_be_visible()
    wait_until_idle(page)

    open_label(page, f"{small.url}/label?queue=tops&mode=one", admin)
    first = page.locator(f"{ITEM} mark").inner_text()
    context = browser.new_context()
    other = context.new_page()
    other.set_default_timeout(60_000)
    try:
        open_label(other, f"{small.url}/label?queue=tops&mode=one", "Second")
        assert other.locator(f"{ITEM} mark").inner_text() != first  # leased while it is looked at
        press(page, "a")
        for _ in range(6):  # it comes to the other one, as theirs is still wanted
            if other.locator(f"{ITEM} mark").inner_text() == first:
                break
            press(other, "ArrowRight")
        assert other.locator(f"{ITEM} mark").inner_text() == first
        expect(other.locator(ITEM)).not_to_contain_text(f"{admin}:")  # hidden until one's own is in
        press(other, "x")
    finally:
        context.close()

    page.goto(f"{small.url}/agreement?view=conflicts")
    conflict = page.locator(CONFLICT).filter(has_text=first)
    expect(conflict).to_contain_text("Second: Incorrect")
    wait_until_idle(page)
    page.get_by_role("button", name="Incorrect").first.click()
    expect(page.get_by_text(f"Settled as incorrect by {admin}")).to_be_visible()
    expect(conflict).to_contain_text("Second: Incorrect")
    assert "correct" in labels(small, admin)
