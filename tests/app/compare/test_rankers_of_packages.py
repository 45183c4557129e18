"""A ranker that an installed package or another machine offers: its model changes without a word to us."""

import json

import numpy as np
import pytest
from fake_reranker import answer, listening, reply_with
from label_files import import_labels

from app.compare import comparison, comparison_job, timing
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.worker import RUNNERS
from as2core.data import jsonl
from as2core.lookup import cite
from as2core.rankers import catalog
from as2core.rankers.specs import Entry
from as2core.types import Candidate, Question
from as2core.version import __version__

QUESTIONS = [
    Question(f"q{i}", f"what is {i} ?", tuple(Candidate(f"{i}-{j}", f"{i} {j} .", int(j == 3)) for j in range(4)))
    for i in range(6)
]


class Towards:
    """Ranks the candidate in this place first."""

    name = "towards"
    place = 3

    def score(self, question, candidates):
        if self.place is None:
            raise RuntimeError("no model at /models/a")
        return np.eye(4)[self.place]


@pytest.fixture(autouse=True)
def no_timing(monkeypatch):
    monkeypatch.setattr(comparison_job, "time_in_turns", lambda *a, **more: {})


@pytest.fixture
def ranker(monkeypatch):
    ranker = Towards()
    monkeypatch.setitem(catalog.CATALOG, "towards", Entry("towards", "one place first", "", lambda: ranker))
    monkeypatch.setattr(catalog, "INSTALLED", {"towards": "theirs 2.1"})
    return ranker


@pytest.fixture
def data(wb):
    import_labels(wb, None, "things.jsonl", jsonl.dumps(QUESTIONS).encode())
    return "labels:things"


def compare(wb, data, *specs):
    job = comparison_job.start_compare(wb, ["rr", *specs], data)
    run_queued(wb, RUNNERS)
    done = queue.load_job(wb, job.id)
    assert done.state == "done", done.error
    return job.id, comparison.load_comparison(wb, job.id)


def read_p1(view):
    """Ranker -> P@1 in the table, and by the values of the questions."""
    by_question = view.per_question.groupby("ranker")["P@1"].mean()
    return {r.ranker: (r.figures["P@1"].value, by_question[r.ranker]) for r in view.results}


@pytest.mark.parametrize("spec", ["towards", "fusion:rankers=towards+towards"])
def test_a_ranker_of_a_package_is_evaluated_each_time_and_an_older_result_stays(wb, data, ranker, spec):
    first, view = compare(wb, data, spec)
    assert read_p1(view) == {"rr": (0.0, 0.0), spec: (1.0, 1.0)}
    ranker.place = 1
    assert read_p1(compare(wb, data, spec)[1])[spec] == (0.0, 0.0)
    assert read_p1(comparison.load_comparison(wb, first))[spec] == (1.0, 1.0)


def test_the_release_of_a_ranker_is_that_of_its_package(ranker):
    assert [cite(spec)["version"] for spec in ("towards", "bm25")] == ["theirs 2.1", f"as2core {__version__}"]


def test_an_older_result_of_a_reranker_behind_an_address_stays(wb, data):
    best = 3

    def respond(handler, body):
        n = len(json.loads(body)["documents"])
        reply_with(handler, 200, answer(*((i, float(i == best)) for i in range(n))))

    with listening(respond) as url:
        first, _ = compare(wb, data, f"http:url={url}")
        best = 1
        assert read_p1(compare(wb, data, f"http:url={url}")[1])[f"http:url={url}"] == (0.0, 0.0)
    assert read_p1(comparison.load_comparison(wb, first))[f"http:url={url}"] == (1.0, 1.0)


def test_a_ranker_of_a_package_that_fails_is_left_out_and_named(wb, data, ranker):
    ranker.place = None
    _, view = compare(wb, data, "towards", "bm25")
    assert [r.ranker for r in view.results] == ["rr", "bm25"]
    assert "towards was left out: RuntimeError: no model at /models/a" in view.notes


def test_a_ranker_of_a_package_that_fails_only_while_it_is_timed_is_left_out_too(wb, data, ranker, monkeypatch):
    def break_and_time(*arguments, **more):
        ranker.place = None
        return timing.time_in_turns(*arguments, **more)

    monkeypatch.setattr(comparison_job, "time_in_turns", break_and_time)
    _, view = compare(wb, data, "towards", "bm25")
    assert [r.ranker for r in view.results] == ["rr", "bm25"]
    assert "towards was left out: RuntimeError: no model at /models/a" in view.notes
