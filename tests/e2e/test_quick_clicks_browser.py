"""Two quick clicks in a real browser, the second before the page has answered the first: it does nothing again, and
nothing to what nobody has seen. Playwright's own double click is quicker than the server."""

import sqlite3
from urllib.parse import quote

import pytest
from keyboard import open_queue, sign, wait_until_idle
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.browser

PAUSES = (40, 100, 200)  # milliseconds, of a person's double click
EACH_PAUSE = [pause if pause == 100 else pytest.param(pause, marks=pytest.mark.slow) for pause in PAUSES]
ROW, CANDIDATE = '[data-testid="as2-candidate"]', '[class*="st-key-as2-candidate-"]'
CSV = "question,sentence,label\nHow tall is the new tower?,The new tower is 90 metres tall.,correct\n"


@pytest.fixture
def page(small_page) -> Page:
    return small_page


def click_twice(page: Page, button: Locator, pause: int) -> None:
    """Whatever is in its place by then gets the second click."""
    button.hover()  # where it is to stay
    box = button.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.click(x, y)
    page.wait_for_timeout(pause)
    page.mouse.click(x, y)
    wait_until_idle(page)


def read(small, statement: str, *values) -> list[tuple]:
    with sqlite3.connect(small.home / "as2.db") as database:
        return database.execute(statement, values).fetchall()


def read_labels(small, name: str) -> list[tuple]:
    events = "label_event join annotator on annotator.id = annotator_id"
    return read(small, f"select question_id, sentence_id, label from {events} "
                       "where annotator.name = ? order by label_event.id", name)  # fmt: skip


def test_a_double_click_labels_one_sentence_and_takes_one_question_out_of_the_queue(page, small, small_worker):
    open_queue(page, f"{small.url}/label?queue=tops&mode=one", '[data-testid="as2-item"] mark')
    sign(page, "Clicker")
    for number, pause in enumerate(PAUSES, 1):
        while (labels := len(read_labels(small, "Clicker"))) < number:  # on a busy machine both may come too early
            assert labels == number - 1, pause
            click_twice(page, page.locator(".st-key-label_correct button:visible"), pause)
        assert labels == number, pause
    before = read(small, "select count(*) from question where queued")
    page.locator(".st-key-label_remove button:visible").evaluate("""(button) => {  // at once
      const press = { key: "a", code: "KeyA", bubbles: true, composed: true };
      document.body.dispatchEvent(new KeyboardEvent("keydown", press));
      button.click();
    }""")
    expect(page.get_by_test_id("as2-late")).to_contain_text("that click was not taken")
    wait_until_idle(page)
    assert len(read_labels(small, "Clicker")) == len(PAUSES) + 1
    assert read(small, "select count(*) from question where queued") == before
    click_twice(page, page.locator(".st-key-label_remove button:visible"), 200)
    assert read(small, "select count(*) from question where queued") == [(before[0][0] - 1,)]


def test_quick_clicks_on_rows_of_a_list_label_each_row_and_two_on_one_row_label_it_once(page, small, small_worker):
    page.set_viewport_size({"width": 1280, "height": 1600})  # all rows are in sight
    open_queue(page, f"{small.url}/label?queue=tops&mode=list", ROW)
    sign(page, "Pointer")
    labels = ("incorrect", "correct", "unsure")  # of the first rows: the list does not move for them
    rows = [page.locator(f"{CANDIDATE}:not(:has(.locked))").nth(n) for n in range(len(labels))]
    texts = [row.locator(ROW).inner_text() for row in rows]
    buttons = [row.locator(f'[class*="_{x}"] button:visible') for row, x in zip(rows, labels, strict=True)]
    boxes = [button.bounding_box() for button in buttons]
    for box in (*boxes, boxes[-1]):
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_timeout(60)
    expect(page.get_by_title("Sentences labelled by Pointer").locator("b")).to_have_text(str(len(labels)))
    wait_until_idle(page)
    events = read_labels(small, "Pointer")
    assert [label for *_, label in events] == list(labels)
    sentences = [read(small, "select text from sentence where id = ?", sentence)[0][0] for _, sentence, _ in events]
    assert all(sentence in text for sentence, text in zip(sentences, texts, strict=True)), (sentences, texts)


def test_a_label_is_for_the_answer_that_is_shown_while_another_question_is_answered(page, small):
    questions = ("When did the Eiffel Tower open?", "What do astronomers mean by a nova?")
    page.goto(f"{small.url}/?corpus=starter&q={quote(questions[0])}")
    expect(page.get_by_text("Generative scores: ")).to_be_visible()
    sign_on_ask(page, "Asker")
    page.evaluate("""() => document.addEventListener("keydown", () => {
      const click = () => document.querySelector(".st-key-as2_label_answer_unsure button").click();
      for (const pause of [40, 80, 120, 160, 200]) setTimeout(() => {
        if (document.querySelector(".as2-answer")?.innerText === window.shown) click();
      }, pause);
      window.shown = document.querySelector(".as2-answer").innerText;
    }, { once: true, capture: true })""")
    shown = page.locator(".as2-answer mark").inner_text()
    box = page.get_by_label("Question")
    box.fill(questions[1])
    box.press("Enter")
    expect(page).to_have_title(f"{questions[1]} · AS2 Workbench")
    wait_until_idle(page)
    for _, sentence_id, _ in read_labels(small, "Asker"):
        assert read(small, "select text from sentence where id = ?", sentence_id) == [(shown,)]


@pytest.mark.parametrize("pause", EACH_PAUSE)
def test_a_double_click_puts_a_question_in_the_queue_or_takes_it_out_and_does_not_undo_it(page, small, pause):
    page.goto(f"{small.url}/?corpus=handbook&q=How+long+does+it+take%3F")
    expect(page.get_by_text("Generative scores: ")).to_be_visible()
    wait_until_idle(page)
    names = ["Add to the label queue", "Remove from the queue"]
    first, second = (page.get_by_role("button", name=name) for name in names)
    if second.is_visible():
        first, second = second, first
    click_twice(page, first, pause)
    expect(second).to_be_visible()


def sign_on_ask(page: Page, name: str) -> None:
    field = page.get_by_role("textbox", name="Your name")
    field.fill(name)
    field.press("Enter")
    wait_until_idle(page)


@pytest.mark.parametrize("pause", EACH_PAUSE)
def test_a_file_of_labels_is_imported_once(page, small, pause):
    name = f"twice-{pause}"
    page.goto(f"{small.url}/data?corpus=starter&view=labels")
    wait_until_idle(page)
    files = page.get_by_test_id("stFileUploaderDropzoneInput").first
    files.set_input_files([{"name": f"{name}.csv", "mimeType": "text/csv", "buffer": CSV.encode()}])
    expect(page.get_by_role("button", name="Import", exact=True)).to_be_enabled()
    wait_until_idle(page)
    click_twice(page, page.get_by_role("button", name="Import", exact=True), pause)
    expect(page.locator(".st-key-data_import_report")).to_contain_text("1 new label;")
    assert read(small, "select name from corpus where name like ?", f"{name}%") == [(name,)]
