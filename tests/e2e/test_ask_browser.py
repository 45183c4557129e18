"""Ask in a real browser, with the shipped models and the starter corpus: the answer, the drops, the slider, a label."""

import re
from urllib.parse import quote

import pytest
from keyboard import show_in, wait_until_idle
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

QUESTION = "When did the Eiffel Tower open?"
RANKED = re.compile("^Ranked ")
FIGURES = ".cascade .figures"
SLIDER = ".cascade .common"


def ask_question(page: Page, server: str, **query: str) -> None:
    """Open the page with a question and wait until the generative scores are in, too."""
    address = "&".join(f"{name}={quote(value)}" for name, value in ({"q": QUESTION} | query).items())
    page.goto(f"{server}/?{address}")
    expect(page.locator(".as2-answer").first).to_be_visible()  # the model's own may follow
    expect(page.get_by_text("Generative scores: ")).to_be_visible()


def test_enter_asks_and_the_answer_stands_above_the_drops(page, server):
    page.goto(server)
    box = page.get_by_label("Question")
    expect(page.get_by_text("Try one of these")).to_be_visible()
    box.fill(QUESTION)
    box.press("Enter")
    answer = page.locator(".as2-answer")
    expect(answer).to_be_visible()
    expect(answer.locator("mark")).not_to_be_empty()
    expect(answer).to_contain_text(re.compile(r"\d\s%"))
    picture = page.locator("svg.picture")
    expect(picture).to_contain_text("layer 2")
    assert answer.bounding_box()["y"] < picture.bounding_box()["y"]
    written = picture.locator("text").all_text_contents()
    flows = [found.groups() for t in written if (found := re.fullmatch(r"(\d+) → (\d+)", t))]
    assert len(flows) == 5  # the first stage and four exits; the last drops nobody
    assert int(flows[0][0]) > 100 == int(flows[0][1])  # the first stage
    # at 30 per cent floor(0.3 k) of k leave, and who stays goes into the next exit
    kept = 100
    for entered, left in flows[1:]:
        assert int(entered) == kept
        kept -= int(0.3 * kept + 1e-9)
        assert int(left) == kept
    expect(picture).to_contain_text(f"best 5 of {kept}")
    expect(page.locator(FIGURES)).to_contain_text(f"{kept} of {flows[0][0]} reach the end")
    # two axes, and each says among how many it ranks
    first, last = (picture.get_by_text(f"rank of {n}", exact=True).bounding_box() for n in (flows[0][0], 100))
    line = picture.locator(".upright").bounding_box()
    assert first["x"] + first["width"] < line["x"] < last["x"]


def test_the_slider_replays_at_once_and_without_the_model(page, server):
    ask_question(page, server)
    ranked = page.get_by_text(RANKED).inner_text()
    slider = page.locator(SLIDER)
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowRight", "ArrowRight"):
        slider.press(key)
    expect(page.locator(SLIDER)).to_have_value("33")
    expect(page).to_have_url(re.compile(r"drop=33\b"))
    assert page.get_by_text(RANKED).inner_text() == ranked  # the time of the one run that was made


@pytest.mark.slow
def test_the_time_that_dropping_saves_is_measured_beside_the_promise(page, server):
    ask_question(page, server)
    page.get_by_text("What each exit cost and saved").click()
    page.get_by_role("button", name="Measure the time saved").click()
    told = page.get_by_text(re.compile(r"^Measured: [\d,]+ ms without dropping, [\d,]+ ms with it"))
    expect(told).to_be_visible()
    promised = re.search(r"\d+ %", page.locator(FIGURES).inner_text()).group()
    expect(told).to_contain_text(f"for {promised} of the compute")
    page.locator(SLIDER).press("ArrowRight")
    expect(told).to_have_count(0)


def test_a_link_shows_the_same_page_in_another_session_by_the_page_s_name_too(page, server):
    page.goto(f"{server}/ask?q={quote(QUESTION)}&drop=50")
    expect(page.locator(".as2-answer")).to_be_visible()
    expect(page).to_have_url(re.compile(rf"^{re.escape(server)}/\?"))
    assert re.search(r"drop=50\b", page.url)
    expect(page.locator(SLIDER)).to_have_attribute("aria-valuetext", "50 %")
    expect(page.get_by_label("Question")).to_have_value(QUESTION)


def test_the_browsers_way_back_brings_the_question_before_back(page, server):
    ask_question(page, server)
    box = page.get_by_label("Question").first  # for a moment the old one is there, too
    other = "Who designed the Eiffel Tower?"
    box.fill(other)
    box.press("Enter")
    expect(page).to_have_url(re.compile("designed"))
    expect(page.get_by_text("Generative scores: ")).to_be_visible()
    page.go_back()
    expect(box).to_have_value(QUESTION)
    expect(page).to_have_url(re.compile("open"))
    page.go_forward()
    expect(box).to_have_value(other)


def test_a_label_given_on_the_page_is_there_after_a_reload(page, server):
    ask_question(page, server)
    page.get_by_role("button", name="Correct", exact=True).first.click()
    expect(page.get_by_text("Stored as correct").first).to_be_visible()
    page.reload()
    expect(page.get_by_text("Stored as correct").first).to_be_visible()
    page.get_by_role("button", name="Withdraw").first.click()  # at once: the page is still being drawn
    expect(page.get_by_text("Stored as correct")).to_have_count(0)


def test_a_label_moves_nothing_around_its_buttons_and_the_side_bar_counts_it_at_once(page, server):
    ask_question(page, server)
    wait_until_idle(page)
    side = page.get_by_test_id("stSidebar")
    pairs = int(re.search(r"([\d,]+) labelled pairs", side.inner_text())[1].replace(",", ""))
    places = [page.locator(f".st-key-{key}") for key in ("as2-labels-answer", "as2-queue", "as2_cascade")]
    before = [place.bounding_box()["y"] for place in places]
    page.get_by_role("button", name="Correct", exact=True).first.click()
    expect(side).to_contain_text(f"{pairs + 1:,} labelled pairs")
    expect(
        page.get_by_text("labels. A retrain needs").or_(page.get_by_text("Enough for a first retrain"))
    ).to_be_visible()
    expect(page.get_by_text("Labels first")).to_be_visible()
    wait_until_idle(page)
    assert [place.bounding_box()["y"] for place in places] == pytest.approx(before, abs=1)
    page.get_by_role("button", name="Withdraw").first.click()
    expect(side).to_contain_text(f"{pairs:,} labelled pairs")
    expect(page.get_by_text("Stored as correct")).to_have_count(0)


@pytest.mark.slow
def test_a_labelled_sentence_answers_the_question_asked_again_and_can_be_switched_off(page, server):
    question = "Who was the engineer behind the Eiffel Tower?"
    ask_question(page, server, q=question)
    answer = page.locator(".as2-answer").first
    own = answer.locator("mark").inner_text()
    page.locator(".st-key-as2-labels-answer").get_by_role("button", name="Incorrect").click()
    expect(page.get_by_text("Stored as incorrect").first).to_be_visible()
    expect(answer.locator("mark")).to_have_text(own)  # nothing moves under the pointer
    page.get_by_role("button", name="Apply labels").click()
    expect(answer.locator("mark")).not_to_have_text(own)
    page.locator(".st-key-as2-labels-answer").get_by_role("button", name="Correct", exact=True).click()
    expect(page.get_by_text("Stored as correct").first).to_be_visible()
    labelled = answer.locator("mark").inner_text()
    ask_question(page, server, q="who was engineer behind eiffel tower")
    expect(answer).to_contain_text("Labelled correct by you")
    expect(answer).to_contain_text(f"Labelled for the question “{question}”")
    expect(answer.locator("mark")).to_have_text(labelled)
    page.get_by_text("The ranker’s own answer").click()
    expect(page.locator(".as2-answer").nth(1).locator("mark")).to_have_text(own)
    page.get_by_text("Labels first", exact=True).click()
    expect(page).to_have_url(re.compile("labels=off"))
    expect(answer.locator("mark")).to_have_text(own)
    page.reload()
    expect(answer.locator("mark")).to_have_text(own)


def test_nothing_sticks_out_of_a_phone(page, server):
    page.set_viewport_size({"width": 390, "height": 844})
    ask_question(page, server)
    for scheme in ("light", "dark"):
        show_in(page, scheme)
        assert page.get_by_test_id("stMain").evaluate("e => e.scrollWidth") <= 390


def test_a_deep_link_on_a_fresh_server_has_its_frame(page, server):
    page.goto(f"{server}/label")
    expect(page.get_by_role("link", name="Ask")).to_be_visible()
    expect(page.get_by_role("link", name="Data")).to_be_visible()


def test_the_page_may_not_be_framed(page, server):
    headers = page.goto(server).headers
    assert headers["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
