"""Getting about in a real browser: Back and Forward, the tab's title, the keys that every page has, nothing missing on
the server, no error in the console."""

import re
from urllib.parse import quote

import pytest
from conftest import PATIENCE
from keyboard import wait_until_idle
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

QUESTION = "When did the Eiffel Tower open?"
PAGES = ("ask", "label", "agreement", "adapt", "compare", "data")


def go_to(page: Page, name: str) -> None:
    """By the navigation, until the page is drawn and its address complete."""
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=name).click()
    expect(page).to_have_title(f"{name} · AS2 Workbench")
    wait_until_idle(page)


def length(page: Page) -> int:
    return page.evaluate("history.length")


def test_back_and_forward_take_one_press_a_step(page, server):
    page.goto(server)
    wait_until_idle(page)
    box = page.get_by_label("Question")
    box.fill(QUESTION)
    box.press("Enter")
    expect(page.locator(".as2-answer")).to_be_visible()
    wait_until_idle(page)
    before = length(page)
    go_to(page, "Label")
    assert length(page) == before + 1
    go_to(page, "Adapt")
    assert length(page) == before + 2
    page.go_back()
    expect(page).to_have_title("Label · AS2 Workbench")
    wait_until_idle(page)
    page.go_back()
    expect(page).to_have_title(f"{QUESTION} · AS2 Workbench")
    expect(page.locator(".as2-answer")).to_be_visible()
    wait_until_idle(page)
    page.go_back()
    expect(page).to_have_title("Ask · AS2 Workbench")
    expect(page.get_by_text("How a cascade finds an answer")).to_be_visible()
    wait_until_idle(page)
    page.go_forward()
    expect(page.locator(".as2-answer")).to_be_visible()
    wait_until_idle(page)
    for name in ("Label", "Adapt"):
        page.go_forward()
        expect(page).to_have_title(f"{name} · AS2 Workbench")
        wait_until_idle(page)
    assert length(page) == before + 2


def test_a_run_that_ends_after_back_does_not_end_forward(page, server):
    page.goto(f"{server}/data")
    wait_until_idle(page)
    go_to(page, "Label")
    go_to(page, "Adapt")
    page.go_back()
    expect(page).to_have_title("Label · AS2 Workbench")
    page.evaluate("history.pushState({}, '', '/adapt')")  # as Streamlit does when a run of the page left starts late
    assert "/label" in page.url
    page.go_forward()
    expect(page).to_have_title("Adapt · AS2 Workbench")
    wait_until_idle(page)
    go_to(page, "Label")  # and a click is a step again
    page.go_back()
    expect(page).to_have_title("Adapt · AS2 Workbench")


def ask(page: Page, server: str, **query: str) -> None:
    """Open a question, until the answer and the generative scores are there."""
    address = "&".join(f"{name}={quote(value)}" for name, value in ({"q": QUESTION} | query).items())
    page.goto(f"{server}/?{address}")
    expect(page.get_by_text("Generative scores: ")).to_be_visible()
    wait_until_idle(page)


def test_the_document_opens_at_the_answers_sentence_and_one_press_leads_back(page, server):
    page.set_viewport_size({"width": 1280, "height": 600})  # the sentence is further down
    ask(page, server)
    sentence = page.locator(".as2-answer mark").inner_text()
    before = length(page)
    page.get_by_role("link", name="Open the document").first.click()
    mark = page.locator(".as2-doc mark")
    expect(mark).to_contain_text(sentence)
    expect(mark).to_be_in_viewport()
    wait_until_idle(page)
    assert length(page) == before + 1
    link = page.url
    page.go_back()
    expect(page).to_have_title(f"{QUESTION} · AS2 Workbench")
    expect(page.locator(".as2-answer mark")).to_have_text(sentence)
    page.goto(link)  # as somebody else opens it
    expect(mark).to_contain_text(sentence)
    expect(mark).to_be_in_viewport()


@pytest.mark.slow
def test_the_share_of_the_slider_outlasts_a_reload_two_pages_and_the_way_back_and_forward(page, server):
    slider = page.locator(".cascade .common")
    page.goto(server)
    wait_until_idle(page)
    box = page.get_by_label("Question")
    box.fill(QUESTION)
    box.press("Enter")
    expect(slider).to_have_value("30")
    wait_until_idle(page)
    before = length(page)
    slider.focus()
    for share, presses in ((50, 20), (60, 10)):  # two releases
        for _ in range(presses):
            page.keyboard.press("ArrowRight")
        expect(page).to_have_url(re.compile(rf"drop={share}\b"))
        wait_until_idle(page)
    assert length(page) <= before + 1
    page.reload()
    expect(slider).to_have_value("60")
    wait_until_idle(page)
    before = length(page)
    go_to(page, "Label")
    go_to(page, "Adapt")
    assert length(page) == before + 2
    page.go_back()
    expect(page).to_have_title("Label · AS2 Workbench")
    wait_until_idle(page)
    page.go_back()
    expect(slider).to_have_value("60")
    expect(page).to_have_url(re.compile(r"drop=60\b"))
    wait_until_idle(page)
    page.go_back()
    expect(page.get_by_text("How a cascade finds an answer")).to_be_visible()
    wait_until_idle(page)
    page.go_forward()
    expect(slider).to_have_value("60")
    expect(page.locator(".as2-standings tr").last).to_contain_text("1 of 3")  # 100, 40, 16, 7, 3: the ceiling stays
    wait_until_idle(page)
    page.go_forward()
    expect(page).to_have_title("Label · AS2 Workbench")


def test_a_view_is_a_step_and_back_returns_to_the_one_before(page, server):
    page.goto(f"{server}/agreement")
    wait_until_idle(page)
    before = length(page)
    page.get_by_role("radio", name="Rules").click()
    expect(page).to_have_url(re.compile("view=rules"))
    wait_until_idle(page)
    assert length(page) == before + 1
    page.wait_for_timeout(2500)  # for so long after a choice, an address from before it is late rather than a step back
    page.go_back()
    expect(page.get_by_role("radio", name="Agreement")).to_be_checked()
    expect(page).not_to_have_url(re.compile("view="))


def test_back_leaves_the_page_that_was_opened_by_the_name_of_the_first(page, server):
    page.goto(f"{server}/data")
    wait_until_idle(page)
    page.goto(f"{server}/ask")
    expect(page).to_have_url(re.compile(rf"^{re.escape(server)}/\?"))
    wait_until_idle(page)
    page.go_back()
    expect(page).to_have_title("Data · AS2 Workbench")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opened_by_its_link_finds_everything_logs_no_error_and_shows_its_keys(page, server, name):
    missing, errors = [], []
    page.on("response", lambda r: missing.append(r.url) if r.status >= 400 else None)
    page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    page.goto(f"{server}/{name}")
    expect(page).to_have_title(f"{name.capitalize()} · AS2 Workbench")
    wait_until_idle(page)
    expect(page.locator("h1")).to_have_count(1)
    page.wait_for_function("() => window.__as2keys?.data")  # the listener is loaded after the page is drawn
    if name == "ask":
        page.get_by_label("Question").blur()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Keys are off while you type")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert (missing, errors) == ([], [])


def test_the_question_box_has_the_focus_and_slash_returns_to_it(page, server):
    page.goto(server)
    box = page.get_by_label("Question")
    expect(box).to_be_focused()
    page.keyboard.type("Why? And/or")
    expect(box).to_have_value("Why? And/or")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.goto(f"{server}/?q={quote(QUESTION)}")
    expect(page.locator(".as2-answer")).to_be_visible()
    wait_until_idle(page)
    expect(box).not_to_be_focused()
    page.keyboard.press("/")
    expect(box).to_be_focused()
    expect(box).to_have_value(QUESTION)
    page.context.add_cookies([{"name": "as2_keys", "value": "off", "url": server}])  # as the switch on Label leaves it
    page.goto(f"{server}/?q={quote(QUESTION)}")
    expect(page.locator(".as2-answer")).to_be_visible()
    wait_until_idle(page)
    page.keyboard.press("/")
    page.keyboard.press("?")
    wait_until_idle(page)
    expect(box).not_to_be_focused()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_proxys_prefix_is_part_of_the_servers_address(page, server):
    page.route(
        f"{server}/behind/**", lambda r: r.fulfill(response=r.fetch(url=r.request.url.replace("/behind", "", 1)))
    )
    page.goto(f"{server}/behind/label", wait_until="commit", timeout=PATIENCE)
    page.wait_for_function("() => window.__streamlit")
    assert page.evaluate("window.__streamlit.BACKEND_BASE_URL") == f"{server}/behind"
    page.unroute_all(behavior="ignoreErrors")


def test_a_dismissed_tour_stays_away_after_a_reload_and_comes_back_by_its_link(page, server):
    page.goto(server)
    page.get_by_role("button", name="Dismiss the tour").click()
    expect(page.get_by_text("Three steps", exact=True)).to_have_count(0)
    wait_until_idle(page)
    page.reload()
    expect(page.get_by_text("How a cascade finds an answer")).to_be_visible()
    wait_until_idle(page)
    expect(page.get_by_text("Three steps", exact=True)).to_have_count(0)
    page.get_by_role("button", name="Show the tour").click()
    expect(page.get_by_text("Three steps", exact=True)).to_be_visible()


def test_the_glossary_covers_no_link_of_the_navigation(page, server):
    page.goto(server)
    wait_until_idle(page)
    page.get_by_test_id("stSidebar").get_by_role("button", name="Glossary").click()
    links = page.get_by_test_id("stSidebarNav").bounding_box()
    box = page.get_by_test_id("stPopoverBody").bounding_box()
    assert box["x"] >= links["x"] + links["width"] and box["x"] + box["width"] <= 1280
