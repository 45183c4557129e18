"""A job that is cancelled or paused."""

import threading
import time
from types import SimpleNamespace

import pytest
from job_runs import in_background, make_endless_run
from polling import until

from app.jobs import attempt, queue, supervisor
from app.jobs.attempt import run_queued
from db.models import Job


def test_a_running_job_is_cancelled_at_its_next_look(wb, runners):
    started = threading.Event()

    runners["compare"] = make_endless_run(started)
    made = queue.enqueue(wb, "compare", {})
    thread = in_background(wb, runners)
    started.wait(20)
    before = time.monotonic()
    queue.cancel(wb, made.id)
    thread.join(5)
    assert time.monotonic() - before < 5
    over = queue.load_job(wb, made.id)
    assert (over.state, over.cancelling) == ("cancelled", False)


def test_a_job_asked_to_cancel_as_it_makes_room_is_not_queued_again(wb, runners):
    def work(job):
        if job.attempt == 1:
            queue.cancel(wb, job.id)
            raise attempt.SteppedBack

    runners["embed"] = work
    made = queue.enqueue(wb, "embed", {})
    run_queued(wb, runners)
    over = queue.load_job(wb, made.id)
    assert (over.state, over.message, over.cancelling, over.attempt) == ("cancelled", "cancelled", False, 1)
    assert over.finished is not None


def test_a_job_that_will_not_listen_is_cancelled_over_its_head(wb, runners, monkeypatch):
    monkeypatch.setattr(attempt, "CANCEL_SECONDS", 0.1)
    started, let_go = threading.Event(), threading.Event()

    def work(job):
        started.set()
        let_go.wait(20)
        return {"too": "late"}

    runners["compare"] = work
    made = queue.enqueue(wb, "compare", {})
    thread = in_background(wb, runners)
    started.wait(20)
    queue.cancel(wb, made.id)
    until(lambda: queue.load_job(wb, made.id).state == "cancelled")
    let_go.set()
    thread.join()
    over = queue.load_job(wb, made.id)
    assert (over.state, over.result) == ("cancelled", {})


def test_a_paused_job_holds_between_steps_and_goes_on_where_it_was(wb, runners, monkeypatch):
    steps, naps, resumed = [], [], threading.Event()

    def nap(seconds):
        naps.append(len(steps))
        time.sleep(0.01)

    def work(job):
        while not resumed.is_set():
            if job.should_stop():
                return None
            steps.append(None)
            time.sleep(0.005)
        return {"steps": len(steps)}

    monkeypatch.setattr(attempt, "time", SimpleNamespace(monotonic=time.monotonic, sleep=nap))

    runners["embed"] = work
    made = queue.enqueue(wb, "embed", {})
    thread = threading.Thread(target=run_queued, args=(wb, runners))
    thread.start()
    until(lambda: steps)
    assert queue.pause(wb, made.id).paused
    until(lambda: len(naps) > 9)  # it looks again and again whether it may go on
    assert set(naps) == {len(steps)}
    assert queue.load_job(wb, made.id).state == "running"
    resumed.set()
    assert not queue.resume(wb, made.id).paused
    thread.join()
    over = queue.load_job(wb, made.id)
    assert (over.state, over.result) == ("done", {"steps": naps[0] + 1})
    assert [e["kind"] for e in over.events] == ["paused", "resumed"]


def test_a_run_s_clock_stands_still_while_it_is_paused(wb, runners):
    def work(job):
        before, began = job.seconds(), time.monotonic()
        queue.pause(wb, job.id)
        until(lambda: job.paused)
        going_on = threading.Timer(0.5, queue.resume, (wb, job.id))
        going_on.start()
        held = time.monotonic()
        assert not job.should_stop()
        held = time.monotonic() - held
        going_on.join()
        return {"held": held, "passed": time.monotonic() - began, "counted": job.seconds() - before}

    runners["embed"] = work
    made = queue.enqueue(wb, "embed", {})
    run_queued(wb, runners)
    told = queue.load_job(wb, made.id).result
    assert told["held"] >= 0.5
    assert told["counted"] == pytest.approx(told["passed"] - told["held"], abs=0.05)


def test_a_paused_job_makes_room_for_another_of_its_slot_and_goes_on_from_what_it_kept(wb, runners):
    order = []

    def work(job):
        order.append(f"{job.settings['name']} {job.attempt}")
        while job.settings["name"] == "first" and job.attempt == 1:
            job.check()
            time.sleep(0.005)
        return {"attempt": job.attempt}

    runners["retrain"] = work
    first = queue.enqueue(wb, "retrain", {"name": "first"})
    thread = in_background(wb, runners)
    until(lambda: order)
    queue.pause(wb, first.id)
    second = queue.enqueue(wb, "retrain", {"name": "second"})
    thread.join(20)
    assert queue.load_job(wb, second.id).state == "done"
    waiting = queue.load_job(wb, first.id)
    assert (waiting.state, waiting.paused, waiting.finished) == ("queued", True, None)
    queue.resume(wb, first.id)
    run_queued(wb, runners)
    assert queue.load_job(wb, first.id).result == {"attempt": 2}
    assert order == ["first 1", "second 1", "first 2"]
    with wb.read() as s:
        row = s.get(Job, first.id)
        assert row.attempts - row.attempt == 2  # making room costs no attempt


def test_no_worker_is_kept_for_a_paused_job_alone(wb, runners, monkeypatch):
    started = []
    monkeypatch.setattr(supervisor, "start_worker_if_needed", lambda wb: started.append(1))
    made = queue.enqueue(wb, "embed", {})
    queue.pause(wb, made.id)
    supervisor.attend(wb)
    assert not started


def test_a_paused_job_can_be_cancelled(wb, runners):
    def work(job):
        while not job.should_stop():
            time.sleep(0.005)
        job.check()

    runners["embed"] = work
    made = queue.enqueue(wb, "embed", {})
    thread = threading.Thread(target=run_queued, args=(wb, runners))
    thread.start()
    until(lambda: queue.load_job(wb, made.id).state == "running")
    queue.pause(wb, made.id)
    queue.cancel(wb, made.id)
    thread.join(5)
    assert queue.load_job(wb, made.id).state == "cancelled"


def test_a_queued_job_that_is_paused_is_not_taken_up(wb, runners):
    runners["embed"] = lambda job: {}
    made = queue.enqueue(wb, "embed", {})
    queue.pause(wb, made.id)
    assert run_queued(wb, runners) == 0
    queue.resume(wb, made.id)
    assert run_queued(wb, runners) == 1
