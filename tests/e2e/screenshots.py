"""The pictures in docs/screenshots: `make screenshots`, or `python screenshots.py [FOLDER] [--tallest PIXELS]`.

A server over a fresh home, and a walk that leaves something on every page to look at: a question asked, labels by two
people who differ, a retrain, an import with a line that can't be read. Some five minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

from conftest import BROWSERS, QUIET, find_browser
from keyboard import open_queue, wait_for_listener
from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright
from serving import ROOT, serving, working

QUESTION = "What makes the iron landmark in Paris a little taller in July than in January?"
WIDE, PHONE, HEIGHT = 1280, 390, 1000
COLOURS = 256
FILM_SECONDS, FILM_COLOURS = 4.5, 64
LONG = 900_000  # milliseconds: a retrain on a machine with other things to do
LISTS = 5  # questions that both people judge
ITEM, ROW, STATE = '[data-testid="as2-item"]', '[data-testid="as2-candidate"]', "data-test-script-state"

Take = Callable[..., None]


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    ask.add_argument("folder", nargs="?", type=Path, default=ROOT / "docs" / "screenshots")
    ask.add_argument("--tallest", type=int, default=1500, help="where a longer page is cut")
    options = ask.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=120_000)

    def take(page: Page, name: str, *widths: int) -> None:
        photograph(page, options.folder / name, widths or (WIDE,), options.tallest)

    with tempfile.TemporaryDirectory() as home, served(Path(home)) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(BROWSERS), args=QUIET.split())
        walk(browser, url, take, options.folder)
        browser.close()


@contextmanager
def served(home: Path) -> Iterator[str]:
    environment = {**os.environ, "AS2_HOME": str(home), "AS2_WORKER": "external"}
    with serving(home, environment) as url, working(home, environment):
        yield url


def walk(browser: Browser, url: str, take: Take, folder: Path) -> None:
    ada, ben = visitor(browser), visitor(browser)
    judge_by_two(ada, url)
    sign(ada, url, "Ada")
    sign(ben, url, "Ben")
    for page, odd in ((ada, ()), (ben, (1, 3))):
        judge_lists(page, url, odd)
    ada.goto(f"{url}/agreement")
    expect(ada.get_by_text("Krippendorff's alpha")).to_be_visible()
    take(ada, "agreement")
    ada.goto(url)
    expect(ada.get_by_text("Try one of these")).to_be_visible()
    ada.wait_for_timeout(6000)  # the small cascade has run
    take(ada, "start", WIDE, PHONE)
    ada.goto(f"{url}/?q={quote(QUESTION)}")
    expect(ada.get_by_text("Generative scores: ")).to_be_visible()
    take(ada, "ask", WIDE, PHONE)
    film(ada, folder / "cascade.gif")
    judge_one_by_one(ada, url)
    take(ada, "label", WIDE, PHONE)
    ada.goto(f"{url}/label?queue=uncertain")
    expect(ada.locator(ROW).first).to_be_visible()
    take(ada, "label-list")
    bring_labels_in(ada, url)
    take(ada, "data")
    compare(ada, url)
    take(ada, "compare")
    retrain(ada, url)
    take(ada, "adapt")


def visitor(browser: Browser) -> Page:
    page = browser.new_context(viewport={"width": WIDE, "height": HEIGHT}, locale="en-GB").new_page()
    page.set_default_timeout(120_000)
    return page


def sign(page: Page, url: str, name: str) -> None:
    page.goto(url)
    wait_until_idle(page)
    field = page.get_by_role("textbox", name="Your name")
    field.fill(name)
    field.press("Enter")
    wait_until_idle(page)


def wait_until_idle(page: Page) -> None:
    page.wait_for_timeout(400)  # what a key starts reaches the page after the key
    expect(page.get_by_test_id("stApp")).to_have_attribute(STATE, "notRunning")


def press(page: Page, key: str) -> None:
    """A key that changes what is shown."""
    wait_until_idle(page)
    wait_for_listener(page)
    before = page.locator(ITEM).inner_text()
    page.keyboard.press(key)
    expect(page.locator(ITEM)).not_to_have_text(before, use_inner_text=True)


def judge_by_two(page: Page, url: str) -> None:
    """Two people a pair besides the one whose labels came with the corpus; whoever comes first may say so."""
    page.goto(f"{url}/agreement?view=rules")
    field = page.get_by_role("spinbutton", name="People per pair")
    expect(field).to_be_visible(timeout=LONG)  # the first start reads the corpus
    field.fill("3")
    page.get_by_role("button", name="Save", exact=True).first.click()
    expect(page.get_by_text("Saved. The rules apply from the next item on.")).to_be_visible()


def judge_lists(page: Page, url: str, odd: tuple[int, ...]) -> None:
    """The first is the answer and the rest are not, those that were not shown included: a second press says so. In the
    `odd` lists the answer is the second."""
    open_queue(page, f"{url}/label?queue=tops&mode=list", ROW)
    for turn in range(LISTS):
        for key in "xa" if turn in odd else "a":
            press(page, key)
        wait_until_idle(page)
        page.keyboard.press("i")
        expect(page.get_by_text("Press i again").first).to_be_visible()
        press(page, "i")
        press(page, "ArrowRight")


def judge_one_by_one(page: Page, url: str) -> None:
    page.goto(f"{url}/label?mode=one&queue=uncertain")
    expect(page.get_by_test_id("as2-item")).to_contain_text("Why this one")
    for key in "xax":
        press(page, key)


def retrain(page: Page, url: str) -> None:
    """On the corpus that no model knows, with its prepared labels."""
    page.goto(f"{url}/?corpus=starter")
    page.get_by_role("button", name="Take the three steps on the handbook").click()
    expect(page).to_have_url(re.compile("corpus=handbook"))
    page.goto(f"{url}/adapt?corpus=handbook")
    for name in ("Accept 20", "Accept the remaining"):
        page.get_by_role("button", name=name).click()
        wait_until_idle(page)
    page.get_by_role("button", name="Retrain from labels").click()
    expect(page).to_have_url(re.compile(r"job=\d+"))
    expect(page.locator(".st-key-adapt_card")).to_be_visible(timeout=LONG)


def compare(page: Page, url: str) -> None:
    """The comparison that comes with the program."""
    page.goto(f"{url}/compare?corpus=starter")
    expect(page.get_by_text("Is the difference significant?")).to_be_visible(timeout=LONG)


def bring_labels_in(page: Page, url: str) -> None:
    question = {
        "qid": "filter-1",
        "question": "How often is the filter changed?",
        "candidates": [
            {"id": "a", "text": "The filter is changed every six months.", "label": 1},
            {"id": "b", "text": "The pump stands in the cellar.", "label": 0},
        ],
    }
    lines = [json.dumps(question), '{"qid": "filter-2", "question": "cut in the mid']
    page.goto(f"{url}/data?view=labels")
    wait_until_idle(page)
    page.locator('input[type="file"]').set_input_files(
        {"name": "pumps.jsonl", "mimeType": "application/jsonl", "buffer": "\n".join(lines).encode()}
    )
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_text("1 line left out")).to_be_visible()


def film(page: Page, path: Path) -> None:
    """The animation of the cascade picture, as long as it takes, its last frame for two seconds."""
    picture = page.locator(".cascade .plot")
    picture.scroll_into_view_if_needed()
    page.get_by_role("button", name="Replay").click()
    frames: list[tuple[float, Image.Image]] = []
    began = time.monotonic()
    while time.monotonic() - began < FILM_SECONDS:
        frames.append((time.monotonic(), Image.open(BytesIO(picture.screenshot()))))
    images = [image.convert("RGB").quantize(FILM_COLOURS, dither=Image.Dither.NONE) for _, image in frames]
    times = [at for at, _ in frames]
    durations = [round(1000 * (b - a)) for a, b in pairwise(times)] + [2000]
    images[0].save(path, save_all=True, append_images=images[1:], duration=durations, loop=0, optimize=True)


def photograph(page: Page, name: Path, widths: tuple[int, ...], tallest: int) -> None:
    """`<name>-light.png` and `<name>-dark.png`, of other widths `<name>-<width>-light.png`."""
    for width in widths:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": HEIGHT})
            wait_until_idle(page)
            tall = page.get_by_test_id("stMain").evaluate("e => e.scrollHeight")
            page.set_viewport_size({"width": width, "height": min(tall, tallest)})
            wait_until_idle(page)
            page.wait_for_timeout(1500)  # charts are drawn anew for the new size
            size = "" if width == WIDE else f"-{width}"
            whole = Image.open(BytesIO(page.screenshot())).convert("RGB")
            few = whole.quantize(COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
            few.save(f"{name}{size}-{scheme}.png", optimize=True)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": WIDE, "height": HEIGHT})


if __name__ == "__main__":
    main()
