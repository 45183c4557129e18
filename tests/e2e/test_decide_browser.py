"""Two rankers settled by keys alone, in a real browser."""

import pytest
from keyboard import wait_for_listener
from label_files import import_labels
from playwright.sync_api import expect

from app import bootstrap
from app.compare import deciding
from app.compare.deciding import DecisionRequest
from app.workbench.settings import Settings
from as2core.data import jsonl
from as2core.types import Candidate, Question

pytestmark = [pytest.mark.browser, pytest.mark.slow]

MARK, VERDICT = '[data-testid="as2-item"] mark', '[data-testid="as2-decision"]'
THINGS = "tower bridge river violin comet castle harbour lantern meadow orchard".split()


@pytest.fixture
def address(small, small_worker) -> str:
    """A decision between BM25, which is always right, and document order, which is always wrong."""
    questions = [
        Question(
            f"q{i}",
            f"What does the {thing} do?",
            (
                Candidate(f"{i}-0", f"Rain fell, {i}."),
                Candidate(f"{i}-1", f"The {thing} does as the {thing} has to do."),
            ),
        )
        for i, thing in enumerate(THINGS)
    ]
    wb = bootstrap.open(Settings(home=small.home, corpora_dir=small.environment["AS2_CORPORA_DIR"], worker="external"))
    try:
        corpus = import_labels(wb, None, "duel.jsonl", jsonl.dumps(questions).encode()).corpus_id
        job = deciding.start_decision(wb, corpus, DecisionRequest("bm25", "rr", level=0.8))
    finally:
        wb.close()
    return f"{small.url}/label?corpus=duel&queue=decide&job={job.id}"


def test_bm25_is_found_better_by_keys_alone(small_page, address):
    page = small_page
    page.goto(address)
    expect(page.locator(MARK)).to_be_visible()
    verdict, presses = page.locator(VERDICT), 0
    while "is better" not in (before := verdict.inner_text()) and presses < 2 * len(THINGS):
        wait_for_listener(page)
        page.keyboard.press("a" if "has to do" in page.locator(MARK).inner_text() else "x")
        expect(verdict).not_to_have_text(before, use_inner_text=True)
        presses += 1
    expect(page.locator(f"{VERDICT} h2")).to_contain_text("bm25 is better")
    assert 2 <= presses < 2 * len(THINGS)
    expect(page.get_by_text("nothing more to label for it")).to_be_visible()
