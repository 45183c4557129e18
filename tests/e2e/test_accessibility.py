"""axe-core over every page in both themes. axe-core is not part of the repository: `npm pack axe-core`, unpack it, and
set AS2_TEST_AXE to its axe.min.js. Without that these tests are skipped."""

import os
from pathlib import Path
from urllib.parse import quote

import pytest
from keyboard import wait_until_idle
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

QUESTION = "When did the Eiffel Tower open?"
ADDRESSES = {
    "landing": "/",
    "answer": f"/?q={quote(QUESTION)}",
    "words": f"/?q={quote(QUESTION)}",  # with the words of sentence and question marked
    "pair": f"/?q={quote(QUESTION)}&against=generative",
    "label": "/label?queue=tops&mode=one",
    "list": "/label?queue=tops&mode=list",
    "agreement": "/agreement",
    "rules": "/agreement?view=rules",
    "adapt": "/adapt",
    "compare": "/compare",
    "data": "/data",
    "labels": "/data?view=labels",
}
ACCEPTED = {  # rule -> why it stays
    "presentation-role-conflict": "Streamlit's file uploader: its drop zone has the role presentation and a name",
}


@pytest.fixture(scope="module")
def axe() -> str:
    file = Path(os.environ.get("AS2_TEST_AXE", ""))
    if not file.is_file():
        pytest.skip("set AS2_TEST_AXE to the axe.min.js of axe-core (npm pack axe-core)")
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ADDRESSES)
def test_a_page_has_no_violation(page, server, axe, name, scheme):
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.goto(f"{server}{ADDRESSES[name]}")
    wait_until_idle(page)
    if name in ("answer", "words", "pair"):
        expect(page.locator(".as2-answer")).to_have_count(2 if name == "pair" else 1)
        wait_until_idle(page)
    if name == "words":
        page.get_by_text("Words that carried the score").click()
        expect(page.locator(".as2-words-note")).to_be_visible()
        page.get_by_text("Which words of the question it explains").click()
        expect(page.locator(".as2-heat")).to_be_visible()
        wait_until_idle(page)
    page.evaluate(axe)
    violations = page.evaluate("async () => (await axe.run()).violations")
    unknown = {v["id"]: [node["html"][:200] for node in v["nodes"][:3]] for v in violations if v["id"] not in ACCEPTED}
    assert unknown == {}
