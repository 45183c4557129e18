import logging
import platform
import threading
import time
from types import SimpleNamespace

import psutil
import pytest
from safetensors import SafetensorError
from sqlalchemy import text
from tower_texts import QUESTIONS

from app import bootstrap, worker
from app.ask import asking
from app.corpora import corpora, ingestion
from app.jobs import attempt, process, queue, retrain_rule, supervisor
from app.jobs.attempt import run_next, run_queued
from app.jobs.kinds import JobKind
from app.jobs.queue import UnknownJob
from app.labels import annotation
from app.ranking import score_job
from app.workbench.workbench import OUTAGE_TEXT, DatabaseContention, DatabaseOutage
from app.worker import RUNNERS
from as2core.errors import As2Error, BadSetting
from db.models import Job
from db.repositories import jobs as rows
from db.repositories import questions


@pytest.fixture
def runners(monkeypatch):
    """runners["kind"] = function(job) makes it what a job of that kind does."""
    monkeypatch.setattr(attempt, "HEARTBEAT_SECONDS", 0.05)
    return dict(RUNNERS)


def in_background(wb, runners, run=run_queued, **more):
    thread = threading.Thread(target=run, args=(wb, runners), kwargs=more)
    thread.start()
    return thread


def until(condition, seconds=60.0):
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
    made = queue.enqueue(wb, "compare", {"x": 1})
    assert (made.state, made.attempt, made.is_active) == ("queued", 0, True)
    thread = in_background(wb, runners)
    until(lambda: queue.load_job(wb, made.id).progress == 0.5)
    now = queue.load_job(wb, made.id)
    assert (now.state, now.message, now.attempt) == ("running", "half way", 1)
    assert now.events == ({"kind": "eval", "dev_ap": {"6": 0.7}},)
    went_on.set()
    thread.join()
    done = queue.load_job(wb, made.id)
    assert (done.state, done.progress, done.result, done.settings) == ("done", 1.0, {"answer": 42}, {"x": 1})
    assert done.finished is not None


def test_of_many_steps_between_two_heartbeats_the_last_is_kept(wb, runners):
    def work(job):
        for i in range(100):
            job.event({"kind": "step", "step": i})
        job.event({"kind": "eval", "step": 99})

    runners["compare"] = work
    made = queue.enqueue(wb, "compare", {})
    run_queued(wb, runners)
    events = queue.load_job(wb, made.id).events
    assert [e["step"] for e in events][-2:] == [99, 99]
    assert len(events) < 50


def test_a_failure_is_one_line_and_a_log(wb, runners):
    def work(job):
        raise ValueError("first line\nsecond   line")

    runners["compare"] = work
    made = queue.enqueue(wb, "compare", {})
    run_queued(wb, runners)
    failed = queue.load_job(wb, made.id)
    assert (failed.state, failed.error) == ("failed", "ValueError: first line second line")
    log = (wb.settings.jobs_dir / str(made.id) / "error.log").read_text()
    assert failed.log.endswith("error.log")
    assert "Traceback" in log


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 93263488 vs 93263380"),
        SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)"),
    ],
)
def test_a_job_that_finds_the_disk_full_says_so_with_the_remedy(wb, runners, error):
    def work(job):
        raise error

    runners["compare"] = work
    made = queue.enqueue(wb, "compare", {})
    run_queued(wb, runners)
    assert queue.load_job(wb, made.id).error == "the disk is full: free some space and try again"


def test_a_failure_whose_log_cannot_be_written_is_a_failure_still(wb, runners):
    def work(job):
        raise ValueError("no room")

    runners["compare"] = work
    made = queue.enqueue(wb, "compare", {})
    wb.settings.jobs_dir.mkdir(parents=True)
    (wb.settings.jobs_dir / str(made.id)).touch()  # where the job's folder would be
    run_queued(wb, runners)
    failed = queue.load_job(wb, made.id)
    assert (failed.state, failed.error, failed.log) == ("failed", "ValueError: no room", "")


def test_a_run_that_is_torn_away_beats_no_more(wb, runners):
    def work(job):
        raise KeyboardInterrupt

    runners["compare"] = work
    made = queue.enqueue(wb, "compare", {})
    with pytest.raises(KeyboardInterrupt):
        run_queued(wb, runners)
    until(lambda: f"job-{made.id}" not in {t.name for t in threading.enumerate()}, seconds=30)


def test_an_error_meant_for_people_is_told_as_it_is(wb, runners):
    def work(job):
        raise BadSetting("epochs 0: give at least 1")

    runners["compare"] = work
    made = queue.enqueue(wb, "compare", {})
    run_queued(wb, runners)
    assert queue.load_job(wb, made.id).error == "epochs 0: give at least 1"


def test_a_running_job_is_cancelled_at_its_next_look(wb, runners):
    started = threading.Event()

    def work(job):
        started.set()
        while True:
            job.check()
            time.sleep(0.01)

    runners["compare"] = work
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


def test_a_queued_job_is_cancelled_at_once(wb, runners):
    made = queue.enqueue(wb, "compare", {})
    assert queue.cancel(wb, made.id).state == "cancelled"
    assert run_queued(wb, runners) == 0


def test_a_finished_job_stays_as_it_is(wb, runners):
    runners["compare"] = lambda job: None
    made = queue.enqueue(wb, "compare", {})
    run_queued(wb, runners)
    assert queue.cancel(wb, made.id).state == "done"
    with pytest.raises(As2Error, match="is done"):
        queue.retry(wb, made.id)


def test_a_failed_job_run_again_goes_on_in_its_folder(wb, runners):
    def work(job):
        mark = job.folder / "checkpoint"
        if not mark.exists():
            mark.touch()
            raise RuntimeError("out of luck")
        return {"resumed": True}

    runners["compare"] = work
    made = queue.enqueue(wb, "compare", {})
    run_queued(wb, runners)
    assert queue.load_job(wb, made.id).state == "failed"
    assert queue.retry(wb, made.id).state == "queued"
    run_queued(wb, runners)
    again = queue.load_job(wb, made.id)
    assert (again.state, again.result, again.attempt, again.error) == ("done", {"resumed": True}, 2, "")


def die_in(wb, job_id, worker="another-machine:1:1"):
    """Leave a job as a worker leaves it that was killed in the middle."""
    with wb.write() as s:
        claimed = rows.claim_next(s, queue.PRIORITIES, worker, wb.clock())
        assert claimed.id == job_id


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


@pytest.mark.parametrize(("times", "state"), [(rows.MAX_ATTEMPTS - 1, "done"), (rows.MAX_ATTEMPTS, "failed")])
def test_a_job_that_finds_the_database_busy_is_tried_again(wb, runners, times, state):
    tries = []

    def work(job):
        tries.append(job.attempt)
        if len(tries) <= times:
            raise DatabaseContention("another transaction has held a lock for too long")

    runners["compare"] = work
    made = queue.enqueue(wb, "compare", {})
    run_queued(wb, runners)
    ended = queue.load_job(wb, made.id)
    assert (ended.state, len(tries)) == (state, rows.MAX_ATTEMPTS)
    assert ("held a lock" in ended.error) == (state == "failed")


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


def test_vectors_step_back_for_a_more_urgent_job_of_their_slot_and_go_on_after_it(wb, towers, models, runners):
    order = []
    runners["propose"] = lambda job: order.append(("propose", wb.index(towers.id).count_vectors()))
    [embed] = queue.list_jobs(wb, "embed")

    def ask_in_between():
        if not order:
            order.append(("embed", 0))
            queue.enqueue(wb, "propose", {})

    models.vectors.before = ask_in_between
    ingestion.ingest(wb, towers.id, [(f"note{i}.txt", f"Note number {i} says {i}.".encode()) for i in range(130)])
    run_queued(wb, runners)
    total = corpora.get_corpus(wb, towers.id).vectors_total
    assert order == [("embed", 0), ("propose", 64)]
    done = queue.load_job(wb, embed.id)
    assert (done.state, done.attempt) == ("done", 2)
    assert wb.index(towers.id).count_vectors() == total > 130
    assert models.vectors.texts == total


def test_a_job_that_ranks_makes_room_for_the_vectors_of_new_documents_and_goes_on_after_them(
    wb, towers, runners, monkeypatch
):
    run_queued(wb, runners)
    with wb.write() as s:
        for i, text in enumerate(QUESTIONS[:2]):
            questions.add_question(s, towers.id, text, external_id=f"q{i}", origin="imported", now=wb.clock())
    order, report = [], attempt.JobRun.progress

    def add_documents(job, share, message):
        report(job, share, message)
        order.append(message)
        if message.startswith("0 of 2"):
            notes = [(f"note{i}.txt", f"Note number {i} says {i}.".encode()) for i in range(70)]
            ingestion.ingest(wb, towers.id, notes)

    monkeypatch.setattr(attempt.JobRun, "progress", add_documents)
    score = score_job.start_scoring(wb, towers.id)
    run_queued(wb, runners)
    total = corpora.get_corpus(wb, towers.id).vectors_total
    assert [message for message in order if message != "loading the ranker"] == [
        "0 of 2 questions ranked",
        "68 of 74 passages have vectors, about 5 s left",
        f"{total} of {total} passages have vectors",
        "0 of 1 questions ranked",
    ]
    assert wb.index(towers.id).count_vectors() == total == 74
    done = queue.load_job(wb, score.id)
    assert (done.state, done.attempt, done.result) == ("done", 2, {"questions": 1})


def test_a_worker_told_to_stop_queues_its_job_again_without_blame(wb, runners):
    started, stopping = threading.Event(), threading.Event()

    def work(job):
        started.set()
        while True:
            job.check()
            time.sleep(0.01)

    runners["compare"] = work
    made = queue.enqueue(wb, "compare", {})
    thread = in_background(wb, runners, run_next, stopping=stopping.is_set)
    assert started.wait(20)
    stopping.set()
    thread.join(20)
    waiting = queue.load_job(wb, made.id)
    assert waiting.state == "queued"
    with wb.read() as s:
        row = s.get(Job, made.id)
        assert row.attempts - row.attempt == 3


def test_the_most_urgent_job_runs_first(wb, runners):
    order = []
    for kind in ("embed", "score", "compare", "retrain"):
        runners[kind] = lambda job: order.append(job.kind)
        queue.enqueue(wb, kind, {})
    assert run_queued(wb, runners) == 4
    assert order == ["retrain", "compare", "embed", "score"]


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
        until(lambda: refusals[0] == 2)
        job.event({"kind": "eval", "n": 2})

    runners["compare"] = work
    monkeypatch.setattr(attempt.rows, "beat", sometimes)
    made = queue.enqueue(wb, "compare", {})
    with caplog.at_level(logging.WARNING):
        run_queued(wb, runners)
    assert [e["n"] for e in queue.load_job(wb, made.id).events] == [1, 2]
    assert "no heartbeat" in caplog.text


def test_labels_given_while_a_job_writes_are_counted_exactly_once(wb, towers, models, ann, bob, runners):
    files = [(f"note{i}.txt", f"Note number {i} says {i}.".encode()) for i in range(200)]
    ingestion.ingest(wb, towers.id, files)
    asked = asking.ask(wb, towers.id, "note number tower bridge")
    models.vectors.before = lambda: time.sleep(0.05)
    background = in_background(wb, runners)

    def label(who):
        for c in asked.candidates:
            for _ in range(2):  # a double click
                annotation.give_label(
                    wb, question_id=asked.question_id, sentence_id=c.sentence_id, annotator_id=who.id, label="unsure"
                )

    threads = [threading.Thread(target=label, args=(who,)) for who in (ann, bob, ann, bob)]
    for t in threads:
        t.start()
    for t in [*threads, background]:
        t.join()
    with wb.read() as s:
        assert s.scalar(text("SELECT count(*) FROM label_event")) == 2 * len(asked.candidates)
    assert [j.state for j in queue.list_jobs(wb, "embed")] == ["done"]


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


@pytest.fixture
def working(wb, monkeypatch):
    """working(runners) starts a worker in this process; it is stopped after the test."""
    monkeypatch.setattr(worker, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(worker, "CHECK_SECONDS", 0.05)
    started = []

    def start(runners, idle=None):
        own = worker.Worker(wb, idle, runners)
        thread = threading.Thread(target=own.work)
        thread.start()
        started.append((own, thread))
        return own, thread

    yield start
    for own, thread in started:
        own.stop.set()
        thread.join(20)
        assert not thread.is_alive()


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


def test_reading_jobs_starts_no_worker_and_changes_no_job(wb, runners, clock, monkeypatch):
    lost, waiting = (queue.enqueue(wb, kind, {}) for kind in ("compare", "embed"))
    die_in(wb, lost.id)
    clock.advance(minutes=1)
    monkeypatch.setattr(queue, "start_worker_if_needed", lambda wb: pytest.fail("a worker was started"))
    assert queue.load_job(wb, lost.id).state == "running"
    assert [j.state for j in queue.list_jobs(wb)] == ["queued", "running"]
    assert [j.id for j in queue.list_active(wb)] == [lost.id, waiting.id]


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
