"""The same `as2 adapt` again, after it was killed and its worker with it."""

import socket

import pytest
from label_files import import_labels

from app.adapt.settings import RetrainSettings
from app.cli import adapt
from app.jobs import queue
from app.workbench import audit_log
from as2core.data import jsonl
from as2core.types import Candidate, Question
from db.repositories import jobs as rows


@pytest.fixture
def corpus_id(wb):
    """A corpus with 16 labelled questions that have nothing in common."""
    questions = [
        Question(f"q{i}", f"What did number{i} do in place{i}?", tuple(
            Candidate(f"q{i}-{label}", f"In place{i} it {verb} thing{i}.", label)
            for label, verb in enumerate(("lost", "found"))
        )) for i in range(16)
    ]  # fmt: skip
    return import_labels(wb, None, "numbers.jsonl", jsonl.dumps(questions).encode(), annotator="ann").corpus_id


def test_it_goes_on_with_its_own_retrain_and_has_one_whose_worker_is_gone_run_again(wb, corpus_id, capsys):
    first = adapt.start(wb, corpus_id, RetrainSettings(epochs=2))
    with wb.write() as s:
        rows.claim_next(s, queue.PRIORITIES, f"{socket.gethostname()}:999999999:1", wb.clock())
    assert queue.load_job(wb, first.id).state == "running"
    again = adapt.start(wb, corpus_id, RetrainSettings(epochs=2))
    assert (again.id, again.state) == (first.id, "queued")
    assert f"job {first.id} already does this retrain" in capsys.readouterr().err
    events = audit_log.list_events(wb, by=None, act="start a retrain")
    assert [(e.actor, e.target) for e in events] == [("command line", f"job {first.id}")]


def test_it_starts_no_other_retrain_of_the_corpus_meanwhile(wb, corpus_id):
    first = adapt.start(wb, corpus_id, RetrainSettings(epochs=2))
    with pytest.raises(queue.JobActive, match=f"job {first.id} "):
        adapt.start(wb, corpus_id, RetrainSettings(epochs=3))
