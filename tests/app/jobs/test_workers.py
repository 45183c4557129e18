"""A worker: which jobs it runs, and until when."""

import platform
import threading

import psutil
import pytest
from job_runs import in_background
from polling import until

from app import bootstrap
from app.jobs import queue, retrain_rule, supervisor
from app.jobs.attempt import run_queued


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="what other C libraries keep is their own affair")
def test_a_worker_gives_the_memory_of_a_job_back(wb, working):
    memory, peak, remaining = psutil.Process().memory_info, [], []

    def run(job):
        blocks = [bytearray(b"x" * 100_000) for _ in range(3_000)]
        remaining.extend(blocks[::100])  # between the pages that are free afterwards
        peak.append(memory().rss)

    working({"score": run})
    job = queue.enqueue(wb, "score", {})
    until(lambda: queue.load_job(wb, job.id).state == "done")
    until(lambda: memory().rss < peak[0] - 200_000_000, seconds=20)


def test_a_comparison_and_short_jobs_end_while_a_retrain_runs(wb, runners, working):
    running, may_end = threading.Event(), threading.Event()

    def retrain(job):
        running.set()
        assert may_end.wait(60)

    runners |= {"retrain": retrain, "compare": lambda job: {"n": 1}, "embed": lambda job: {"n": 2}}
    long = queue.enqueue(wb, "retrain", {})
    working(runners)
    assert running.wait(60)
    others = [queue.enqueue(wb, kind, {}).id for kind in ("compare", "embed")]
    until(lambda: all(queue.load_job(wb, i).state == "done" for i in others))
    assert queue.load_job(wb, long.id).state == "running"
    may_end.set()
    until(lambda: queue.load_job(wb, long.id).state == "done")


def test_a_slot_runs_one_job_at_a_time_the_most_urgent_first(wb, runners, working):
    order, over = [], threading.Event()
    running = threading.Lock()

    def work(job):
        assert running.acquire(blocking=False)
        order.append(job.kind)
        running.release()
        if job.kind == "doubt":
            over.set()

    runners |= dict.fromkeys(("embed", "score", "propose", "doubt"), work)
    for kind in ("doubt", "score", "propose", "embed", "score"):
        queue.enqueue(wb, kind, {})
    working(runners)
    assert over.wait(60)
    assert order == ["propose", "embed", "score", "score", "doubt"]


def test_two_workers_on_one_database_share_the_jobs_and_run_none_twice(wb, runners, settings, models, clock):
    ran = []
    runners["embed"] = lambda job: ran.append(job.id)
    other = bootstrap.open(settings.model_copy(update={"home": settings.home.with_name("other")}), models, clock)
    ids = [queue.enqueue(wb, "embed", {}).id for _ in range(20)]
    threads = [in_background(own, runners) for own in (wb, other)]
    for t in threads:
        t.join(60)
    other.close()
    assert sorted(ran) == ids
    assert {queue.load_job(wb, i).attempt for i in ids} == {1}


def test_a_worker_without_work_ends_and_one_with_work_does_not(wb, runners, working):
    running, may_end = threading.Event(), threading.Event()

    def embed(job):
        running.set()
        assert may_end.wait(60)

    runners["embed"] = embed
    queue.enqueue(wb, "embed", {})
    _, thread = working(runners, idle=0.2)
    assert running.wait(60)
    thread.join(1)
    assert thread.is_alive()
    may_end.set()
    thread.join(20)
    assert not thread.is_alive()


def test_the_supervisor_wakes_a_worker_for_a_retrain_at_night(wb, towers, runners, monkeypatch):
    woken = threading.Event()
    run_queued(wb, runners)  # what the documents asked for
    monkeypatch.setattr(supervisor, "CHECK_SECONDS", 0.01)
    monkeypatch.setattr(retrain_rule, "find_due_corpora", lambda wb, mark: [towers.id])
    monkeypatch.setattr(retrain_rule, "start_worker_if_needed", lambda wb: woken.set())
    thread = supervisor.start_supervisor(wb)
    assert woken.wait(20)
    wb.is_closed.set()
    thread.join(20)
