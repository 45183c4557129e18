"""A retrain that is cancelled, or whose worker is killed."""

import shutil
from pathlib import Path

import pytest
from city_questions import finish_retrain, made_up
from fake_models import write_version

from app import bootstrap
from app.adapt import retrain_job
from app.adapt.settings import RetrainSettings
from app.ask import asking
from app.jobs import queue, supervisor
from app.jobs.attempt import run_queued
from app.labels import annotation
from app.versions import management, registry
from app.worker import RUNNERS
from db.repositories import jobs as rows


def test_a_cancelled_retrain_leaves_no_version_and_goes_on_with_the_labels_as_they_were(
    wb, corpus_id, ann, monkeypatch
):
    from app.adapt.retrain import run_retrain

    def cancelled_at_its_first_step(job):
        told = job.event

        def event(payload):
            told(payload)
            job.cancelled = job.cancelled or payload["kind"] == "step"

        job.event = event
        return run_retrain(job)

    job = retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=1))
    run_queued(wb, {**RUNNERS, "retrain": cancelled_at_its_first_step})
    assert queue.load_job(wb, job.id).state == "cancelled"
    folder = wb.settings.jobs_dir / str(job.id)
    snapshot = (folder / "snapshot.jsonl").read_bytes()
    assert [v.name for v in registry.list_versions(wb)] == ["cascade"]
    assert not list(wb.settings.versions_dir.glob("*"))
    asked = asking.ask(wb, corpus_id, made_up(24)[0].text)
    annotation.give_label(
        wb,
        question_id=asked.question_id,
        sentence_id=asked.candidates[0].sentence_id,
        annotator_id=ann.id,
        label="unsure",
    )
    queue.retry(wb, job.id)
    result = finish_retrain(wb, job.id).result
    assert (folder / "snapshot.jsonl").read_bytes() == snapshot
    assert not (folder / "work").exists()
    assert result["version"] == "cities-1"


def test_a_retrain_is_cancelled_while_it_measures_and_keeps_no_version(wb, corpus_id, monkeypatch):
    from app.adapt.retrain import run_retrain

    def cancelled_at_the_benchmark(job):
        told = job.progress

        def progress(share, message):
            told(share, message)
            job.cancelled = job.cancelled or message.startswith(
                "measuring the new version on the benchmark Starter test"
            )

        job.progress = progress
        return run_retrain(job)

    job = retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=1))
    run_queued(wb, {**RUNNERS, "retrain": cancelled_at_the_benchmark})
    assert queue.load_job(wb, job.id).state == "cancelled"
    assert not list(wb.settings.versions_dir.glob("*"))


def test_a_worker_killed_after_keeping_the_version_ends_with_the_same_result(wb, corpus_id, clock):
    job = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=1)).id)
    with wb.write() as s:
        row = rows.lock_job(s, job.id)
        row.state, row.result, row.heartbeat, row.worker = "running", {}, clock(), "another-machine:1:1"
    clock.advance(minutes=1)
    supervisor.reap(wb)
    again = finish_retrain(wb, job.id)
    assert again.result == job.result
    assert len(registry.list_versions(wb)) == 2


def test_a_directory_without_its_row_is_no_version_and_makes_way(wb, corpus_id):
    job = retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=1))
    left = wb.settings.versions_dir / f"cities-job-{job.id}"
    left.mkdir(parents=True)
    (left / "card.json").write_text("{}")
    half_written = left.with_name(f".{left.name}.k2j1")
    half_written.mkdir()
    assert [v.name for v in registry.list_versions(wb)] == ["cascade"]
    finish_retrain(wb, job.id)
    [made] = [v for v in registry.list_versions(wb) if v.state == "candidate"]
    assert Path(made.path) == left and not made.problem
    assert not half_written.exists()


def test_a_directory_that_another_version_has_is_left_to_it(wb, corpus_id):
    job = retrain_job.start_retrain(wb, corpus_id, RetrainSettings(kind="calibration"))
    path = wb.settings.versions_dir / f"cities-job-{job.id}"
    with wb.write() as s:
        registry.add_candidate(s, wb, "other", write_version(path))
    assert registry.get_version(wb, finish_retrain(wb, job.id).result["version"]).path == f"{path} 2"
    assert not any(v.problem for v in registry.list_versions(wb))


def test_a_version_renamed_before_its_killed_worker_is_noticed_is_still_the_job_s(wb, corpus_id, clock):
    job = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(kind="calibration")).id)
    management.rename(wb, job.result["version"], "spring")
    with wb.write() as s:
        row = rows.lock_job(s, job.id)
        row.state, row.result = "queued", {}
    assert finish_retrain(wb, job.id).result == {**job.result, "version": "spring"}


def test_a_job_whose_home_was_copied_after_it_kept_its_version_is_done_there(wb, corpus_id, tmp_path):
    job = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(kind="calibration")).id)
    with wb.write() as s:
        row = rows.lock_job(s, job.id)
        row.state, row.result = "queued", {}
    shutil.copytree(wb.settings.home, tmp_path / "backup")
    there = bootstrap.open(wb.settings.model_copy(update={"home": tmp_path / "backup"}), wb.models, wb.clock)
    assert finish_retrain(there, job.id).result == job.result
    assert len(registry.list_versions(there)) == 2
    there.close()


def test_a_worker_killed_while_it_writes_the_result_leaves_no_half_of_it(wb, corpus_id, monkeypatch):
    write = Path.write_text

    def killed(path, content, **how):
        if not path.name.startswith(".result.json."):  # what becomes it
            return write(path, content, **how)
        write(path, content[:40], **how)
        raise KeyboardInterrupt

    job = retrain_job.start_retrain(wb, corpus_id, RetrainSettings(kind="calibration"))
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Path, "write_text", killed)
        run_queued(wb, RUNNERS)
    with wb.write() as s:
        rows.lock_job(s, job.id).state = "queued"
    assert finish_retrain(wb, job.id).result["version"] == "cities-1"
