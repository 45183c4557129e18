"""A click that promotes a version whose gates are not measured yet."""

import pytest
from fake_models import write_version
from label_files import import_labels

from app.compare import gates, promotions
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.versions import evaluations, management, registry
from app.versions.promotion import NeedsReason
from app.workbench import people
from app.workbench.people import NotAllowed
from app.worker import RUNNERS
from as2core.data import jsonl
from as2core.errors import UnknownData
from as2core.evaluation.gate import GateFailed
from as2core.types import Candidate, Question
from db.repositories import versions as rows

QUESTIONS = [
    Question(f"q{i}", f"What is a {t}?", (Candidate(f"{t}0", f"A {t}.", 1), Candidate(f"{t}1", "It rains.", 0)))
    for i, t in enumerate(["tower", "bridge", "river"])
]
QUESTIONS.append(  # which no ranker gets right
    Question("q3", "What is up?", (Candidate("up0", "What is up is up.", 0), Candidate("up1", "It rains.", 1)))
)
WORSE = {"AP": 0.6, "before AP": 0.7, "paired": {"difference": -0.1, "low": -0.2, "high": -0.05, "p": 0.001, "wins": 1,
                                                 "losses": 20, "ties": 5}}  # fmt: skip


@pytest.fixture
def spring(wb):
    """A version that may be promoted, over questions that a gate can name."""
    import_labels(wb, None, "things.jsonl", jsonl.dumps(QUESTIONS).encode())
    return add(wb, "spring")


def add(wb, name, metrics=None):
    path = write_version(wb.settings.versions_dir / name, "cascade", parent="cascade")
    with wb.write() as s:
        rows.add_version(s, name, kind="cascade", path=str(path), state="candidate", parent="cascade", now=wb.clock(),
                         metrics=metrics or {})  # fmt: skip
    return name


def put_gate(wb, name, at_least, data="labels:things"):
    wb.settings.gates_dir.mkdir(parents=True, exist_ok=True)
    text = f'data = "{data}"\n[[require]]\nmeasure = "P@1"\nat_least = {at_least}\n'
    (wb.settings.gates_dir / f"{name}.toml").write_text(text)


def test_without_gates_the_click_promotes_at_once(wb, spring):
    assert promotions.start_promotion(wb, spring) is None
    assert registry.get_active(wb).name == spring


def test_what_is_to_be_measured_becomes_a_job_that_promotes_for_whoever_clicked(wb, spring):
    ann = people.sign_in(wb, "ann")
    put_gate(wb, "open", 0.0)
    job = promotions.start_promotion(wb, spring, "a reason", by=ann.id)
    assert registry.get_active(wb).name == "cascade" and promotions.list_under_way(wb) == {spring}
    assert promotions.start_promotion(wb, spring, by=ann.id).id == job.id  # a second click
    run_queued(wb, RUNNERS)
    assert queue.load_job(wb, job.id).result == {"version": spring, "miss": ""}
    assert [p.words for p in registry.get_active(wb).promotions] == ["a reason"] and not promotions.list_under_way(wb)


def test_a_version_renamed_while_its_promotion_waits_is_promoted_under_its_new_name(wb, spring):
    put_gate(wb, "open", 0.0)
    job = promotions.start_promotion(wb, spring)
    management.rename(wb, spring, "summer")
    assert promotions.list_under_way(wb) == {"summer"} and promotions.find_promotion(wb, "summer").id == job.id
    run_queued(wb, RUNNERS)
    assert registry.get_active(wb).name == "summer"


def test_a_miss_is_still_found_under_the_versions_new_name(wb, spring):
    put_gate(wb, "shut", 1.0)
    promotions.start_promotion(wb, spring)
    run_queued(wb, RUNNERS)
    management.rename(wb, spring, "summer")
    assert promotions.find_promotion(wb, "summer").result["miss"] and promotions.find_promotion(wb, spring) is None


def test_a_miss_is_the_jobs_result_and_what_is_measured_is_refused_or_promoted_at_the_next_click(wb, spring):
    put_gate(wb, "shut", 1.0)
    job = promotions.start_promotion(wb, spring)
    run_queued(wb, RUNNERS)
    done = queue.load_job(wb, job.id)
    assert done.state == "done" and "spring is not promoted. The gate shut on labels:things" in done.result["miss"]
    with pytest.raises(GateFailed):
        promotions.start_promotion(wb, spring)
    assert promotions.start_promotion(wb, spring, "today", ignores_gates=True) is None
    assert registry.get_active(wb).name == spring


def test_what_needs_no_measuring_is_refused_at_the_click(wb, spring, monkeypatch):
    monkeypatch.setattr(evaluations, "evaluate", None)
    put_gate(wb, "open", 0.0)
    with pytest.raises(NeedsReason):
        promotions.start_promotion(wb, add(wb, "worse", WORSE))
    ann, bob = people.sign_in(wb, "ann"), people.sign_in(wb, "bob")
    people.set_role(wb, bob.id, people.VIEWER, by=ann.id)
    with pytest.raises(NotAllowed):
        promotions.start_promotion(wb, spring, by=bob.id)
    put_gate(wb, "typo", 0.0, data="nowhere")
    with pytest.raises(UnknownData):
        promotions.start_promotion(wb, spring)
    assert queue.list_jobs(wb, promotions.KIND) == []


def test_the_progress_names_each_gate_and_goes_from_nothing_to_all(wb, spring):
    put_gate(wb, "first", 0.0)
    put_gate(wb, "second", 0.0, data="labels:things")
    reports = []
    gates.check_version_gates(wb, spring, lambda share, message: reports.append((share, message)))
    shares = [share for share, _ in reports]
    assert shares == sorted(shares) and shares[0] == 0.0 and 0.4 <= max(shares) <= 1.0
    assert reports[0][1] == "measuring the gate first: loading spring"
    assert any(m.startswith("measuring the gate first: spring, 4 of 4 questions") for _, m in reports)
    assert reports[-1][1].startswith("measuring the gate second")
