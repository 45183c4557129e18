"""After a restore no number of a job is given again, and its files are its own."""

import pytest
from fake_models import write_version
from label_files import import_labels
from restored_homes import opened

from app.compare import comparison, comparison_job
from app.corpora import corpora
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.upkeep.backup import back_up, restore
from app.worker import RUNNERS
from as2core.data import jsonl
from as2core.types import Candidate, Question


@pytest.fixture
def settings(sqlite_settings):
    return sqlite_settings


def make_questions(word, n=4):
    return [
        Question(f"{word}{i}", f"What is {word} {i}?", (Candidate("a", f"{word} {i}.", 1), Candidate("b", "No.", 0)))
        for i in range(n)
    ]


def test_after_a_restore_a_new_job_works_on_its_own_files(wb, settings, models, clock, tmp_path):
    for word in ("apples", "pears"):
        import_labels(wb, None, f"{word}.jsonl", jsonl.dumps(make_questions(word)).encode())
    run_queued(wb, RUNNERS)
    back_up(wb, tmp_path / "monday.tar")
    before = comparison_job.start_compare(wb, ["rr", "bm25"], "labels:apples")
    run_queued(wb, RUNNERS)
    restore(settings, tmp_path / "monday.tar")
    with opened(settings, models, clock) as other:
        after = comparison_job.start_compare(other, ["rr", "bm25"], "labels:pears")
        run_queued(other, RUNNERS)
        view = comparison.load_comparison(other, after.id)
    assert after.id > before.id
    assert set(view.by_id) == {q.qid for q in make_questions("pears")}


@pytest.mark.parametrize("state", ["as it was", "without its database", "with a damaged database"])
def test_after_a_restore_no_number_of_a_job_is_given_again(wb, towers, settings, tmp_path, models, clock, state):
    run_queued(wb, RUNNERS)
    back_up(wb, tmp_path / "monday.tar")
    (settings.jobs_dir / "40").mkdir(parents=True)
    (settings.jobs_dir / "notes").mkdir()
    write_version(settings.versions_dir / "towers-50 2", job=50)
    write_version(settings.versions_dir / "towers-2024", job=7)  # from elsewhere, by somebody's name for it
    write_version(settings.versions_dir / "towers-60")
    (settings.versions_dir / "towers-70").mkdir()
    wb.close()
    if state != "as it was":
        for file in settings.home.glob("as2.db*"):
            file.unlink()
    if state == "with a damaged database":
        (settings.home / "as2.db").write_bytes(b"no database" * 1000)
    restore(settings, tmp_path / "monday.tar")
    with opened(settings, models, clock) as other:
        assert queue.enqueue(other, "score", {}, corpus_id=towers.id).id == 51


@pytest.mark.parametrize("is_empty", [False, True])
def test_a_new_database_in_a_home_that_lost_its_own_gives_no_number_of_a_job_again(
    settings, models, clock, caplog, is_empty
):
    with opened(settings, models, clock) as first:
        towers = corpora.create_corpus(first, "towers")
        assert queue.enqueue(first, "score", {}, corpus_id=towers.id).id == 1
        assert not caplog.messages
    (settings.jobs_dir / "40").mkdir(parents=True)
    for file in settings.home.glob("as2.db*"):
        file.unlink()
    if is_empty:
        settings.database_file.touch()
    with opened(settings, models, clock) as other:
        towers = corpora.create_corpus(other, "towers")
        assert queue.enqueue(other, "score", {}, corpus_id=towers.id).id == 41
    assert "if that was lost, put it back" in caplog.text
    caplog.clear()
    with opened(settings, models, clock):
        assert not caplog.messages


def test_after_a_restore_a_job_without_a_folder_keeps_its_number_too(wb, towers, settings, tmp_path):
    back_up(wb, tmp_path / "monday.tar")
    later = [queue.enqueue(wb, "score", {}, corpus_id=towers.id) for _ in range(3)]
    restore(settings, tmp_path / "monday.tar")
    assert queue.enqueue(wb, "score", {}, corpus_id=towers.id).id == later[-1].id + 1


def test_an_empty_home_counts_on_from_the_backup(wb, towers, settings, tmp_path, models, clock):
    last = queue.enqueue(wb, "score", {}, corpus_id=towers.id)
    back_up(wb, tmp_path / "monday.tar")
    elsewhere = settings.model_copy(update={"home": tmp_path / "elsewhere"})
    restore(elsewhere, tmp_path / "monday.tar")
    with opened(elsewhere, models, clock) as other:
        assert queue.enqueue(other, "score", {}, corpus_id=towers.id).id == last.id + 1
