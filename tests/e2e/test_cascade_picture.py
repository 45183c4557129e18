"""The cascade picture in a real browser: its animation, its slider, its details, and its files."""

import re
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace, ExitRecord
from as2core.cost import EncoderShape

pytestmark = pytest.mark.browser

QUESTION = "How is glass strengthened?"
VIEW = "window.__as2cascade.view"
SLIDER = ".cascade .common"


@pytest.fixture
def open_question(page: Page, server: str):
    def open_it(*, is_still: bool = True, **query: str) -> Page:
        page.emulate_media(reduced_motion="reduce" if is_still else "no-preference")
        address = "&".join(f"{name}={quote(value)}" for name, value in ({"q": QUESTION} | query).items())
        page.goto(f"{server}/?{address}")
        expect(page.locator("svg.picture .stage").first).to_be_visible()
        expect(page.get_by_text("Generative scores: ")).to_be_visible()  # nothing else is to be drawn, or to move
        return page

    return open_it


def read_trace(page: Page) -> CascadeTrace:
    """The run that the picture was sent, without its first stage."""
    record = page.evaluate(f"{VIEW}.record")
    n = len(record["entered"])
    exits = tuple(
        ExitRecord(e["layer"], np.arange(n), np.array(e["scores"], dtype=np.float32), np.arange(0), 0.1, n, n)
        for e in record["exits"]
    )
    return CascadeTrace(np.full(n, 9), exits, DropSchedule.constant(0.0, exits=len(exits)), EncoderShape(384, 1536, 6))


def read_ranks(page: Page) -> dict[int, list[int]]:
    """What is drawn: by candidate, as the record counts those who entered, its ranks at the exits it reached."""
    record = page.evaluate(f"{VIEW}.record")
    drawn = page.locator("svg.picture [data-ranks]").evaluate_all(
        "all => all.map(e => [Number(e.dataset.candidate), e.dataset.ranks])"
    )
    places = {candidate: place for place, candidate in enumerate(record["entered"])}
    before = 3 if record["first"] else 1  # ranks of retrieval and the first stage
    return {places[c]: [int(r) for r in ranks.split()][before:] for c, ranks in drawn if c in places}


def expect_picture_of(page: Page, ratios: tuple[float, ...]) -> None:
    ranks: dict[int, list[int]] = {}
    for e in read_trace(page).replay(DropSchedule(ratios)).exits:
        best_first = sorted(range(len(e.alive)), key=lambda k: (-e.scores[k], e.alive[k]))
        for rank, k in enumerate(best_first, start=1):
            ranks.setdefault(int(e.alive[k]), []).append(rank)
    assert read_ranks(page) == ranks


HOLD_FRAMES = "() => { window.__frames = []; window.requestAnimationFrame = (draw) => window.__frames.push(draw); }"
RUN_FRAMES = f"""() => {{
  const counts = [];
  for (let now = 0; window.__frames.length; now += 40) {{
    window.__frames.shift()(now);
    counts.push(Number({VIEW}.find(".left").textContent));
  }}
  return counts;
}}"""


def test_the_animation_ends_with_the_picture_of_the_replayed_trace(open_question):
    open_question()  # the server's first answer takes its time
    page = open_question(is_still=False)
    page.wait_for_function(f"!{VIEW}.frame")  # it ran, and ended
    expect_picture_of(page, (0.3,) * 4)
    final = page.locator("svg.picture").inner_html()
    page.evaluate(f"{VIEW}.draw()")
    assert page.locator("svg.picture").inner_html() == final
    page.evaluate(HOLD_FRAMES)  # every frame, however busy the machine
    page.get_by_role("button", name="Replay").click()
    counts = page.evaluate(RUN_FRAMES)
    assert counts == sorted(counts, reverse=True)
    assert len(set(counts)) > 5  # the counter ran
    expect(page.locator(".cascade .figures")).to_contain_text(" reach the end")
    assert page.locator("svg.picture").inner_html() == final


def test_under_reduced_motion_nothing_moves_and_the_arrow_keys_still_step(open_question):
    page = open_question()
    assert not page.evaluate(f"Boolean({VIEW}.frame)")
    expect_picture_of(page, (0.3,) * 4)
    expect(page.get_by_role("button", name="Replay")).to_have_count(0)
    plot = page.get_by_role("application")
    plot.focus()
    steps = [s["title"] for s in page.evaluate(f"{VIEW}.drawn.stages")]
    for title in steps:
        plot.press("ArrowRight")
        expect(page.locator(".cascade .figures")).to_contain_text(" remain ")  # at this column, not at the end
        expect(page.locator(".cascade .say")).to_contain_text(title)
    plot.press("ArrowLeft")
    expect(page.locator(".cascade .say")).to_contain_text(steps[-2])
    plot.press("Escape")
    expect_picture_of(page, (0.3,) * 4)


def test_a_click_on_a_dropped_candidate_tells_beside_the_picture_why_it_was_dropped(open_question):
    page = open_question()
    trace = read_trace(page)
    first = trace.exits[0].scores
    place = sorted(range(len(first)), key=lambda i: -first[i])[85]  # of 100, of which 70 stay
    at = page.evaluate(f"{VIEW}.drawn.ways[{place}].stops.at(-1)")
    box = page.locator("svg.picture").bounding_box()
    page.mouse.click(box["x"] + at["x"], box["y"] + at["y"])
    place = page.evaluate(f"{VIEW}.record.entered.indexOf({VIEW}.chosen)")  # a line is a fraction of a pixel away
    rank = sorted(range(len(first)), key=lambda i: -first[i]).index(place) + 1
    assert rank > 70
    survives = [p for p in range(30) if place in trace.replay(DropSchedule((p / 100,) * 4)).exits[-1].alive]
    why = page.locator(".as2-why")
    expect(why).to_contain_text(
        f"Dropped after layer 2: rank {rank}, the best 70 stay. It would survive at {survives[-1]} %."
    )
    picture, details = (page.locator(shown).bounding_box() for shown in (".cascade .plot", ".as2-why"))
    assert details["x"] > picture["x"] + picture["width"]  # beside it
    assert picture["y"] - 60 < details["y"] < picture["y"] + picture["height"]
    expect(page.locator("svg.picture .chosen")).to_have_count(1)
    page.locator(".st-key-as2-labels-near").get_by_role("button", name="Incorrect").click()
    for place in ("near", "table"):  # beside the picture, and below the table, whose row is chosen, too
        expect(page.locator(f".st-key-as2-state-{place}").get_by_text("Stored as incorrect")).to_be_visible()
    page.locator(".st-key-as2-state-near").get_by_role("button", name="Withdraw").click()
    expect(page.get_by_text("Stored as incorrect")).to_have_count(0)


def test_a_drag_redraws_at_once_and_its_end_changes_answer_costs_and_address_in_one_entry(open_question):
    page = open_question()
    history = page.evaluate("history.length")
    slider = page.locator(SLIDER).bounding_box()
    middle = slider["y"] + slider["height"] / 2
    page.mouse.move(slider["x"] + slider["width"] * 3 / 7, middle)
    page.mouse.down()
    left = set()
    for share in (0.5, 0.6, 0.7, 0.8, 1.0):
        page.mouse.move(slider["x"] + slider["width"] * share, middle)
        left.add(page.locator(".cascade .left").inner_text())
    assert len(left) > 3
    assert "drop=" not in page.url
    expect_picture_of(page, (0.7,) * 4)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"drop=70\b"))
    expect(page.locator(".as2-why")).to_contain_text("Stayed to the end: rank 1 of 1.")
    page.get_by_text("What each exit cost and saved").click()
    expect(page.locator(".as2-costs tbody tr").last.locator("td").nth(1)).to_have_text("1")
    saved = re.search(r"\d+ %", page.locator(".cascade .saved").inner_text()).group()
    expect(page.locator(".as2-costs tbody tr").last).to_contain_text(saved)
    assert page.evaluate("history.length") <= history + 1


@pytest.mark.slow
def test_back_after_a_change_of_the_slider_leads_to_the_question_before_and_forward_to_the_share(open_question):
    page = open_question(drop="45")
    expect(page.locator(SLIDER)).to_have_value("45")
    box = page.get_by_label("Question").first
    box.fill("Who designed the Eiffel Tower?")
    box.press("Enter")
    expect(page).to_have_url(re.compile("designed"))
    page.wait_for_function(f"{VIEW}?.record.question.startsWith('Who') && {VIEW}.state")
    expect(page.get_by_text("Generative scores: ")).to_be_visible()
    steps = page.evaluate("history.length")
    page.locator(SLIDER).press("Home")
    expect(page).to_have_url(re.compile(r"drop=0\b"))
    expect(page.locator(".as2-why")).to_contain_text("rank 1 of 100.")
    page.wait_for_timeout(2500)  # of a share replaced just now, the browser may be behind
    assert page.evaluate("history.length") <= steps + 1
    page.go_back()
    expect(page.get_by_label("Question").first).to_have_value(QUESTION)
    expect(page.locator(SLIDER)).to_have_value("45")
    expect(page.locator(".as2-why")).to_contain_text(re.compile(r"rank 1 of \d\d?\."))
    page.go_forward()
    expect(page.get_by_label("Question").first).to_have_value("Who designed the Eiffel Tower?")
    expect(page.locator(SLIDER)).to_have_value("0")


def test_a_word_without_end_makes_no_page_wider(open_question):
    page = open_question()
    page.locator(".cascade .winners").evaluate(
        "e => { e.hidden = false; e.innerHTML = `<li>${'x'.repeat(400)}</li>`; }"
    )
    assert page.get_by_test_id("stMain").evaluate("e => e.scrollWidth - e.clientWidth") <= 0


@pytest.mark.slow
def test_each_exit_can_have_its_own_share(open_question):
    page = open_question()
    page.get_by_label("by exit").check()
    second = page.get_by_label("after layer 3")
    second.press("Home")
    expect(page).to_have_url(re.compile(r"drop=30-0-30-30\b"))
    expect_picture_of(page, (0.3, 0.0, 0.3, 0.3))
    page.reload()
    expect(page.get_by_label("after layer 3")).to_have_value("0")
    expect_picture_of(page, (0.3, 0.0, 0.3, 0.3))


def test_answer_picture_and_slider_are_on_a_laptops_screen_together(open_question, page):
    page.set_viewport_size({"width": 1440, "height": 900})
    open_question()
    for shown in (".as2-answer", SLIDER, ".cascade .plot", ".cascade .say"):
        box = page.locator(shown).bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 900


def test_the_picture_is_saved_with_its_caption_and_the_answer_copied_with_its_source(open_question, tmp_path):
    page = open_question()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for name, head in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save as {name}").click()
        file = tmp_path / name
        download.value.save_as(file)
        assert file.read_bytes().startswith(head)
    svg = (tmp_path / "SVG").read_text()
    assert "var(" not in svg and QUESTION in svg and "reach the end" in svg
    page.get_by_role("button", name="Copy answer with source").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert page.locator(".as2-answer mark").inner_text() in copied and page.url in copied
