"""A worker that fails again and again is started less and less often, and the page and the console say so."""

import sys
from dataclasses import replace

import pytest
from sqlalchemy import text

from app import worker
from app.jobs import process, queue
from app.jobs.attempt import run_next
from app.ui.wording import describe_wait


def test_the_pause_doubles_with_each_failure_up_to_ten_minutes(wb, monkeypatch):
    monkeypatch.setattr(process.time, "time", lambda: 1000.0)
    waits = []
    for _ in range(12):
        process.note_failure(wb.settings, 1, is_repeated=True)
        waits.append(process.read_failure(wb.settings).retry_at - 1000.0)
    assert waits == [4, 8, 16, 32, 64, 128, 256, 512, 600, 600, 600, 600]
    assert not process.may_start(wb.settings)
    monkeypatch.setattr(process.time, "time", lambda: 1600.0)
    assert process.may_start(wb.settings)


def test_a_worker_that_had_worked_for_a_while_starts_the_count_anew(wb):
    for is_repeated, times in ((True, 1), (True, 2), (False, 1)):
        process.note_failure(wb.settings, -9, is_repeated=is_repeated)
        assert process.read_failure(wb.settings).times == times
    message = process.read_failure(wb.settings).describe(wb.settings)
    assert "(SIGKILL)" in message and "memory" in message and "worker.log" not in message


@pytest.mark.parametrize(("code", "is_failure"), [("1", True), ("0", False)])
def test_the_end_of_a_process_is_noted(wb, code, is_failure):
    ended = process.WorkerProcess([sys.executable, "-c", f"raise SystemExit({code})"])
    process._see_off(wb.settings, ended)
    assert (process.read_failure(wb.settings) is not None) == is_failure


def test_the_end_of_a_worker_that_was_asked_to_end_is_no_fault_however_it_ends(wb):
    ended = process.WorkerProcess([sys.executable, "-c", "import time; time.sleep(60)"])
    ended.terminate()
    ended.kill()  # it had not ended in time
    process._see_off(wb.settings, ended)
    assert process.read_failure(wb.settings) is None


def test_a_job_that_waits_says_that_the_worker_fails(wb, towers):
    job = queue.enqueue(wb, "score", {}, corpus_id=towers.id)
    process.note_failure(wb.settings, 1, is_repeated=True)
    process.note_failure(wb.settings, 1, is_repeated=True)
    assert "ended 2 times in a row (code 1)" in describe_wait(wb, job)
    assert str(wb.settings.worker_log) in describe_wait(wb, job)
    assert describe_wait(wb, job).endswith("This job starts with the next one.")
    assert describe_wait(wb, replace(job, attempt=1)).endswith("This job goes on with the next one.")


def test_a_job_that_waits_for_another_says_what_that_one_does(wb, towers):
    first = queue.enqueue(wb, "score", {}, corpus_id=towers.id)
    with wb.write() as s:
        s.execute(text("UPDATE job SET state = 'running' WHERE kind = 'score'"))
    job = queue.enqueue(wb, "embed", {}, corpus_id=towers.id)
    assert describe_wait(wb, job).startswith(f"Job {first.id} (ranking for Label) runs first.")


def test_a_damaged_file_about_the_failure_counts_for_none(wb):
    wb.settings.worker_failure.write_text("{")
    assert process.read_failure(wb.settings) is None and process.may_start(wb.settings)


def test_a_job_of_a_kind_that_is_unknown_fails_with_a_sentence(wb, towers):
    job = queue.enqueue(wb, "score", {}, corpus_id=towers.id)
    with wb.write() as s:
        s.execute(text("UPDATE job SET settings = '[1]'"))
    assert run_next(wb, worker.RUNNERS, {"score": 10})
    failed = queue.load_job(wb, job.id)
    assert failed.state == "failed" and "update it, or cancel" in failed.error


def test_a_slot_that_cannot_read_the_queue_pauses_longer_each_time_and_reports_it_once(caplog):
    pause = worker.Pause("looking", 0.5)
    for expected in (1.0, 2.0, 4.0):
        pause.extend(ValueError("the database is damaged"))
        assert pause.seconds == expected
    assert sum("looking failed" in r.message for r in caplog.records) == 1
    for _ in range(20):
        pause.extend(ValueError("another fault"))
    assert pause.seconds == worker.MAX_PAUSE_SECONDS
    pause.end()
    assert pause.seconds == 0.5
