"""Cosinet, listwise, with a BiRNN, on offline vectors, learns what the paper says it learns."""

from pathlib import Path

import pytest

from as2core.data.catalog import apply_setting, load_questions
from as2core.evaluation.rankers import evaluate
from as2core.rankers.catalog import get
from as2core.training.fine_tune import fine_tune
from as2core.training.learners import suggest_settings

WIKIQA = Path(__file__).parents[4] / "shared/data/wikiqa"


@pytest.mark.slow
@pytest.mark.shared
def test_it_beats_shared_words_and_order_by_four_points(tmp_path):
    if not WIKIQA.is_dir():
        pytest.skip("WikiQA is not at hand")
    train = apply_setting(load_questions(WIKIQA / "WikiQA-train.tsv").questions, "no-all-neg")
    dev = load_questions(WIKIQA / "WikiQA-dev.tsv").questions
    base = get("cosinet:listwise,context=birnn")
    ours = evaluate(fine_tune(base, train, [], suggest_settings(base), workdir=tmp_path).ranker, dev)
    assert ours.metrics["AP"] > evaluate(get("wo-rr"), dev).metrics["AP"] + 0.04
