"""Fields in one line, an error below them, the product's name on a phone, and whose name a browser keeps."""

import pytest
from keyboard import open_queue, wait_until_idle
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_the_labels_of_fields_in_a_row_stand_in_one_line(small_page, small):
    for view, names in (
        ("list", ("Search labels", "Label", "Annotator")),
        ("questions", ("Search questions", "State")),
    ):
        small_page.goto(f"{small.url}/data?view={view}")
        fields = [small_page.get_by_test_id("stWidgetLabel").get_by_text(name, exact=True) for name in names]
        for field in fields:
            expect(field).to_be_visible()
        wait_until_idle(small_page)
        tops = [field.bounding_box()["y"] for field in fields]
        assert max(tops) - min(tops) < 2


def test_the_tours_heading_is_level_with_its_button_and_its_links_with_each_other(small_page, small):
    small_page.goto(small.url)
    heading, button = (
        small_page.get_by_role(role, name=name)
        for role, name in (("heading", "Three steps"), ("button", "Dismiss the tour"))
    )
    links = [small_page.get_by_role("link", name=f"Go to {page}") for page in ("Label", "Adapt")]
    for element in (heading, button, *links):
        expect(element).to_be_visible()
    wait_until_idle(small_page)
    centre, other = (box["y"] + box["height"] / 2 for box in (heading.bounding_box(), button.bounding_box()))
    assert abs(centre - other) < 2
    assert abs(links[0].bounding_box()["y"] - links[1].bounding_box()["y"]) < 2


def test_an_error_about_the_name_of_a_corpus_leaves_its_field_as_wide_as_it_was(small_page, small):
    small_page.goto(f"{small.url}/data")
    field = small_page.get_by_role("textbox", name="Name", exact=True)
    expect(field).to_be_visible()
    wait_until_idle(small_page)
    width = field.bounding_box()["width"]
    small_page.get_by_role("button", name="Create").click()
    expect(small_page.get_by_text("A corpus needs a name")).to_be_visible()
    assert field.bounding_box()["width"] == width


def test_at_a_zoom_of_200_percent_the_counts_leave_the_sentences_the_whole_width(small_page, small, small_worker):
    open_queue(small_page, f"{small.url}/label?queue=tops&mode=list", '[data-testid="as2-candidate"]')
    wait_until_idle(small_page)
    item, counts = small_page.get_by_test_id("as2-item"), small_page.get_by_text("Labelled pairs in this corpus")
    assert counts.bounding_box()["x"] > item.bounding_box()["x"] + item.bounding_box()["width"]
    small_page.set_viewport_size({"width": 720, "height": 450})  # of 1440 x 900
    small_page.wait_for_function(
        """() => document.querySelector('[data-testid="as2-item"]').getBoundingClientRect().width > 500"""
    )
    assert counts.bounding_box()["x"] < 100


@pytest.mark.parametrize("size", [{"width": 1280, "height": 800}, {"width": 390, "height": 844}])
def test_what_an_import_has_to_say_is_in_sight(small_page, small, size):
    small_page.set_viewport_size(size)
    small_page.goto(f"{small.url}/data?view=labels")
    file = {"name": "letter.csv", "mimeType": "text/csv", "buffer": b"greeting\nDear Sir\n"}
    button = small_page.get_by_role("button", name="Import", exact=True)
    expect(button).to_be_visible()
    small_page.locator('input[type="file"]').set_input_files(file)
    expect(button).to_be_enabled()
    button.click()
    expect(small_page.get_by_text("letter.csv: the first line must be")).to_be_in_viewport()


def test_a_phone_shows_the_name_of_the_product(small_page, small):
    small_page.set_viewport_size({"width": 390, "height": 844})
    small_page.goto(small.url)
    logo = small_page.get_by_test_id("stHeaderLogo")
    expect(logo).to_be_visible()
    assert logo.bounding_box()["width"] > 120  # the sign alone is as wide as it is high


def test_who_takes_the_name_me_again_is_me_after_a_reload(small_page, small):
    small_page.goto(f"{small.url}/data")
    field = small_page.get_by_role("textbox", name="Your name")
    for name in ("Anna", "me"):
        field.fill(name)
        field.press("Enter")
        expect(field).not_to_be_focused()  # the name was taken
        wait_until_idle(small_page)
        small_page.reload()
        expect(field).to_have_value(name)
        wait_until_idle(small_page)
