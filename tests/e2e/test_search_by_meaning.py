"""The vectors of a user's own documents arrive while an answer is read: its page says how far they are, by itself."""

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from keyboard import wait_until_idle
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
QUESTION = "What warms the loaves?"
LINES = ["Bread is baked in a wood oven.", "The oven is heated with beech.", "Flour comes from the mill by the river."]


def test_progress_moves_by_itself_and_another_search_is_offered_when_it_ends(
    page, server, environment, tmp_path, request
):
    for number in range(4):
        (tmp_path / f"bakery-{number}.txt").write_text("\n\n".join([f"Bakery number {number} sells loaves.", *LINES]))
    command = [sys.executable, "-m", "as2core.cli", "ingest", str(tmp_path), "--corpus", "Bakeries"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    page.goto(f"{server}/?corpus=Bakeries&q={quote(QUESTION)}")
    expect(page.get_by_text("Generative scores: ")).to_be_visible()
    expect(page.get_by_text("Search by meaning is 0 % prepared").last).to_be_visible()
    page.locator(".cascade .common").press("ArrowRight")  # the other fragment still answers
    expect(page).to_have_url(re.compile(r"drop=31\b"))
    request.getfixturevalue("worker")  # only now does the job run
    again = page.get_by_role("button", name="Search again")
    expect(again).to_be_visible()
    expect(page.get_by_text(" % prepared")).to_have_count(0)
    again.click()
    expect(again).to_have_count(0)
    expect(page.get_by_text("Generative scores: ")).to_be_visible()
    wait_until_idle(page)
    expect(page.get_by_text("Search by meaning")).to_have_count(0)
    expect(page).to_have_url(re.compile(r"drop=31\b"))
