"""What a retrain tells as it goes."""

import re
from collections import Counter
from dataclasses import replace

from city_questions import finish_retrain

from app.adapt import label_noise, retrain_job, training
from app.adapt.settings import RetrainSettings
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.versions.evaluations import MAX_BATCH_CANDIDATES
from app.worker import RUNNERS
from as2core.cascade import graphs
from as2core.rankers import cascade
from as2core.training import calibrate, loop


def test_the_progress_never_falls_and_names_every_stage_with_how_far_it_is(wb, corpus_id, validated, cross_fitted):
    calls = []

    def listen(job):
        write = job.progress
        job.progress = lambda share, message: (calls.append((share, message)), write(share, message))
        return RUNNERS["retrain"](job)

    finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=2)).id, listen)
    shares, messages = zip(*calls, strict=True)
    assert list(shares) == sorted(shares) and shares[0] == 0.0 and shares[-1] > 0.9
    stages = list(dict.fromkeys(m.partition(",")[0] for m in messages))
    assert stages[:2] == ["loading the libraries", "reading the labels"] and stages[-1] == "saving the version"
    assert {"preparing the engine", "measuring cascade on held-out questions", "training",
            "preparing the engine of the new version",
            "scoring the validation questions", "measuring the new version on held-out questions",
            "measuring the new version on the benchmark Starter test"} <= set(stages)  # fmt: skip
    assert any(re.search(r"held-out questions, 0 of \d+", m) for m in messages)
    assert any(re.fullmatch(r"training, step \d of \d+.*", m) for m in messages)


def test_nothing_goes_on_for_long_without_a_report(wb, corpus_id, monkeypatch, cross_fitted):
    """Between two reports at most one batch is scored, or one step is taken, whatever the stage."""
    since_report, most = Counter(), Counter()

    def count(what, number):
        since_report[what] += number
        most[what] = max(most[what], since_report[what])

    def counted(module, name, what, size):
        act = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *a, **k: (count(what, size(*a)), act(*a, **k))[1])

    for module in (cascade, calibrate):
        counted(module, "run_cascade", "candidates", lambda _, queries, *__: sum(len(texts) for _, texts in queries))
    counted(loop.PlannedTrainer, "compute_loss", "steps", lambda *_: 1)
    counted(graphs, "build_graph", "graphs", lambda *_: 1)
    counted(training, "train_judge", "judges", lambda *_: 1)
    monkeypatch.setattr(label_noise, "MIN_SURE_PAIRS", 1)
    monkeypatch.setattr(label_noise, "SURE_PROBABILITY", 1.1)
    monkeypatch.setattr(label_noise, "MIN_WRONG_SHARE", 0.0)  # many labels look wrong: judges are trained, too
    on_onnx = replace(wb, settings=wb.settings.model_copy(update={"engine": "onnx"}))

    def listen(job):
        write = job.progress
        job.progress = lambda share, message: (since_report.clear(), write(share, message))
        return RUNNERS["retrain"](job)

    finish_retrain(on_onnx, retrain_job.start_retrain(on_onnx, corpus_id, RetrainSettings(epochs=2)).id, listen)
    assert most["candidates"] <= MAX_BATCH_CANDIDATES
    assert (most["steps"], most["graphs"], most["judges"]) == (1, 1, 1)


def test_the_events_tell_the_training_as_it_goes(wb, corpus_id, validated):
    job = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=2)).id)
    kinds = [e["kind"] for e in job.events]
    assert kinds[0] == "start"
    assert kinds[-1] == "end"
    assert {"step", "eval"} <= set(kinds)
    evals = [e for e in job.events if e["kind"] == "eval"]
    assert all(set(e["dev_ap"]) == {"1", "2", "3"} for e in evals)


def test_the_card_tells_the_time_of_all_attempts_by_a_clock_that_leaves_pauses_out(
    wb, corpus_id, monkeypatch, validated
):
    from app.adapt.retrain import run_retrain

    def a_hundred_seconds_a_step(job):
        told, now = job.event, [0.0]
        job.seconds = lambda: now[0]

        def event(payload):
            told(payload)
            now[0] += 100 * (payload["kind"] == "step")
            job.cancelled = job.attempt == 1 and payload["kind"] == "eval"

        job.event = event
        return run_retrain(job)

    job = retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=2))
    run_queued(wb, {**RUNNERS, "retrain": a_hundred_seconds_a_step})
    queue.retry(wb, job.id)
    over = finish_retrain(wb, job.id, a_hundred_seconds_a_step)
    taken_up = [e["step"] for e in over.events if e["kind"] == "step"]
    end = over.events[-1]
    assert (over.attempt, end["kind"]) == (2, "end")
    assert taken_up[-1] == end["steps"]
    assert over.result["training_seconds"] == over.result["seconds"] == 100 * end["steps"]
