"""Labelling by keys in a real browser: one key, one label; silent where it has to be; two sessions apart."""

import re
import sqlite3
from pathlib import Path

import pytest
from keyboard import open_queue, wait_until_idle
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

ITEM = '[data-testid="as2-item"]'
ROW = '[data-testid="as2-candidate"]'
ACT = '[data-testid="as2-act"]'


@pytest.fixture(scope="module")
def queue(small, small_worker) -> str:
    """The address of a queue, which the worker fills."""
    return f"{small.url}/label?queue=tops&mode=one"


@pytest.fixture
def page(small_page) -> Page:
    return small_page


def open_label(page: Page, queue: str, name: str, shown: str = f"{ITEM} mark") -> None:
    open_queue(page, queue, shown)
    field = page.get_by_role("textbox", name="Your name")
    field.fill(name)
    field.press("Enter")
    expect(page.get_by_title(f"Sentences labelled by {name}")).to_be_visible()
    expect(field).not_to_be_focused()
    wait_until_idle(page)


def read_item(page: Page) -> str:
    return page.locator(ITEM).inner_text()


def press(page: Page, key: str) -> None:
    """A key that changes what is shown."""
    before = read_item(page)
    page.keyboard.press(key)
    expect(page.locator(ITEM)).not_to_have_text(before, use_inner_text=True)
    wait_until_idle(page)


def events(home: Path, name: str) -> list[tuple[str, int]]:
    """What is on the disk: (label, whether it undoes another) of this annotator, oldest first."""
    with sqlite3.connect(home / "as2.db") as database:
        return database.execute(
            "select label, undoes is not null from label_event join annotator on annotator.id = annotator_id "
            "where annotator.name = ? order by label_event.id",
            (name,),
        ).fetchall()


def open_list(page: Page, queue: str, name: str) -> None:
    open_label(page, queue.replace("mode=one", "mode=list"), name, ROW)


def type_at_once(page: Page, keys: str) -> None:
    """Faster than the page can answer."""
    page.evaluate(
        "(keys) => { for (const key of keys) document.body.dispatchEvent(new KeyboardEvent('keydown', "
        "{ key, bubbles: true, composed: true })) }",
        keys,
    )


def read_labelled_sentences(home: Path, name: str) -> list[str]:
    """In the order in which they were labelled."""
    with sqlite3.connect(home / "as2.db") as database:
        rows = database.execute(
            "select sentence.text from label_event join annotator on annotator.id = annotator_id "
            "join sentence on sentence.id = sentence_id where annotator.name = ? order by label_event.id",
            (name,),
        )
        return [text for (text,) in rows]


PRESS_AT_ONCE = f"""new MutationObserver((_, observer) => {{
  if (!document.querySelector('{ROW}[aria-current=true]')) return;
  observer.disconnect();
  document.body.dispatchEvent(new KeyboardEvent("keydown", {{ key: "a", bubbles: true, composed: true }}));
}}).observe(document, {{ childList: true, subtree: true }})"""


def test_a_key_pressed_as_soon_as_a_list_is_shown_counts(page, small, queue):
    open_list(page, queue, "Early")
    front = page.locator(f"{ROW}[aria-current=true]")
    text = front.inner_text()
    page.add_init_script(PRESS_AT_ONCE)
    page.reload()
    expect(page.locator(ACT)).to_have_count(1)
    assert events(small.home, "Early") == [("correct", False)]
    assert text.startswith(read_labelled_sentences(small.home, "Early")[0])


def test_one_key_is_one_label_and_backspace_takes_it_back(page, queue, small):
    open_label(page, queue, "Keys")
    first = page.locator(f"{ITEM} mark").inner_text()
    press(page, "a")
    expect(page.locator(ACT)).to_have_count(1)
    expect(page.locator(ACT)).to_contain_text("Correct")
    press(page, "x")
    press(page, "Space")
    expect(page.locator(ACT)).to_have_count(3)
    assert [label for label, _ in events(small.home, "Keys")] == ["correct", "incorrect", "unsure"]
    press(page, "Backspace")
    press(page, "Control+z")
    press(page, "Backspace")
    assert page.locator(f"{ITEM} mark").inner_text() == first
    expect(page.locator(ACT)).to_have_count(0)
    assert events(small.home, "Keys")[3:] == [("withdrawn", 1)] * 3


@pytest.mark.slow
def test_arrows_move_and_label_nothing(page, queue, small):
    open_label(page, queue, "Arrows")
    first = read_item(page)
    press(page, "ArrowRight")
    press(page, "ArrowLeft")
    assert page.locator(f"{ITEM} mark").inner_text() in first
    assert events(small.home, "Arrows") == []


def test_a_held_key_counts_once(page, queue, small):
    open_label(page, queue, "Held")
    before = read_item(page)
    page.keyboard.down("a")
    for _ in range(15):  # down again without up: the browser calls that a repeat
        page.keyboard.down("a")
        page.wait_for_timeout(60)
    page.keyboard.up("a")
    expect(page.locator(ITEM)).not_to_have_text(before, use_inner_text=True)
    wait_until_idle(page)
    assert len(events(small.home, "Held")) == 1


def test_keys_sleep_in_a_field_and_wake_when_it_is_left(page, queue, small):
    open_label(page, queue, "Sleeper")
    field = page.get_by_role("textbox", name="Your name")
    field.click()
    field.press("End")
    page.keyboard.type("ax")
    expect(field).to_have_value("Sleeperax")
    field.fill("Sleeper")
    field.press("Enter")
    expect(field).not_to_be_focused()
    wait_until_idle(page)
    assert events(small.home, "Sleeper") == []
    press(page, "a")
    assert [label for label, _ in events(small.home, "Sleeper")] == ["correct"]


@pytest.mark.slow
def test_space_operates_the_switch_that_tab_led_to_and_labels_after_a_click(page, queue, small):
    open_label(page, queue, "Tabber")
    scores = page.get_by_role("switch", name="Show ranks")
    expect(scores).to_be_checked()
    for _ in range(60):
        if scores.evaluate("(e) => e === document.activeElement"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(scores).not_to_be_checked()
    wait_until_idle(page)
    assert events(small.home, "Tabber") == []
    page.get_by_role("button", name="Correct").first.click()  # it keeps the focus
    expect(page.locator(ACT)).to_have_count(1)
    wait_until_idle(page)
    press(page, "Space")
    assert [label for label, _ in events(small.home, "Tabber")] == ["correct", "unsure"]


@pytest.mark.slow
def test_keys_sleep_while_the_help_is_open(page, queue, small):
    open_label(page, queue, "Helped")
    before = read_item(page)
    page.keyboard.press("h")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Keys are off")
    page.keyboard.press("a")
    page.keyboard.press("x")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    wait_until_idle(page)
    assert read_item(page) == before
    assert events(small.home, "Helped") == []
    press(page, "a")
    assert len(events(small.home, "Helped")) == 1


@pytest.mark.slow
def test_a_flag_s_note_can_be_typed_at_once_and_labels_nothing(page, queue, small):
    open_label(page, queue, "Flagger")
    before = read_item(page)
    page.keyboard.press("f")
    field = page.get_by_role("textbox", name="What should others check?")
    expect(field).to_be_focused()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    page.keyboard.type("a fax")
    expect(field).to_have_value("a fax")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    wait_until_idle(page)
    assert read_item(page) == before
    assert events(small.home, "Flagger") == []
    with sqlite3.connect(small.home / "as2.db") as database:
        assert ("a fax",) in database.execute("select note from flag").fetchall()


def test_a_key_that_comes_too_early_is_not_taken_and_says_so(page, queue, small):
    open_label(page, queue, "Hasty")
    before = read_item(page)
    type_at_once(page, "ax")
    expect(page.get_by_test_id("as2-late")).to_be_visible()
    expect(page.locator(ITEM)).not_to_have_text(before, use_inner_text=True)
    expect(page.get_by_test_id("as2-late")).to_be_hidden()
    wait_until_idle(page)
    assert [label for label, _ in events(small.home, "Hasty")] == ["correct"]


def test_keys_typed_ahead_in_a_list_label_the_rows_they_were_meant_for(page, queue, small):
    open_list(page, queue, "Typist")
    for _ in range(15):  # to a list with enough rows on the page
        rows = page.locator(f"{ROW}:not(.locked)").all_inner_texts()
        shown = [row for row in rows if "shipped with the corpus" not in row]  # nobody steps on those
        if len(shown) >= 6:
            break
        press(page, "ArrowRight")
    assert len(shown) >= 6, rows
    type_at_once(page, "xxa x ")
    expect(page.get_by_title("Sentences labelled by Typist").locator("b")).to_have_text("6")
    wait_until_idle(page)
    labels = [label for label, _ in events(small.home, "Typist")]
    assert labels == ["incorrect", "incorrect", "correct", "unsure", "incorrect", "unsure"]
    sentences = read_labelled_sentences(small.home, "Typist")
    assert all(sentence in row for sentence, row in zip(sentences, shown, strict=False)), (sentences, shown)


def test_keys_behind_one_that_leaves_the_list_are_not_taken(page, queue, small):
    open_list(page, queue, "Leaver")
    type_at_once(page, "xx")
    page.keyboard.press("ArrowRight")
    type_at_once(page, "aa")
    expect(page.get_by_test_id("as2-late")).to_contain_text("keys were not taken")
    wait_until_idle(page)
    assert [label for label, _ in events(small.home, "Leaver")] == ["incorrect", "incorrect"]


SIZES = """() => Object.fromEntries([...document.querySelectorAll('[class*="st-key-as2-candidate-"]')].map((row) => [
  row.querySelector('[data-testid="as2-candidate"]').innerText,
  [...row.querySelectorAll('[data-testid="as2-candidate"], button')].filter((e) => e.checkVisibility()).map((e) => {
    const { x, width, height } = e.getBoundingClientRect();
    return [x, width, height].map(Math.round);
  })]))"""


def test_a_row_stays_as_it_is_when_it_is_in_front_or_labelled_and_the_question_is_above_the_rows(page, queue):
    page.set_viewport_size({"width": 1280, "height": 720})
    open_list(page, queue, "Steady")
    for _ in range(15):  # to a list that is longer than the page, whose row in front is followed by one without a label
        before, label = page.evaluate(SIZES), page.locator(f"{ROW}.here").inner_text()
        following = [*before][[*before].index(label) + 1 :]
        is_long = re.fullmatch(".* to .* of (9|[1-9][0-9]+)", page.get_by_test_id("as2-list-head").inner_text())
        if is_long and following and "shipped with the corpus" not in following[0]:
            break
        press(page, "ArrowRight")
    else:
        pytest.fail("no such list")
    assert all(min(width, height) >= 24 for boxes in before.values() for _, width, height in boxes)
    page.keyboard.press("x")
    expect(page.locator(f"{ROW}.here")).not_to_have_text(label, use_inner_text=True)
    wait_until_idle(page)
    after = page.evaluate(SIZES)
    assert label in after and len(before.keys() & after.keys()) >= 3
    assert all(after[text] == boxes for text, boxes in before.items() if text in after)
    question = page.locator(".as2-list-head .asks")
    page.keyboard.press("i")
    expect(question).to_be_visible()
    wait_until_idle(page)
    assert 0 < question.bounding_box()["y"] < page.locator(ROW).first.bounding_box()["y"]
    page.locator(f"{ITEM} h2").click()
    expect(question).to_have_count(0)


def test_two_browsers_never_show_the_same_item(page, queue, browser):
    open_label(page, queue, "Twin")
    context = browser.new_context()
    other = context.new_page()
    other.set_default_timeout(60_000)
    try:
        open_label(other, queue, "Twin")  # the same name, as two people who never typed one have
        seen = {read_item(page), read_item(other)}
        assert len(seen) == 2
        for one in (page, other, page):
            press(one, "ArrowRight")
            assert read_item(page) != read_item(other)
    finally:
        context.close()


def test_a_label_outlives_a_reload(page, queue):
    open_label(page, queue, "Reloader")
    press(page, "a")
    page.reload()
    expect(page.locator(f"{ITEM} mark")).to_be_visible()
    field = page.get_by_role("textbox", name="Your name")
    field.fill("Reloader")
    field.press("Enter")
    expect(page.get_by_title("Sentences labelled by Reloader")).to_be_visible()
    expect(page.get_by_test_id("as2-progress")).to_contain_text("Mine1")


def test_enter_on_a_row_s_button_goes_on_at_the_row_in_front_which_is_read_out(page, queue, small):
    open_list(page, queue, "Listener")
    page.get_by_role("button", name=re.compile("^Incorrect, candidate"), disabled=False).last.focus()
    page.keyboard.press("Enter")
    expect(page.locator(ACT)).to_have_count(1)
    wait_until_idle(page)
    front = page.locator('[class*="st-key-as2-candidate-"]').filter(has=page.locator(f'{ROW}[aria-current="true"]'))
    button = front.get_by_role("button", name="Incorrect")
    expect(button).to_be_focused()
    place = re.search(r"candidate (\d+)", button.inner_text())[1]
    expect(page.get_by_test_id("as2-voice")).to_contain_text(re.compile(rf"^Incorrect\. Candidate {place} of \d+"))
    page.keyboard.press("n")
    expect(page.locator('[data-testid="stToast"]').get_by_role("alert")).to_have_text(re.compile("^Type words in"))
    wait_until_idle(page)
    page.evaluate(
        "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'ф', code: 'KeyA', bubbles: true }))"
    )
    expect(page.locator(ACT)).to_have_count(2)  # a Cyrillic layout: the key where a Latin one has a
    assert [label for label, _ in events(small.home, "Listener")] == ["incorrect", "correct"]
    for acts in (1, 0):  # other tests read this list, too
        wait_until_idle(page)
        page.keyboard.press("Backspace")
        expect(page.locator(ACT)).to_have_count(acts)
