"""A version's new name in the jobs that name it."""

import pytest
from fake_models import write_version
from label_files import import_labels

from app.compare import comparison, comparison_job, deciding
from app.compare.comparison import ComparisonSettings
from app.compare.deciding import DecisionRequest
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.versions import loading, management, registry
from app.worker import RUNNERS
from as2core.data import jsonl
from as2core.rankers.catalog import rename_spec
from as2core.types import Candidate, Question

QUESTIONS = [
    Question(
        f"q{i}",
        f"What is apple number {i}?",
        tuple(Candidate(f"{i}-{j}", f"apple {i} sentence {j}.", int(j == 0)) for j in range(4)),
    )
    for i in range(4)
]


@pytest.fixture
def corpus_id(wb):
    """Labelled, beside a version called spring."""
    content = jsonl.dumps(QUESTIONS).encode()
    corpus = import_labels(wb, None, "apples.jsonl", content).corpus_id
    run_queued(wb, RUNNERS)
    folder = write_version(wb.settings.versions_dir / "spring")
    with wb.write() as s:
        registry.add_candidate(s, wb, "spring", folder)
    return corpus


def test_a_comparison_that_waits_measures_the_version_under_its_new_name(wb, corpus_id):
    job = comparison_job.start_compare(wb, ["spring", "bm25"], "labels:apples")
    management.rename(wb, "spring", "summer")
    run_queued(wb, RUNNERS)
    view = comparison.load_comparison(wb, job.id)
    assert {r.ranker for r in view.results} == {"summer", "bm25"}
    assert ComparisonSettings.of(queue.load_job(wb, job.id)).rankers == ("summer", "bm25")


def test_a_comparison_that_is_done_keeps_the_names_that_its_figures_are_by(wb, corpus_id):
    job = comparison_job.start_compare(wb, ["spring", "bm25"], "labels:apples")
    run_queued(wb, RUNNERS)
    management.rename(wb, "spring", "summer")
    assert ComparisonSettings.of(queue.load_job(wb, job.id)).rankers == ("spring", "bm25")
    assert {r.ranker for r in comparison.load_comparison(wb, job.id).results} == {"spring", "bm25"}


@pytest.mark.parametrize("is_done", [False, True])
def test_a_decision_follows_waiting_and_made(wb, corpus_id, is_done):
    job = deciding.start_decision(wb, corpus_id, DecisionRequest("spring", "bm25"))
    if is_done:
        run_queued(wb, RUNNERS)
    management.rename(wb, "spring", "summer")
    run_queued(wb, RUNNERS)
    job = queue.load_job(wb, job.id)
    assert (job.state, job.error) == ("done", "")
    course = deciding.open_decision(wb, job.id)
    assert (course.request.a, course.request.b) == ("summer", "bm25") and "spring" not in course.conclusion


def test_a_decision_that_runs_loads_the_second_ranker_under_its_new_name(wb, corpus_id, monkeypatch):
    load_ranker = loading.load_ranker

    def rename_and_load(wb, name):
        if name == "bm25":
            management.rename(wb, "spring", "summer")
        return load_ranker(wb, name)

    monkeypatch.setattr(loading, "load_ranker", rename_and_load)
    job = deciding.start_decision(wb, corpus_id, DecisionRequest("bm25", "spring"))
    run_queued(wb, RUNNERS)
    job = queue.load_job(wb, job.id)
    assert (job.state, job.error) == ("done", "")


def test_each_kind_of_job_that_names_versions_can_be_run(wb):
    assert wb.list_renames().keys() <= RUNNERS.keys()


@pytest.mark.parametrize(
    ("spec", "renamed"),
    [
        ("spring", "summer"),
        ("spring:drop_ratio=0.5", "summer:drop_ratio=0.5"),
        ("spring 2", "spring 2"),
        ("bm25:k1=1.5", "bm25:k1=1.5"),
        ("/versions/spring", "/versions/spring"),
        ("sequential:stages=wo@20+spring", "sequential:stages=wo@20+summer"),
        (
            "sequential:stages=spring@20+[spring:drop_ratio=0.5]@0.5",
            "sequential:stages=summer@20+[summer:drop_ratio=0.5]@0.5",
        ),
        ("fusion:method=rrf,rankers=spring+spring 2+bm25", "fusion:method=rrf,rankers=summer+spring 2+bm25"),
        ("cascade:first=spring,first_keep=3", "cascade:first=summer,first_keep=3"),
        (
            "spring:first=[spring:drop_ratio=0.5,first=spring],keep=5",
            "summer:first=[summer:drop_ratio=0.5,first=summer],keep=5",
        ),
        ("sequential:stages=wo+[fusion:rankers=bm25+spring]", "sequential:stages=wo+[fusion:rankers=bm25+summer]"),
        ("sequential:stages=spring+[", "sequential:stages=spring+["),
    ],
)
def test_a_spec_is_renamed_with_its_settings_or_left_alone(spec, renamed):
    assert rename_spec(spec, "spring", "summer") == renamed
