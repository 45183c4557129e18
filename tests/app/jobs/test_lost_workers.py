"""Jobs whose worker died, or that lost the database."""

import logging
import threading
import time

import pytest
from job_runs import die_in, in_background
from polling import until

from app.jobs import attempt, process, queue, supervisor
from app.jobs.attempt import run_queued
from app.workbench.workbench import OUTAGE_TEXT, DatabaseOutage
from db.models import Job
from db.repositories import jobs as rows


def test_a_job_whose_heart_stopped_is_queued_again_and_says_so(wb, runners, clock):
    runners["compare"] = lambda job: {"attempt": job.attempt}
    made = queue.enqueue(wb, "compare", {})
    die_in(wb, made.id)
    supervisor.reap(wb)
    assert queue.load_job(wb, made.id).state == "running"
    clock.advance(seconds=31)
    supervisor.reap(wb)
    lost = queue.load_job(wb, made.id)
    assert lost.state == "queued"
    assert lost.events == ({"kind": "lost", "attempt": 1, "goes_on": True},)
    run_queued(wb, runners)
    assert queue.load_job(wb, made.id).result == {"attempt": 2}


def test_after_three_lost_attempts_a_job_is_lost_and_can_still_be_run_again(wb, runners, clock):
    runners["compare"] = lambda job: {"attempt": job.attempt}
    made = queue.enqueue(wb, "compare", {})
    for _ in range(3):
        die_in(wb, made.id)
        clock.advance(seconds=31)
        supervisor.reap(wb)
    lost = queue.load_job(wb, made.id)
    assert (lost.state, lost.attempt, lost.events[-1]["goes_on"]) == ("lost", 3, False)
    assert "run it again" in lost.error
    queue.retry(wb, made.id)
    run_queued(wb, runners)
    assert queue.load_job(wb, made.id).result == {"attempt": 4}


def test_a_dead_worker_of_this_machine_is_noticed_without_waiting(wb, runners):
    host, _, born = process.name_worker().split(":")
    made = queue.enqueue(wb, "compare", {})
    die_in(wb, made.id, worker=f"{host}:999999999:{born}")
    supervisor.reap(wb)
    assert queue.load_job(wb, made.id).state == "queued"


def test_a_living_worker_is_left_alone(wb, runners):
    made = queue.enqueue(wb, "compare", {})
    die_in(wb, made.id, worker=process.name_worker())
    supervisor.reap(wb)
    assert queue.load_job(wb, made.id).state == "running"


def test_an_outage_of_the_database_costs_a_job_no_attempt(wb, runners, outage, monkeypatch, caplog):
    monkeypatch.setattr(attempt, "MAX_ENDING_TRIES", 2)

    def work(job):
        if job.attempt == 1:
            outage.set()
            job.step_back()
        return {"attempt": job.attempt}

    runners["score"] = work
    made = queue.enqueue(wb, "score", {})
    thread = in_background(wb, runners)
    until(lambda: "cannot be written yet" in caplog.text)
    time.sleep(5 * attempt.HEARTBEAT_SECONDS)  # more tries than another fault has
    outage.clear()
    thread.join(20)
    done = queue.load_job(wb, made.id)
    assert (done.state, done.result, done.events) == ("done", {"attempt": 2}, ())
    with wb.read() as s:
        row = s.get(Job, made.id)
        assert row.attempts == rows.MAX_ATTEMPTS + 1
    messages = [r.message for r in caplog.records if r.levelno >= logging.WARNING]
    assert sum("db.example" in m for m in messages) == 1
    assert sum("cannot be written yet" in m for m in messages) == 1


@pytest.mark.parametrize(("seconds", "state"), [(60.0, "failed"), (0.0, "done")])
def test_a_job_that_breaks_its_own_connection_ends_when_its_attempts_are_used_up(
    wb, runners, monkeypatch, seconds, state
):
    """Unless it ran for long: then the connection may have gone by itself."""
    monkeypatch.setattr(attempt, "LONG_SECONDS", seconds)
    tries = []

    def work(job):
        tries.append(job.attempt)
        if len(tries) < 6:
            raise DatabaseOutage(OUTAGE_TEXT)

    runners["compare"] = work
    made = queue.enqueue(wb, "compare", {})
    run_queued(wb, runners)
    ended = queue.load_job(wb, made.id)
    assert (ended.state, len(tries)) == (state, rows.MAX_ATTEMPTS if state == "failed" else 6)
    assert ("the database, which answers" in ended.error) == (state == "failed")


def test_a_worker_that_could_not_be_heard_of_in_an_outage_is_not_taken_for_dead(wb, runners, clock, outage):
    made = queue.enqueue(wb, "compare", {})
    die_in(wb, made.id)
    outage.set()
    clock.advance(minutes=10)
    with pytest.raises(DatabaseOutage):
        supervisor.attend(wb)
    outage.clear()
    supervisor.reap(wb)
    assert queue.load_job(wb, made.id).state == "running"
    clock.advance(seconds=26)
    supervisor.reap(wb)
    assert queue.load_job(wb, made.id).state == "queued"


def test_the_supervisor_writes_no_trace_while_the_database_is_away(wb, outage, caplog, monkeypatch):
    monkeypatch.setattr(supervisor, "CHECK_SECONDS", 0.01)
    queue.enqueue(wb, "compare", {})
    outage.set()
    checks = []
    monkeypatch.setattr(supervisor, "attend", lambda wb: (checks.append(1), queue.has_work(wb)))
    supervisor.start_supervisor(wb)
    until(lambda: len(checks) > 4)
    assert len(caplog.records) == 1
    assert "db.example" in caplog.text and "Traceback" not in caplog.text


def test_a_cancelled_job_whose_worker_died_is_cancelled(wb, runners, clock):
    made = queue.enqueue(wb, "compare", {})
    die_in(wb, made.id)
    queue.cancel(wb, made.id)
    clock.advance(minutes=1)
    supervisor.reap(wb)
    assert queue.load_job(wb, made.id).state == "cancelled"


def test_a_new_worker_runs_what_the_one_before_left_before_what_was_queued_later(wb, runners, working, clock):
    order, over = [], threading.Event()

    def retrain(job):
        order.append(job.id)
        if len(order) == 2:
            over.set()

    runners["retrain"] = retrain
    interrupted, later = (queue.enqueue(wb, "retrain", {}).id for _ in range(2))
    die_in(wb, interrupted)
    clock.advance(minutes=1)
    working(runners)
    assert over.wait(60)
    assert order == [interrupted, later]


def test_the_supervisor_queues_a_lost_job_again_and_starts_a_worker(wb, runners, clock, monkeypatch):
    started = threading.Event()
    monkeypatch.setattr(supervisor, "CHECK_SECONDS", 0.01)
    made = queue.enqueue(wb, "compare", {})
    die_in(wb, made.id)
    clock.advance(minutes=1)
    monkeypatch.setattr(supervisor, "start_worker_if_needed", lambda wb: started.set())
    thread = supervisor.start_supervisor(wb)
    assert started.wait(20)
    assert queue.load_job(wb, made.id).state == "queued"
    wb.is_closed.set()
    thread.join(20)
    assert not thread.is_alive()
