"""Which jobs there are, and which may be added."""

import pytest
from job_runs import die_in

from app.jobs import queue
from app.jobs.kinds import JobKind
from app.jobs.queue import UnknownJob
from app.worker import RUNNERS
from db.repositories import jobs as rows


def test_jobs_are_listed_newest_first_and_by_kind(wb, runners):
    ids = [queue.enqueue(wb, kind, {}).id for kind in ("compare", "score", "compare")]
    assert [j.id for j in queue.list_jobs(wb)] == ids[::-1]
    assert [j.id for j in queue.list_jobs(wb, kind="compare")] == [ids[2], ids[0]]
    assert len(queue.list_jobs(wb, limit=1)) == 1
    with pytest.raises(UnknownJob):
        queue.load_job(wb, 99)


def test_a_corpus_s_recent_jobs_are_the_newest_of_its_own_without_their_events(wb, towers):
    ids = [queue.enqueue(wb, k, {}, corpus_id=of).id for k, of in (("score", towers.id), ("compare", None),
                                                                   ("retrain", towers.id))]  # fmt: skip
    with wb.write() as s:
        rows.add_event(s, ids[2], {"kind": "eval"}, wb.clock())
    assert [(j.id, j.events) for j in queue.list_recent(wb, towers.id, 2)] == [(ids[2], ()), (ids[0], ())]


def test_jobs_that_wait_or_run_are_known_without_their_events(wb, towers):
    ids = [queue.enqueue(wb, "score", {}, corpus_id=of).id for of in (towers.id, None, towers.id)]
    with wb.write() as s:
        rows.add_event(s, ids[0], {"kind": "eval"}, wb.clock())
    assert queue.load_job(wb, ids[0]).events
    queue.cancel(wb, ids[2])
    assert [(j.id, j.events) for j in queue.list_active(wb, "score")] == [(ids[0], ()), (ids[1], ())]
    assert len(queue.list_active(wb)) == 3  # with the one for the vectors
    assert [j.id for j in queue.list_active(wb, "score", towers.id)] == ids[:1]
    assert queue.list_active(wb, "retrain") == []
    assert queue.find_newest(wb, "score", towers.id).id == ids[2]
    assert queue.find_newest(wb, "retrain", towers.id) is None


def test_reading_jobs_starts_no_worker_and_changes_no_job(wb, runners, clock, monkeypatch):
    lost, waiting = (queue.enqueue(wb, kind, {}) for kind in ("compare", "embed"))
    die_in(wb, lost.id)
    clock.advance(minutes=1)
    monkeypatch.setattr(queue, "start_worker_if_needed", lambda wb: pytest.fail("a worker was started"))
    assert queue.load_job(wb, lost.id).state == "running"
    assert [j.state for j in queue.list_jobs(wb)] == ["queued", "running"]
    assert [j.id for j in queue.list_active(wb)] == [lost.id, waiting.id]


def test_a_job_that_is_asked_for_twice_is_queued_once_until_it_is_over(wb, towers):
    def ask_for(limit, corpus_id=towers.id):
        settings = {"limit": limit, "names": ("a", "b")}
        return queue.enqueue(wb, JobKind.SCORE, settings, corpus_id=corpus_id, once=True).id

    first = ask_for(1)
    assert ask_for(1) == first
    assert len({first, ask_for(2), ask_for(1, corpus_id=None)}) == 3
    assert queue.enqueue(wb, JobKind.SCORE, {"limit": 2, "names": ["a", "b"]}, corpus_id=towers.id).id != ask_for(2)
    queue.cancel(wb, first)
    assert ask_for(1) != first


def test_a_single_job_is_refused_while_another_of_its_kind_and_corpus_waits(wb, towers):
    first = queue.enqueue(wb, "retrain", {}, corpus_id=towers.id)
    with pytest.raises(queue.JobActive, match=f"job {first.id} "):
        queue.enqueue(wb, "retrain", {}, corpus_id=towers.id)
    queue.cancel(wb, first.id)
    assert queue.enqueue(wb, "retrain", {}, corpus_id=towers.id).state == "queued"


def test_a_single_job_runs_again_only_when_no_other_of_its_kind_and_corpus_waits(wb, towers):
    first = queue.enqueue(wb, "retrain", {}, corpus_id=towers.id)
    queue.cancel(wb, first.id)
    second = queue.enqueue(wb, "retrain", {}, corpus_id=towers.id)
    with pytest.raises(queue.JobActive, match=f"job {second.id} "):
        queue.retry(wb, first.id)
    assert [j.id for j in queue.list_active(wb, "retrain", towers.id)] == [second.id]
    assert queue.load_job(wb, first.id).state == "cancelled"
    queue.cancel(wb, second.id)
    assert queue.retry(wb, first.id).state == "queued"


def test_every_kind_of_job_has_a_runner_and_one_slot():
    assert set(queue.SINGLE_KINDS) <= queue.PRIORITIES.keys()
    assert set(RUNNERS) == set(queue.PRIORITIES) == set(JobKind)
    assert sorted(kind for slot in queue.SLOTS for kind in slot) == sorted(queue.PRIORITIES)
