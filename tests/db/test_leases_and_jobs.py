import threading
from datetime import timedelta
from itertools import pairwise

import pytest

from db.models import Job
from db.repositories import jobs, leases, questions, sentences
from db.repositories.leases import Holder
from db.repositories.people import ensure_annotator

LEASE = timedelta(minutes=10)


@pytest.fixture
def pair(database, add_document, now):
    corpus_id, document_id = add_document("rhine", ["The Rhine is a river."])
    with database.write() as s:
        q = questions.add_question(s, corpus_id, "What is the Rhine?", external_id="q1", origin="asked", now=now)
        [sentence] = sentences.list_sentences(s, [document_id])
        return q.id, sentence.id


@pytest.fixture
def people(database, now):
    with database.write() as s:
        return [ensure_annotator(s, f"annotator {i}", now).id for i in range(8)]


def take(database, pair, who, now):
    with database.write() as s:
        return leases.acquire(s, pair, who, queue="random", token="t", expires=now + LEASE, now=now)


def test_a_leased_pair_is_refused_to_others_until_the_lease_runs_out(database, pair, people, now):
    ann, bob = Holder(people[0]), Holder(people[1])
    assert take(database, pair, ann, now)
    assert not take(database, pair, bob, now + timedelta(minutes=9))
    assert take(database, pair, ann, now + timedelta(minutes=9))
    assert not take(database, pair, bob, now + timedelta(minutes=18))
    assert take(database, pair, bob, now + timedelta(minutes=19))


def test_two_desks_under_one_name_are_two_holders(database, pair, people, now):
    assert take(database, pair, Holder(people[0], "left"), now)
    assert not take(database, pair, Holder(people[0], "right"), now)


def test_of_eight_who_reach_for_a_pair_at_once_one_gets_it(database, pair, people, now):
    got = []
    start = threading.Barrier(8)

    def reach(who: int) -> None:
        start.wait()
        got.append(take(database, pair, Holder(who), now))

    threads = [threading.Thread(target=reach, args=(p,)) for p in people]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(got) == [False] * 7 + [True]


def add(database, kind, now):
    with database.write() as s:
        return jobs.add_job(s, kind, {}, now).id


def test_of_two_workers_one_claims_a_job(database, now):
    job = add(database, "embed", now)
    with database.write() as s:
        claimed = jobs.claim_next(s, {"embed": 0}, "a", now)
        assert (claimed.id, claimed.state, claimed.attempt, claimed.worker) == (job, "running", 1, "a")
    with database.write() as s:
        assert jobs.claim_next(s, {"embed": 0}, "b", now) is None


def test_of_eight_workers_that_reach_for_twenty_jobs_at_once_each_job_goes_to_one(database, now):
    for _ in range(20):
        add(database, "embed", now)
    claimed, start = [], threading.Barrier(8)

    def work(worker: int) -> None:
        start.wait()
        while True:
            with database.read() as s:
                if jobs.find_next_queued(s, {"embed": 0}) is None:
                    return
            with database.write() as s:
                job = jobs.claim_next(s, {"embed": 0}, str(worker), now)
            if job is not None:
                claimed.append(job.id)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(claimed) == len(set(claimed)) == 20


def test_a_row_that_another_transaction_is_claiming_is_passed_over_on_postgresql(database, now):
    if database.sqlite:
        pytest.skip("SQLite has one writer at a time")
    first, second = add(database, "embed", now), add(database, "embed", now)
    with database.write() as one, database.write() as other:
        assert jobs.claim_next(one, {"embed": 0}, "a", now).id == first
        assert jobs.claim_next(other, {"embed": 0}, "b", now).id == second
        assert jobs.claim_next(other, {"embed": 0}, "b", now) is None


def test_the_most_urgent_kind_goes_first_and_the_oldest_of_it(database, now):
    add(database, "embed", now)
    first = add(database, "retrain", now)
    add(database, "retrain", now)
    with database.read() as s:
        assert jobs.find_next_queued(s, {"retrain": 30, "embed": 0}).id == first
        assert jobs.find_next_queued(s, {"score": 0}) is None


def test_a_run_given_up_for_lost_can_say_nothing_more(database, now):
    job = add(database, "embed", now)
    with database.write() as s:
        first = jobs.claim_next(s, {"embed": 0}, "a", now).attempt
        jobs.lock_job(s, job).state = "queued"
    with database.write() as s:
        second = jobs.claim_next(s, {"embed": 0}, "b", now).attempt
        assert second == first + 1
        assert jobs.beat(s, job, first, now, {"message": "still here"}, [{"kind": "step"}]) is None
        assert not jobs.finish(s, job, first, "done", now, {})
        assert jobs.beat(s, job, second, now, {"message": "mine"}, []) is False
    with database.read() as s:
        assert s.get(Job, job).message == "mine"
        assert jobs.list_events(s, [job], 10) == {job: []}


def test_a_job_s_events_are_read_in_their_order_and_of_many_steps_few_of_all_times(database, now):
    one, other = add(database, "retrain", now), add(database, "embed", now)
    with database.write() as s:
        jobs.add_event(s, other, {"said": "no kind of its own"}, now)
        jobs.add_event(s, one, {"kind": "start", "step": 0}, now)
        for step in range(1, 101):
            jobs.add_event(s, one, {"kind": "step", "step": step}, now)
            if step % 40 == 0:
                jobs.add_event(s, one, {"kind": "eval", "step": step}, now)
    with database.read() as s:
        found = jobs.list_events(s, [one, other], 10)
        everything = jobs.list_events(s, [one], 103)[one]
    assert len(everything) == 103
    assert [(e["kind"], e["step"]) for e in found[one] if e["kind"] != "step"] == [
        ("start", 0), ("eval", 40), ("eval", 80)]  # fmt: skip
    steps = [e["step"] for e in found[one] if e["kind"] == "step"]
    assert len(steps) <= 11 and steps[0] <= 11 and steps[-1] == 100
    assert max(b - a for a, b in pairwise(steps)) <= 11  # every 11th of 103 events
    assert [e["step"] for e in found[one]] == sorted(e["step"] for e in found[one])
    assert found[other] == [{"said": "no kind of its own"}]


def test_silent_are_those_whose_heart_stopped_or_whose_worker_died(database, now):
    _, stale, orphan = (add(database, "embed", now) for _ in range(3))
    with database.write() as s:
        for worker, heard in (("alive", now), ("alive", now - timedelta(minutes=1)), ("dead", now)):
            jobs.claim_next(s, {"embed": 0}, worker, heard)
    with database.write() as s:
        found = jobs.list_silent_jobs(s, heard_before=now - timedelta(seconds=30), dead_workers=["dead"])
        assert {j.id for j in found} == {stale, orphan}
