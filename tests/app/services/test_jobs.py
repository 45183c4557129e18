import logging
import threading
import time

import pytest
from sqlalchemy import text

from app import jobs, running
from app.jobs import UnknownJob
from app.running import run_queued
from app.services import adapting, asking, corpora, labelling
from as2core.errors import As2Error, BadSetting
from db.repositories import jobs as rows


@pytest.fixture
def runners(monkeypatch):
    """runners["kind"] = function(job) makes it what a job of that kind does."""
    made, shipped = {}, running.runner_of
    monkeypatch.setattr(running, "runner_of", lambda kind: made.get(kind) or shipped(kind))
    monkeypatch.setattr(running, "BEAT", 0.05)
    return made


def in_background(wb, **more):
    thread = threading.Thread(target=run_queued, args=(wb,), kwargs=more)
    thread.start()
    return thread


def until(condition, seconds=20.0):
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up, "it never happened"
        time.sleep(0.02)


def test_a_job_tells_where_it_is_and_ends_with_its_result(wb, runners):
    went_on = threading.Event()

    def work(job):
        job.progress(0.5, "half way")
        job.event({"kind": "eval", "dev_ap": {"6": 0.7}})
        went_on.wait(20)
        return {"answer": 42}

    runners["compare"] = work
    made = jobs.enqueue(wb, "compare", {"x": 1})
    assert (made.state, made.attempt, made.active) == ("queued", 0, True)
    thread = in_background(wb)
    until(lambda: jobs.get(wb, made.id).progress == 0.5)
    now = jobs.get(wb, made.id)
    assert (now.state, now.message, now.attempt) == ("running", "half way", 1)
    assert now.events == ({"kind": "eval", "dev_ap": {"6": 0.7}},)
    went_on.set()
    thread.join()
    done = jobs.get(wb, made.id)
    assert (done.state, done.progress, done.result, done.settings) == ("done", 1.0, {"answer": 42}, {"x": 1})
    assert done.finished is not None


def test_of_many_steps_between_two_heartbeats_the_last_is_kept(wb, runners):
    def work(job):
        for i in range(100):
            job.event({"kind": "step", "step": i})
        job.event({"kind": "eval", "step": 99})

    runners["compare"] = work
    made = jobs.enqueue(wb, "compare", {})
    run_queued(wb)
    events = jobs.get(wb, made.id).events
    assert [e["step"] for e in events][-2:] == [99, 99]
    assert len(events) < 50


def test_a_failure_is_one_line_and_a_log(wb, runners):
    def work(job):
        raise ValueError("first line\nsecond   line")

    runners["compare"] = work
    made = jobs.enqueue(wb, "compare", {})
    run_queued(wb)
    failed = jobs.get(wb, made.id)
    assert (failed.state, failed.error) == ("failed", "ValueError: first line second line")
    log = (wb.settings.jobs_dir / str(made.id) / "error.log").read_text()
    assert failed.log.endswith("error.log")
    assert "Traceback" in log


def test_a_failure_whose_log_cannot_be_written_is_a_failure_still(wb, runners):
    def work(job):
        raise ValueError("no room")

    runners["compare"] = work
    made = jobs.enqueue(wb, "compare", {})
    wb.settings.jobs_dir.mkdir(parents=True)
    (wb.settings.jobs_dir / str(made.id)).touch()  # where the job's folder would be
    run_queued(wb)
    failed = jobs.get(wb, made.id)
    assert (failed.state, failed.error, failed.log) == ("failed", "ValueError: no room", "")


def test_a_run_that_is_torn_away_beats_no_more(wb, runners):
    def work(job):
        raise KeyboardInterrupt

    runners["compare"] = work
    made = jobs.enqueue(wb, "compare", {})
    with pytest.raises(KeyboardInterrupt):
        run_queued(wb)
    until(lambda: f"job-{made.id}" not in {t.name for t in threading.enumerate()}, seconds=5)


def test_an_error_meant_for_people_is_told_as_it_is(wb, runners):
    def work(job):
        raise BadSetting("epochs 0: give at least 1")

    runners["compare"] = work
    made = jobs.enqueue(wb, "compare", {})
    run_queued(wb)
    assert jobs.get(wb, made.id).error == "epochs 0: give at least 1"


def test_a_running_job_is_cancelled_at_its_next_look(wb, runners):
    started = threading.Event()

    def work(job):
        started.set()
        while True:
            job.check()
            time.sleep(0.01)

    runners["compare"] = work
    made = jobs.enqueue(wb, "compare", {})
    thread = in_background(wb)
    started.wait(20)
    before = time.monotonic()
    jobs.cancel(wb, made.id)
    thread.join(5)
    assert time.monotonic() - before < 5
    over = jobs.get(wb, made.id)
    assert (over.state, over.cancelling) == ("cancelled", False)


def test_a_job_asked_to_cancel_as_it_makes_room_is_not_queued_again(wb, runners):
    def work(job):
        if job.attempt == 1:
            jobs.cancel(wb, job.id)
            raise running.SteppedBack

    runners["embed"] = work
    made = jobs.enqueue(wb, "embed", {})
    run_queued(wb)
    over = jobs.get(wb, made.id)
    assert (over.state, over.message, over.cancelling, over.attempt) == ("cancelled", "cancelled", False, 1)
    assert over.finished is not None


def test_a_job_that_will_not_listen_is_cancelled_over_its_head(wb, runners, monkeypatch):
    monkeypatch.setattr(running, "PATIENCE", 0.1)
    started, let_go = threading.Event(), threading.Event()

    def work(job):
        started.set()
        let_go.wait(20)
        return {"too": "late"}

    runners["compare"] = work
    made = jobs.enqueue(wb, "compare", {})
    thread = in_background(wb)
    started.wait(20)
    jobs.cancel(wb, made.id)
    until(lambda: jobs.get(wb, made.id).state == "cancelled")
    let_go.set()
    thread.join()
    over = jobs.get(wb, made.id)
    assert (over.state, over.result) == ("cancelled", {})


def test_a_paused_job_holds_between_steps_and_goes_on_where_it_was(wb, runners):
    steps = []

    def work(job):
        for n in range(400):
            if job.should_stop():
                return None
            steps.append(n)
            time.sleep(0.005)
        return {"steps": len(steps)}

    runners["embed"] = work
    made = jobs.enqueue(wb, "embed", {})
    worker = threading.Thread(target=run_queued, args=(wb,))
    worker.start()
    until(lambda: steps)
    assert jobs.pause(wb, made.id).paused
    time.sleep(0.4)  # a heartbeat brings the word
    held = len(steps)
    time.sleep(0.3)
    assert len(steps) == held < 400
    assert jobs.get(wb, made.id).state == "running"
    assert not jobs.resume(wb, made.id).paused
    worker.join()
    over = jobs.get(wb, made.id)
    assert (over.state, over.result) == ("done", {"steps": 400})
    assert [e["kind"] for e in over.events] == ["paused", "resumed"]


def test_a_run_s_clock_stands_still_while_it_is_paused(wb, runners):
    def work(job):
        before, began = job.seconds(), time.monotonic()
        jobs.pause(wb, job.id)
        until(lambda: job.paused)
        going_on = threading.Timer(0.5, jobs.resume, (wb, job.id))
        going_on.start()
        held = time.monotonic()
        assert not job.should_stop()
        held = time.monotonic() - held
        going_on.join()
        return {"held": held, "passed": time.monotonic() - began, "counted": job.seconds() - before}

    runners["embed"] = work
    made = jobs.enqueue(wb, "embed", {})
    run_queued(wb)
    told = jobs.get(wb, made.id).result
    assert told["held"] >= 0.5
    assert told["counted"] == pytest.approx(told["passed"] - told["held"], abs=0.05)


def test_a_paused_job_makes_room_for_another_and_goes_on_from_what_it_kept(wb, runners):
    order = []

    def work(job):
        order.append(f"retrain {job.attempt}")
        while job.attempt == 1:
            job.check()
            time.sleep(0.005)
        return {"attempt": job.attempt}

    runners["retrain"] = work
    runners["score"] = lambda job: order.append("score")
    made = jobs.enqueue(wb, "retrain", {})
    worker = in_background(wb)
    until(lambda: order)
    jobs.pause(wb, made.id)
    scoring = jobs.enqueue(wb, "score", {})
    worker.join(20)
    assert jobs.get(wb, scoring.id).state == "done"
    waits = jobs.get(wb, made.id)
    assert (waits.state, waits.paused, waits.finished) == ("queued", True, None)
    jobs.resume(wb, made.id)
    run_queued(wb)
    assert jobs.get(wb, made.id).result == {"attempt": 2}
    assert order == ["retrain 1", "score", "retrain 2"]
    with wb.read() as s:
        row = rows.job(s, made.id)
        assert row.attempts - row.attempt == 2  # making room costs no attempt


def test_no_worker_is_kept_for_a_paused_job_alone(wb, runners, monkeypatch):
    started = []
    monkeypatch.setattr(jobs, "start_worker_if_needed", lambda wb: started.append(1))
    made = jobs.enqueue(wb, "embed", {})
    jobs.pause(wb, made.id)
    started.clear()
    wb.marks.pop("attended", None)
    jobs.attend(wb)
    assert not started


def test_a_paused_job_can_be_cancelled(wb, runners):
    def work(job):
        while not job.should_stop():
            time.sleep(0.005)
        job.check()

    runners["embed"] = work
    made = jobs.enqueue(wb, "embed", {})
    worker = threading.Thread(target=run_queued, args=(wb,))
    worker.start()
    until(lambda: jobs.get(wb, made.id).state == "running")
    jobs.pause(wb, made.id)
    jobs.cancel(wb, made.id)
    worker.join(5)
    assert jobs.get(wb, made.id).state == "cancelled"


def test_a_queued_job_that_is_paused_is_not_taken_up(wb, runners):
    runners["embed"] = lambda job: {}
    made = jobs.enqueue(wb, "embed", {})
    jobs.pause(wb, made.id)
    assert run_queued(wb) == 0
    jobs.resume(wb, made.id)
    assert run_queued(wb) == 1


def test_a_queued_job_is_cancelled_at_once(wb, runners):
    made = jobs.enqueue(wb, "compare", {})
    assert jobs.cancel(wb, made.id).state == "cancelled"
    assert run_queued(wb) == 0


def test_a_finished_job_stays_as_it_is(wb, runners):
    runners["compare"] = lambda job: None
    made = jobs.enqueue(wb, "compare", {})
    run_queued(wb)
    assert jobs.cancel(wb, made.id).state == "done"
    with pytest.raises(As2Error, match="is done"):
        jobs.retry(wb, made.id)


def test_a_failed_job_run_again_goes_on_in_its_folder(wb, runners):
    def work(job):
        mark = job.folder / "checkpoint"
        if not mark.exists():
            mark.touch()
            raise RuntimeError("out of luck")
        return {"resumed": True}

    runners["compare"] = work
    made = jobs.enqueue(wb, "compare", {})
    run_queued(wb)
    assert jobs.get(wb, made.id).state == "failed"
    assert adapting.retry(wb, made.id).state == "queued"
    run_queued(wb)
    again = jobs.get(wb, made.id)
    assert (again.state, again.result, again.attempt, again.error) == ("done", {"resumed": True}, 2, "")


def die_in(wb, job_id, worker="another-machine:1:1"):
    """Leave a job as a worker leaves it that was killed in the middle."""
    with wb.write() as s:
        return rows.claim(s, job_id, worker, wb.clock())


def test_a_job_whose_heart_stopped_is_queued_again_and_says_so(wb, runners, clock):
    runners["compare"] = lambda job: {"attempt": job.attempt}
    made = jobs.enqueue(wb, "compare", {})
    die_in(wb, made.id)
    jobs.reap(wb)
    assert jobs.get(wb, made.id).state == "running"
    clock.pass_(seconds=31)
    jobs.reap(wb)
    lost = jobs.get(wb, made.id)
    assert lost.state == "queued"
    assert lost.events == ({"kind": "lost", "attempt": 1},)
    run_queued(wb)
    assert jobs.get(wb, made.id).result == {"attempt": 2}


def test_after_three_lost_attempts_a_job_is_lost_and_can_still_be_run_again(wb, runners, clock):
    runners["compare"] = lambda job: {"attempt": job.attempt}
    made = jobs.enqueue(wb, "compare", {})
    for _ in range(3):
        assert die_in(wb, made.id) is not None
        clock.pass_(seconds=31)
        jobs.reap(wb)
    lost = jobs.get(wb, made.id)
    assert (lost.state, lost.attempt) == ("lost", 3)
    assert "run it again" in lost.error
    jobs.retry(wb, made.id)
    run_queued(wb)
    assert jobs.get(wb, made.id).result == {"attempt": 4}


def test_a_dead_worker_of_this_machine_is_noticed_without_waiting(wb, runners):
    host, _, born = jobs.worker_name().split(":")
    made = jobs.enqueue(wb, "compare", {})
    die_in(wb, made.id, worker=f"{host}:999999999:{born}")
    jobs.reap(wb)
    assert jobs.get(wb, made.id).state == "queued"


def test_a_living_worker_is_left_alone(wb, runners):
    made = jobs.enqueue(wb, "compare", {})
    die_in(wb, made.id, worker=jobs.worker_name())
    jobs.reap(wb)
    assert jobs.get(wb, made.id).state == "running"


def test_a_cancelled_job_whose_worker_died_is_cancelled(wb, runners, clock):
    made = jobs.enqueue(wb, "compare", {})
    die_in(wb, made.id)
    jobs.cancel(wb, made.id)
    clock.pass_(minutes=1)
    jobs.reap(wb)
    assert jobs.get(wb, made.id).state == "cancelled"


def test_vectors_step_back_for_a_more_urgent_job_and_go_on_after_it(wb, towers, models, runners):
    order = []
    runners["compare"] = lambda job: order.append(("compare", wb.index(towers.id).vectors()))
    [embed] = jobs.listed(wb, "embed")

    def ask_in_between():
        if not order:
            order.append(("embed", 0))
            jobs.enqueue(wb, "compare", {})

    models.vectors.before = ask_in_between
    corpora.ingest(wb, towers.id, [(f"note{i}.txt", f"Note number {i} says {i}.".encode()) for i in range(130)])
    run_queued(wb)
    total = corpora.get_corpus(wb, towers.id).vectors_total
    assert order == [("embed", 0), ("compare", 64)]
    done = jobs.get(wb, embed.id)
    assert (done.state, done.attempt) == ("done", 2)
    assert wb.index(towers.id).vectors() == total > 130
    assert models.vectors.texts == total


def test_a_worker_told_to_stop_queues_its_job_again_without_blame(wb, runners):
    started, stopping = threading.Event(), threading.Event()

    def work(job):
        started.set()
        while True:
            job.check()
            time.sleep(0.01)

    runners["compare"] = work
    made = jobs.enqueue(wb, "compare", {})
    thread = in_background(wb, stopping=stopping.is_set)
    started.wait(20)
    stopping.set()
    thread.join(5)
    waiting = jobs.get(wb, made.id)
    assert waiting.state == "queued"
    with wb.read() as s:
        row = rows.job(s, made.id)
        assert row.attempts - row.attempt == 3


def test_the_most_urgent_job_runs_first(wb, runners):
    order = []
    for kind in ("embed", "score", "compare", "retrain"):
        runners[kind] = lambda job: order.append(job.kind)
        jobs.enqueue(wb, kind, {})
    assert run_queued(wb) == 4
    assert order == ["retrain", "compare", "score", "embed"]


def test_a_heartbeat_that_cannot_be_written_loses_nothing_said(wb, runners, monkeypatch, caplog):
    refusals = [0]
    beat = rows.beat

    def sometimes(*args):
        if refusals[0] < 2:
            refusals[0] += 1
            raise As2Error("the database is busy")
        return beat(*args)

    def work(job):
        job.event({"kind": "eval", "n": 1})
        time.sleep(0.3)
        job.event({"kind": "eval", "n": 2})

    runners["compare"] = work
    monkeypatch.setattr(running.rows, "beat", sometimes)
    made = jobs.enqueue(wb, "compare", {})
    with caplog.at_level(logging.WARNING):
        run_queued(wb)
    assert [e["n"] for e in jobs.get(wb, made.id).events] == [1, 2]
    assert "no heartbeat" in caplog.text


def test_labels_given_while_a_job_writes_are_counted_exactly_once(wb, towers, models, ann, bob):
    files = [(f"note{i}.txt", f"Note number {i} says {i}.".encode()) for i in range(200)]
    corpora.ingest(wb, towers.id, files)
    asked = asking.ask(wb, towers.id, "note number tower bridge")
    models.vectors.before = lambda: time.sleep(0.05)
    worker = in_background(wb)

    def label(who):
        for c in asked.candidates:
            for _ in range(2):  # a double click
                labelling.give_label(
                    wb, question_id=asked.question_id, sentence_id=c.sentence_id, annotator_id=who.id, label="unsure"
                )

    threads = [threading.Thread(target=label, args=(who,)) for who in (ann, bob, ann, bob)]
    for t in threads:
        t.start()
    for t in [*threads, worker]:
        t.join()
    with wb.read() as s:
        assert s.scalar(text("SELECT count(*) FROM label_event")) == 2 * len(asked.candidates)
    assert [j.state for j in jobs.listed(wb, "embed")] == ["done"]


def test_jobs_are_listed_newest_first_and_by_kind(wb, runners):
    ids = [jobs.enqueue(wb, kind, {}).id for kind in ("compare", "score", "compare")]
    assert [j.id for j in adapting.jobs(wb)] == ids[::-1]
    assert [j.id for j in adapting.jobs(wb, kind="compare")] == [ids[2], ids[0]]
    assert len(adapting.jobs(wb, limit=1)) == 1
    with pytest.raises(UnknownJob):
        adapting.job(wb, 99)


def test_a_corpus_s_recent_jobs_are_the_newest_of_its_own_without_their_events(wb, towers):
    ids = [jobs.enqueue(wb, k, {}, corpus_id=of).id for k, of in (("score", towers.id), ("compare", None),
                                                                   ("retrain", towers.id))]  # fmt: skip
    with wb.write() as s:
        rows.say(s, ids[2], {"kind": "eval"}, wb.clock())
    assert [(j.id, j.events) for j in adapting.recent_jobs(wb, towers.id, 2)] == [(ids[2], ()), (ids[0], ())]


def test_jobs_that_wait_or_run_are_known_without_their_events(wb, towers):
    ids = [jobs.enqueue(wb, "score", {}, corpus_id=of).id for of in (towers.id, None, towers.id)]
    with wb.write() as s:
        rows.say(s, ids[0], {"kind": "eval"}, wb.clock())
    assert adapting.job(wb, ids[0]).events
    adapting.cancel(wb, ids[2])
    assert [(j.id, j.events) for j in adapting.active_jobs(wb, "score")] == [(ids[0], ()), (ids[1], ())]
    assert len(adapting.active_jobs(wb)) == 3  # with the one for the vectors
    assert [j.id for j in adapting.active_jobs(wb, "score", towers.id)] == ids[:1]
    assert adapting.active_jobs(wb, "retrain") == []
    assert adapting.newest_job(wb, "score", towers.id).id == ids[2]
    assert adapting.newest_job(wb, "retrain", towers.id) is None
