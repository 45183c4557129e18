"""The job of a comparison: outages, what is scored once, seconds, progress."""

from types import SimpleNamespace

import pytest
from comparison_runs import run_comparison
from sqlalchemy import delete
from thing_questions import QUESTIONS

from app.compare import comparison, comparison_job
from app.compare.timing import time_in_turns
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.versions import evaluations
from app.workbench.workbench import OUTAGE_TEXT, DatabaseOutage
from app.worker import RUNNERS
from as2core.errors import As2Error
from as2core.types import Progress
from db.models import Evaluation


def test_an_outage_of_the_database_leaves_no_ranker_out(wb, data, monkeypatch):
    hash_ranker, outages = comparison_job.hash_ranker, [OUTAGE_TEXT]

    def fail_once(wb, name):
        if name == "bm25" and outages:
            raise DatabaseOutage(outages.pop())
        return hash_ranker(wb, name)

    monkeypatch.setattr(comparison_job, "hash_ranker", fail_once)
    view = run_comparison(wb, ["rr", "bm25"], data)
    assert [r.ranker for r in view.results] == ["rr", "bm25"] and not outages
    assert not any("left out" in note for note in view.notes)


def test_the_same_ranker_on_the_same_data_is_not_scored_twice(wb, data, models, monkeypatch):
    scored = []
    evaluate = evaluations.evaluate
    monkeypatch.setattr(evaluations, "evaluate", lambda r, *a, **k: scored.append(r.name) or evaluate(r, *a, **k))
    first = run_comparison(wb, ["rr", "bm25"], data)
    second = run_comparison(wb, ["rr", "jaccard"], data)
    assert scored == ["rr", "bm25", "jaccard"]
    assert second.results[0].figures == first.results[0].figures


def test_seconds_are_measured_in_turns_in_every_comparison_whatever_is_stored(wb, data, monkeypatch):
    seconds = iter([{"rr": 0.001, "bm25": 0.002}, {"rr": 0.003, "wo": 0.004}])
    monkeypatch.setattr(comparison_job, "time_in_turns", lambda rankers, questions, check, on_error: next(seconds))
    assert [r.seconds for r in run_comparison(wb, ["rr", "bm25"], data).results] == [0.001, 0.002]
    assert [r.seconds for r in run_comparison(wb, ["rr", "wo"], data).results] == [0.003, 0.004]


def test_what_an_older_program_stored_as_seconds_is_not_shown(wb, data):
    job = comparison_job.start_compare(wb, ["rr", "bm25"], data)
    run_queued(wb, RUNNERS)
    rows_before = queue.load_job(wb, job.id).result["rows"]
    older = {k: v for k, v in rows_before[0].items() if k != "seconds_per_question"} | {"seconds": 95.0}
    assert comparison._from_row(older).seconds is None


def test_more_rankers_than_memory_has_room_for_are_compared_without_seconds(wb, data):
    specs = [f"bm25:k1={k / 10}" for k in range(1, comparison_job.MAX_TIMED_RANKERS + 2)]
    results = run_comparison(wb, specs, data).results
    assert len(results) == len(specs)
    assert {r.seconds for r in results} == {None}


def test_a_comparison_whose_values_are_gone_says_so(wb, data):
    job = comparison_job.start_compare(wb, ["rr", "bm25"], data)
    run_queued(wb, RUNNERS)
    with wb.write() as s:  # nothing of the program does
        s.execute(delete(Evaluation).where(Evaluation.ranker == "rr"))
    with pytest.raises(As2Error, match=f"the values of rr in comparison {job.id} are gone: compare again"):
        comparison.load_comparison(wb, job.id)


def test_an_unfinished_comparison_has_nothing_to_show(wb, data):
    job = comparison_job.start_compare(wb, ["rr"], data)
    with pytest.raises(As2Error, match="not a finished comparison"):
        comparison.load_comparison(wb, job.id)


def test_progress_says_which_ranker_of_how_many_and_how_long_that_one_takes_at_its_pace(wb, clock):
    settings = comparison.ComparisonSettings(("bm25", "/srv/models/ce", "rr", "wo"), "labels:things")
    told, times = [], [0.0]
    job = SimpleNamespace(
        wb=wb,
        check=lambda: None,
        progress=lambda share, message: told.append((share, message)),
        seconds=lambda: times[-1],
    )
    report = comparison_job._report_questions(job, settings, 1)
    times.append(540.0)  # loading does not count
    for done in (2, 4, 12, 20):
        report(Progress(done, 20))
        times.append(times[-1] + 20)
        clock.advance(hours=2)  # nor does a pause
    messages = [message for _, message in told]
    assert messages[0] == "ranker 2 of 4, ce: 2 of 20 questions"
    assert messages[1].endswith("4 of 20 questions, 2 to 4 min left for this one")  # 10 s a question, 16 questions
    assert messages[2].endswith("12 of 20 questions, 25 to 40 s left for this one")  # 4 s a question, 8 questions
    assert messages[3].endswith("20 of 20 questions")
    assert [share for share, _ in told] == pytest.approx([0.9 * (1 + d / 20) / 4 for d in (2, 4, 12, 20)])


def test_progress_goes_on_while_the_time_is_measured():
    told = []
    job = SimpleNamespace(check=lambda: None, progress=lambda share, message: told.append((share, message)))
    rankers = {name: SimpleNamespace(score=lambda question, candidates: None) for name in ("a", "b")}
    time_in_turns(rankers, QUESTIONS, check=comparison_job._report_timing(job, 2, len(QUESTIONS)))
    assert len(told) == 2 + 2 * 3 * 6  # a first run of each, then three rounds over six questions
    assert told[0] == (0.9, "measuring the time: 0 of 38 runs") and told[-1][1].endswith("37 of 38 runs")
    assert told[-1][0] < 0.96
