"""One run of a job: its progress, its failure, its end."""

import logging
import threading
import time

import pytest
from job_runs import in_background, make_endless_run
from polling import until
from safetensors import SafetensorError
from sqlalchemy import text
from tower_texts import QUESTIONS

from app.ask import asking
from app.corpora import corpora, ingestion
from app.jobs import attempt, queue
from app.jobs.attempt import run_next, run_queued
from app.labels import annotation
from app.ranking import score_job
from app.workbench.workbench import DatabaseContention
from as2core.errors import As2Error, BadSetting
from db.models import Job
from db.repositories import jobs as rows
from db.repositories import questions


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

    runners["compare"] = make_endless_run(started)
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
