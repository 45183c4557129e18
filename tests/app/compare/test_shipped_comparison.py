"""The comparison that comes with the program fits what is shipped, and disappears with other data or weights."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from app.compare import comparison, comparison_job, shipped_comparison
from app.jobs.attempt import run_queued
from app.worker import RUNNERS
from as2core.data import jsonl
from as2core.types import Candidate, Question

ROOT = Path(__file__).parents[3]
QUESTIONS = [
    Question(f"q{i}", f"What does the {thing} do?", (
        Candidate(f"{thing}-0", "It rained all day.", 0),
        Candidate(f"{thing}-1", f"The {thing} does what a {thing} has to do.", 1),
        Candidate(f"{thing}-2", "Nobody saw it.", 0),
    ))
    for i, thing in enumerate(["tower", "bridge", "river"])
]  # fmt: skip


@pytest.fixture
def small(wb, monkeypatch):
    """A workbench whose shipped set has three questions and whose shipped comparison is of three rankers."""
    settings = replace(shipped_comparison.SETTINGS, rankers=("cascade", "bm25", "cascade:drop_ratio=0.5"))
    monkeypatch.setattr(shipped_comparison, "SETTINGS", settings)
    wb.settings.starter_dir.mkdir(parents=True)
    jsonl.write(QUESTIONS, wb.settings.starter_dir / "test.jsonl")
    return wb


@pytest.fixture
def made(small):
    """As the job shows it; and the file is written."""
    settings = shipped_comparison.SETTINGS
    job = comparison_job.start_compare(small, settings.rankers, settings.data)
    run_queued(small, RUNNERS)
    file = small.settings.starter_dir / shipped_comparison.FILE
    shipped_comparison.write_shipped_comparison(small, job.id, file)
    return comparison.load_comparison(small, job.id)


def test_the_file_shows_what_the_job_showed_without_its_seconds(small, made):
    view = shipped_comparison.find_shipped_comparison(small)
    assert (view.data, view.questions, view.notes) == (made.data, 3, made.notes)
    for shown, computed in zip(view.results, made.results, strict=True):
        assert (shown.ranker, shown.cuts, shown.seconds) == (computed.ranker, computed.cuts, None)
        assert shown.relative_cost == pytest.approx(computed.relative_cost, abs=1e-5)
        for metric, figure in computed.figures.items():
            assert shown.figures[metric].value == pytest.approx(figure.value, abs=1e-5)
    for metric, paired in made.paired.items():
        assert [(p.a, p.b, p.test.wins) for p in view.paired[metric]] == [(p.a, p.b, p.test.wins) for p in paired]
    pd.testing.assert_frame_equal(
        view.per_question.sort_values(["ranker", "qid"], ignore_index=True),
        made.per_question.sort_values(["ranker", "qid"], ignore_index=True),
        atol=1e-5, check_like=True,
    )  # fmt: skip
    assert view.ranks["q1"]["cascade"].tolist() == made.ranks["q1"]["cascade"].tolist()
    assert view.ranks["q1"]["bm25"].tolist()[1] == 1


def test_it_is_not_shown_with_another_question_in_the_set(small, made):
    jsonl.write(QUESTIONS[:2], small.settings.starter_dir / "test.jsonl")
    assert shipped_comparison.find_shipped_comparison(small) is None


def test_it_is_not_shown_with_other_weights_but_with_another_calibration(small, made):
    card = small.settings.models_dir / "cascade" / "card.json"
    content = json.loads(card.read_text())
    card.write_text(json.dumps(content | {"config_sha256": "another"}))
    assert shipped_comparison.find_shipped_comparison(small) is not None
    card.write_text(json.dumps(content | {"sha256": "another"}))
    assert shipped_comparison.find_shipped_comparison(small) is None


@pytest.mark.parametrize("content", [None, "", "{}", "[]"])
def test_without_a_readable_file_there_is_none(small, content):
    if content is not None:
        (small.settings.starter_dir / shipped_comparison.FILE).write_text(content)
    assert shipped_comparison.find_shipped_comparison(small) is None


def test_the_shipped_file_fits_the_shipped_data_and_weights(wb):
    for name in ("test.jsonl", shipped_comparison.FILE):
        wb.settings.starter_dir.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "corpora" / "starter" / name, wb.settings.starter_dir)
    for name in ("card.json", "config.json"):
        shutil.copy(ROOT / "models" / "cascade" / name, wb.settings.models_dir / "cascade")
    view = shipped_comparison.find_shipped_comparison(wb)
    assert view is not None, "run python benchmarks/prepared_comparison.py"
    assert [r.ranker for r in view.results] == list(shipped_comparison.SETTINGS.rankers)
    assert view.twins == {"cascade:drop_ratio=0.3": "cascade"}  # its default
    aps = {r.ranker: r.figures["AP"].value for r in view.results}
    assert aps["cascade"] > aps["bi-encoder"] > aps["bm25"]
    assert (ROOT / "corpora" / "starter" / shipped_comparison.FILE).stat().st_size < 250_000
