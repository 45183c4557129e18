"""On a phone: the example questions are whole, and the label buttons are in reach without scrolling."""

import pytest
from keyboard import open_queue, show_in, wait_until_idle
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

WIDTH, HEIGHT = 390, 844
MIN_TOUCH = 40  # pixels
LABELS = ("correct", "incorrect", "unsure")


def test_example_questions_are_whole(page, server):
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    page.goto(server)
    wait_until_idle(page)
    questions = page.locator('.st-key-as2_example [role="radio"]')
    expect(questions.first).to_be_visible()  # a busy server has not begun the run yet when the page rests
    assert questions.count() > 1
    hidden = "e => [e, ...e.querySelectorAll('*')].some(x => x.scrollWidth > x.clientWidth + 1 && x.clientWidth)"
    link = page.locator('.stMain [data-testid="stPageLink-NavLink"]').last
    link.locator("p").evaluate("e => e.append(', which is one of many words'.repeat(4))")
    for scheme in ("light", "dark"):
        show_in(page, scheme)
        for place in range(questions.count()):
            box = questions.nth(place).bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= WIDTH
            assert not questions.nth(place).evaluate(hidden)
        assert not link.evaluate(hidden)
        assert page.get_by_test_id("stMain").evaluate("e => e.scrollWidth") <= WIDTH


def test_the_three_labels_are_in_reach_without_scrolling(small_page, small, small_worker):
    page = small_page
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    open_queue(page, f"{small.url}/label?queue=tops&mode=one", '[data-testid="as2-item"] mark')
    wait_until_idle(page)
    for name in ("Correct", "Incorrect", "Unsure"):
        box = page.get_by_role("button", name=name).first.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= WIDTH
        assert box["y"] >= 0 and box["y"] + box["height"] <= HEIGHT
    page.set_viewport_size({"width": 1366, "height": 768})  # a long sentence between long ones
    page.locator('[data-testid="as2-item"] mark').evaluate("e => e.append(' of the river and its mills'.repeat(40))")
    for name in ("Correct", "Incorrect", "Unsure"):
        expect(page.get_by_role("button", name=name).first).to_be_in_viewport(ratio=1)


def test_the_side_bar_leaves_the_page_free_after_a_link_in_it_and_after_a_reload(small_page, small):
    page, side_bar = small_page, small_page.get_by_test_id("stSidebar")
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    page.goto(f"{small.url}/data")
    wait_until_idle(page)
    for name, title in (("Compare", "Compare"), ("Agreement", "Agreement")):
        page.get_by_test_id("stExpandSidebarButton").click()
        expect(side_bar).to_have_attribute("data-collapsed", "false")
        side_bar.get_by_role("link", name=name).click()
        expect(page.get_by_role("heading", name=title, level=1)).to_be_visible()
        expect(side_bar).to_have_attribute("data-collapsed", "true")
    page.get_by_test_id("stExpandSidebarButton").click()
    expect(side_bar).to_have_attribute("data-collapsed", "false")
    page.reload()
    wait_until_idle(page)
    expect(side_bar).to_have_attribute("data-collapsed", "true")


def test_a_chosen_document_comes_into_sight_and_the_states_of_questions_are(small_page, small):
    page = small_page
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    page.goto(f"{small.url}/data?view=documents")
    documents = page.get_by_test_id("stDataFrame")
    expect(documents).to_be_visible()
    wait_until_idle(page)
    documents.click(position={"x": 14, "y": 60})
    expect(page.locator(".as2-doc p.about")).to_be_in_viewport(ratio=1)
    tabs = page.locator('.stButtonGroup [role="radio"]')  # of several lines; each has its border all around
    colours = tabs.evaluate_all("es => es.map(e => getComputedStyle(e).borderColor)")
    assert colours and "rgba(0, 0, 0, 0)" not in " ".join(colours)
    page.goto(f"{small.url}/data?view=questions")
    choice = page.locator(".st-key-data_state").get_by_role("combobox")
    choice.scroll_into_view_if_needed()  # a menu that opens while the page scrolls closes again
    wait_until_idle(page)
    choice.click()
    states = page.get_by_role("option")
    expect(states).to_have_count(6)
    for state in states.all():
        box = state.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= WIDTH


def test_a_wide_page_keeps_its_side_bar(small_page, small):
    page, side_bar = small_page, small_page.get_by_test_id("stSidebar")
    page.goto(f"{small.url}/data")
    side_bar.get_by_role("link", name="Compare").click()
    expect(page.get_by_role("heading", name="Compare", level=1)).to_be_visible()
    wait_until_idle(page)
    expect(side_bar).to_have_attribute("data-collapsed", "false")


def test_the_buttons_of_a_row_are_wide_enough_under_its_text_and_tell_which_is_chosen(small_page, small, small_worker):
    page = small_page
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    open_queue(page, f"{small.url}/label?queue=tops&mode=list", '[data-testid="as2-candidate"]')
    wait_until_idle(page)
    rows = page.locator('[class*="st-key-as2-candidate-"]')
    buttons = page.locator('[class*="st-key-label_row_"] button:visible')
    expect(buttons).to_have_count(len(LABELS) * rows.count())
    end = 0
    for place in range(rows.count()):
        row = rows.nth(place)
        text = row.get_by_test_id("as2-candidate").bounding_box()
        boxes = [button.bounding_box() for button in row.get_by_role("button").all()]
        assert text["y"] >= end
        assert all(box["width"] >= MIN_TOUCH and box["x"] >= text["x"] for box in boxes)
        assert all(box["y"] >= text["y"] + text["height"] - 1 for box in boxes)
        end = max(box["y"] + box["height"] for box in boxes)
    button = page.locator('[class*="st-key-label_row_"][class*="_incorrect"] button:enabled:visible').first
    name = button.get_by_test_id("stMarkdownContainer").inner_text()
    button.click()
    page.get_by_role("button", name=name, exact=True, pressed=True).wait_for()
    wait_until_idle(page)  # while a run draws, a row may be there twice
    for other in LABELS:
        other_name = name.replace("Incorrect", other.capitalize())
        is_pressed = page.get_by_role("button", name=other_name, exact=True)
        expect(is_pressed).to_have_attribute("aria-pressed", str(other == "incorrect").lower())
