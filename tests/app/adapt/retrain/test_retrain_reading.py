"""What a retrain reads of its labels and of its base, and what it need not read again."""

import json
import shutil
from collections import Counter
from dataclasses import replace
from functools import partialmethod

import pytest
from city_questions import finish_retrain, made_up
from label_files import import_labels
from sqlalchemy import delete

from app.adapt import label_noise, measuring, retrain_job
from app.adapt import snapshot as snapshots
from app.adapt.settings import RetrainSettings
from app.compare.rankers import note_trained_on
from app.jobs import queue
from app.jobs.attempt import run_next, run_queued
from app.ranking.synonyms import write_synonyms
from app.versions import evaluations, registry
from app.worker import RUNNERS
from as2core.cascade.engine_onnx import OnnxEngine
from as2core.cascade.engine_torch import TorchEngine
from as2core.data import jsonl
from as2core.training.learners.cascade import CascadeLearner
from db.models import Evaluation


def test_the_same_labels_settings_and_seed_give_the_same_version_and_the_base_is_measured_once(
    wb, corpus_id, monkeypatch, cross_fitted
):
    made, evaluate = [], evaluations.evaluate
    for module in (evaluations, measuring):
        monkeypatch.setattr(module, "evaluate", lambda r, q, **more: made.append(r.name) or evaluate(r, q, **more))
    first = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=1, seed=3)).id).result
    second = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=1, seed=3)).id).result
    assert first["version"] != second["version"]
    assert first["after"] == second["after"]
    assert first["snapshot"] == second["snapshot"]
    folds = 3
    assert len(made) == 6 + 1 + 2 * folds  # held out and frozen: base, and both versions; the base, and each its copies


def test_a_retrain_reads_questions_with_the_corpus_s_synonyms_and_knows_them_as_they_were_asked(
    wb, corpus_id, ann, monkeypatch
):
    read, encode, synonyms = set(), CascadeLearner.collate, []
    filter_labels = label_noise.filter_labels
    monkeypatch.setattr(
        label_noise, "filter_labels",
        lambda *args, **more: (synonyms.append(str(more["synonyms"])), filter_labels(*args, **more))[1],
    )  # fmt: skip
    monkeypatch.setattr(
        CascadeLearner, "collate",
        lambda learner, batch: (read.update(g.question.text for g in batch.groups), encode(learner, batch))[1],
    )  # fmt: skip
    plain = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=1)).id).result
    assert read and not any("(erected)" in text for text in read)
    read.clear()
    write_synonyms(wb, corpus_id, "built => erected", by=ann.id)
    result = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=1)).id).result
    assert {"built (erected)" in text for text in read if "built" in text} == {True}
    assert synonyms == ["", "built => erected\n"]
    assert result["snapshot"] != plain["snapshot"]
    assert result["labels"] == plain["labels"]
    trained_on = [registry.load_card(wb, r["version"])["trained_on"] for r in (result, plain)]
    assert trained_on[0] == trained_on[1] and not any("(erected)" in text for text in trained_on[0])
    assert [q["question"] for q in result["per_question"]] == [q["question"] for q in plain["per_question"]]


@pytest.fixture
def read(monkeypatch):
    """What that engine reads, and torch for logits that are stored: (engine, question, text) -> times."""
    pairs = Counter()

    def count(engine, start, questions, texts, **more):
        if engine.identity:
            pairs.update((engine.identity, *pair) for pair in zip(questions, texts, strict=True))
        return start(engine, questions, texts, **more)

    for kind in (OnnxEngine, TorchEngine):
        monkeypatch.setattr(kind, "start", partialmethod(count, kind.start))
    return pairs


def test_a_later_retrain_reads_only_the_base_s_new_pairs_and_measures_the_same(on_onnx, corpus_id, read, cross_fitted):
    def retrain_with(number):
        content = jsonl.dumps(made_up(number)).encode()
        import_labels(on_onnx, corpus_id, "more.jsonl", content, annotator="ann")
        read.clear()
        settings = RetrainSettings(epochs=1)
        result = finish_retrain(on_onnx, retrain_job.start_retrain(on_onnx, corpus_id, settings).id).result
        return result, set(read)

    _, first = retrain_with(40)
    result, second = retrain_with(44)
    assert len(first) > 100 and first.isdisjoint(second)
    shutil.rmtree(on_onnx.settings.jobs_dir)
    on_onnx.settings.logits_file.unlink()
    with on_onnx.write() as s:
        s.execute(delete(Evaluation))
    afresh, third = retrain_with(44)
    assert {pair for pair in third if pair in first}
    assert (afresh["before"], afresh["per_exit"]["before"]) == (result["before"], result["per_exit"]["before"])


def test_what_a_retrain_measures_of_its_base_can_be_measured_beforehand(on_onnx, corpus_id, read):
    jsonl.write(made_up(8, seed=6, prefix="shipped"), on_onnx.settings.starter_dir / "train.jsonl")
    write_synonyms(on_onnx, corpus_id, "built => erected", by=None)
    job = queue.enqueue(on_onnx, "measure", {"version": registry.get_active(on_onnx).id}, corpus_id=corpus_id)
    run_queued(on_onnx, RUNNERS)
    prepared = set(read)
    read.clear()
    finish_retrain(on_onnx, retrain_job.start_retrain(on_onnx, corpus_id, RetrainSettings(epochs=1)).id)
    job = queue.load_job(on_onnx, job.id)
    assert (job.state, job.error) == ("done", "")
    snapshot = snapshots.read(next(on_onnx.settings.jobs_dir.glob("*/snapshot.jsonl")))
    usable = [q for q in snapshot.parts.held_out if q.positives and q.negatives]
    assert job.result["questions"] == len(usable) + len(snapshot.replay) > len(usable) > 0
    assert len(prepared) > 50 and prepared.isdisjoint(read)
    held_out = {(q.text, c.titled_text) for q in snapshot.read(usable) for c in q.candidates}
    assert held_out <= {(question, text) for _, question, text in read}, "by the new version"


def test_measuring_beforehand_makes_room_for_a_retrain(on_onnx, corpus_id, read):
    job = queue.enqueue(on_onnx, "measure", {"version": registry.get_active(on_onnx).id}, corpus_id=corpus_id)
    retrain_job.start_retrain(on_onnx, corpus_id)
    while run_next(on_onnx, RUNNERS, queue.find_slot("measure")):
        pass
    job = queue.load_job(on_onnx, job.id)
    assert (job.state, job.result, len(read)) == ("done", {"questions": 0}, 0)


def test_snapshots_divide_the_questions_and_hold_only_judged_candidates(wb, corpus_id, validated):
    job = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=1)).id)
    lines = (wb.settings.jobs_dir / str(job.id) / "snapshot.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines[1:]]
    assert json.loads(lines[0])["choice"]["conflicts"] == "majority"
    assert {r["part"] for r in records} == {"train", "dev", "held_out"}
    assert len({r["qid"] for r in records}) == len(records) == 24
    assert all(c["label"] in (0, 1) for r in records for c in r["candidates"])
    version, dev = job.result["version"], sorted(r["question"] for r in records if r["part"] == "dev")
    assert registry.load_card(wb, version)["validated_on"] == dev
    [note] = note_trained_on(wb, version, dev)
    assert f"{version} was validated on {len(dev)} of these {len(dev)} questions" in note


def test_texts_with_line_separators_of_their_own_are_learnt_from_as_they_are(wb, tmp_path):
    odd = [
        replace(q, candidates=tuple(replace(c, text=f"{c.text}\u2028\u2029\x85\x0bYes.") for c in q.candidates))
        for q in made_up(8)
    ]
    corpus_id = import_labels(wb, None, "cities.jsonl", jsonl.dumps(odd).encode(), annotator="ann").corpus_id
    made = snapshots.freeze(wb, corpus_id, tmp_path, RetrainSettings(replay=0.0))
    parts = (*made.parts.train, *made.parts.dev, *made.parts.held_out)
    assert {c.text for q in parts for c in q.candidates} == {c.text for q in odd for c in q.candidates}
