"""Real processes, really killed: what was confirmed is there, and what was begun is told and finished."""

import os
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import polling
import pytest
from sqlalchemy import text

from app import bootstrap, worker
from app.ask import asking
from app.corpora import corpora, ingestion
from app.jobs import queue, supervisor
from app.jobs.process import hold_worker_lock, is_running
from app.labels import annotation

REPO = Path(__file__).parents[3]
until = partial(polling.until, seconds=120, pause=0.05)
LABELLER = """
import itertools, sys
sys.path.insert(0, {here!r})
from fake_models import FakeModels
from app import bootstrap
from app.labels import annotation
wb = bootstrap.open(models=FakeModels())
question, *sentences = map(int, sys.argv[1:])
for label, sentence in itertools.cycle(itertools.product(("correct", "incorrect"), sentences)):
    done = annotation.give_label(wb, question_id=question, sentence_id=sentence, annotator_id=1, label=label)
    print(done.event_id, flush=True)
"""


@pytest.fixture
def environment(settings):
    told = {f"AS2_{k.upper()}": str(v) for k, v in settings.model_dump().items() if v is not None}
    return {**os.environ, **told, "PYTHONPATH": str(REPO)}


@pytest.fixture
def start(environment, tmp_path):
    """start(arguments) runs python in a process that the test may kill, and that is gone after it."""
    running = []

    def run(*arguments, **more):
        process = subprocess.Popen([sys.executable, *arguments], cwd=REPO, env=environment, **more)
        running.append(process)
        return process

    yield run
    for process in running:
        process.kill()
        process.wait()


def test_every_label_confirmed_before_a_kill_is_there(wb, towers, ann, start):
    asked = asking.ask(wb, towers.id, "When was the Eiffel Tower finished?")
    sentences = [str(c.sentence_id) for c in asked.candidates]
    code = LABELLER.format(here=str(Path(__file__).parents[2]))
    process = start("-c", code, str(asked.question_id), *sentences, stdout=subprocess.PIPE, text=True)
    confirmed = [int(process.stdout.readline()) for _ in range(25)]
    process.send_signal(signal.SIGKILL)
    confirmed += [int(line) for line in process.stdout.read().splitlines() if line.strip()]
    process.wait()
    with wb.read() as s:
        stored = set(s.scalars(text("SELECT id FROM label_event")))
    assert set(confirmed) <= stored
    assert len(stored) <= len(confirmed) + 1  # at most the one in flight
    assert annotation.undo_last(wb, ann.id, towers.id) is not None


@pytest.mark.slow
def test_a_killed_workers_job_is_lost_queued_again_and_done_by_the_next(wb, towers, start):
    notes = [(f"note{i}.txt", f"Note number {i}: the bridge carries {i} trains a day.".encode()) for i in range(300)]
    ingestion.ingest(wb, towers.id, notes)
    [job] = queue.list_jobs(wb, "embed")
    total = corpora.get_corpus(wb, towers.id).vectors_total
    first = start("-m", "app.worker")
    until(lambda: 0 < corpora.get_corpus(wb, towers.id).vectors_done < total)
    first.send_signal(signal.SIGKILL)
    first.wait()
    at_kill = corpora.get_corpus(wb, towers.id).vectors_done
    with wb.read() as s:
        assert s.scalar(text("SELECT state FROM job")) == "running"
    supervisor.attend(wb)
    lost = queue.load_job(wb, job.id)
    assert (lost.state, lost.events[-1]) == ("queued", {"kind": "lost", "attempt": 1, "goes_on": True})

    second = start("-m", "app.worker")
    until(lambda: queue.load_job(wb, job.id).state == "done")
    done = queue.load_job(wb, job.id)
    assert done.attempt == 2
    assert done.result == {"passages": total - at_kill}
    assert corpora.get_corpus(wb, towers.id).vectors_done == total
    second.terminate()
    assert second.wait(120) == 0


def test_only_one_worker_holds_a_home_and_a_dead_one_lets_go(wb, settings, start):
    assert not is_running(settings)
    first = start("-m", "app.worker")
    until(lambda: is_running(settings))
    second = start("-m", "app.worker", stderr=subprocess.PIPE, text=True)
    assert second.wait(60) == 0
    assert "already running" in second.stderr.read()
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert not is_running(settings)


def test_a_look_whether_a_worker_runs_keeps_none_from_starting(settings):
    held, let_go = threading.Event(), threading.Event()

    def look():  # as `is_running` does, only longer
        with hold_worker_lock(settings):
            held.set()
            let_go.wait(60)

    looking = threading.Thread(target=look)
    looking.start()
    assert held.wait(60)
    assert is_running(settings)  # who does not wait is kept out
    threading.Timer(0.3, let_go.set).start()
    with hold_worker_lock(settings, wait_seconds=60):
        assert let_go.is_set()
        assert is_running(settings)
    looking.join()
    assert not is_running(settings)


@pytest.mark.slow
def test_a_worker_without_work_ends_by_itself(start):
    process = start("-m", "app.worker", "--idle", "1")
    assert process.wait(60) == 0


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this system does not group by session")
def test_a_worker_of_the_app_leaves_the_processor_to_the_pages(start):
    process = start("-m", "app.worker", "--idle", "30", start_new_session=True)
    group = Path(f"/proc/{process.pid}/autogroup")
    until(lambda: group.read_text().strip().endswith(f"nice {worker.NICENESS}"), "its niceness", seconds=60)
    assert os.getpriority(os.PRIO_PROCESS, process.pid) >= worker.NICENESS


def test_the_app_starts_a_worker_when_there_is_work_and_only_then(wb, settings, models, clock):
    own = bootstrap.open(settings.model_copy(update={"worker": "auto"}), models, clock)
    assert queue.list_jobs(own) == []
    assert not is_running(settings)
    queue.enqueue(own, "embed", {})
    until(lambda: queue.load_job(own, 1).state == "done")
    with own.read() as s:
        name = s.scalar(text("SELECT worker FROM job"))
    os.kill(int(name.split(":")[1]), signal.SIGTERM)
    until(lambda: not is_running(settings))
    own.close()
