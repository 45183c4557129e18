import json
import random
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fake_models import write_version
from label_files import import_labels
from sqlalchemy import delete, update
from tiny_models import tiny_models

from app import bootstrap
from app.adapt import (
    advice,
    cross_fitting,
    label_noise,
    label_selection,
    measuring,
    readiness,
    retrain_job,
    splitting,
    training,
)
from app.adapt import snapshot as snapshots
from app.adapt.label_selection import LabelSelection
from app.adapt.report import RetrainReport
from app.adapt.settings import COPIES, RetrainSettings
from app.ask import asking
from app.compare.rankers import note_trained_on
from app.corpora import corpora
from app.jobs import queue, supervisor
from app.jobs.attempt import run_next, run_queued
from app.labels import annotation
from app.ranking.synonyms import write_synonyms
from app.ui.adapt.card.outcome import describe_judges
from app.versions import evaluations, loading, management, outcome, promotion, registry
from app.versions.evaluations import MAX_BATCH_CANDIDATES
from app.versions.promotion import NeedsReason
from app.workbench.models import LoadedModels
from app.workbench.settings import Settings
from app.worker import RUNNERS
from as2core.cascade import graphs
from as2core.cascade.engine_onnx import OnnxEngine
from as2core.data import jsonl
from as2core.errors import BadSetting, NotEnoughLabels
from as2core.rankers import cascade
from as2core.rankers.cross_encoder import CrossEncoderRanker
from as2core.rankers.passage_cache import fingerprint
from as2core.training import calibrate, loop
from as2core.training.learners.cascade import CascadeLearner
from as2core.types import Candidate, Question
from db.models import ASKED, Evaluation
from db.models import Question as QuestionRow
from db.repositories import jobs as rows

CITIES = "oslo paris rome cairo lima quito delhi tokyo perth boston dakar seoul milan turin porto vienna".split()
THINGS = {"built": ("tower", "bridge", "wall"), "sold": ("bread", "fish", "salt"), "sung": ("song", "psalm", "hymn")}


def made_up(n: int, *, seed: int = 0, prefix: str = "q") -> list[Question]:
    """Questions whose answers share their city and verb; the other candidates share one or none."""
    rng = random.Random(seed)
    questions = []
    for i in range(n):
        city, other = rng.sample(CITIES, 2)
        verb, away = rng.sample(sorted(THINGS), 2)
        thing = rng.choice(THINGS[verb])
        texts = [
            (f"In {city} a {thing} was {verb} in 18{i:02d}.", 1),
            (f"In {other} a {rng.choice(THINGS[away])} was {away} in 17{i:02d}.", 0),
            (f"In {other} nobody was seen in 16{i:02d}.", 0),
            (f"In {city} rain fell in 15{i:02d}.", 0),
        ]
        rng.shuffle(texts)
        candidates = tuple(Candidate(f"{prefix}{i}-{j}", text, label, city) for j, (text, label) in enumerate(texts))
        questions.append(Question(f"{prefix}{i}", f"What was {verb} in {city} in the year 18{i:02d}?", candidates))
    return questions


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    texts = [t for q in (*made_up(99), *made_up(99, seed=1)) for t in (q.text, *(c.text for c in q.candidates))]
    return tiny_models(tmp_path_factory.mktemp("tiny"), texts)


class Apart:
    """Every text in a direction of its own: nothing is a rewording of anything."""

    def embed(self, texts, on_progress=None):
        out = np.stack([np.random.default_rng(list(t.encode())).normal(size=64) for t in texts]).astype(np.float32)
        return out / np.linalg.norm(out, axis=1, keepdims=True)

    def embed_question(self, question):
        return self.embed([question])[0]


class TinyModels(LoadedModels):
    def embedder(self):
        return Apart()


@pytest.fixture
def wb(tmp_path, tiny, clock, database_url):
    (tmp_path / "corpora" / "starter").mkdir(parents=True)
    jsonl.write(made_up(6, seed=5, prefix="frozen"), tmp_path / "corpora" / "starter" / "test.jsonl")
    settings = Settings(
        home=tmp_path / "home",
        database_url=database_url,
        models_dir=tiny,
        corpora_dir=tmp_path / "corpora",
        worker="external",
    )
    opened = bootstrap.open(settings, TinyModels(tiny), clock)
    yield opened
    opened.close()


@pytest.fixture
def validated(monkeypatch):
    """So few questions as there are here are kept for validation, too."""
    monkeypatch.setattr(splitting, "MIN_DEV", 1)


@pytest.fixture(autouse=True)
def _few_held_out_are_enough(request, monkeypatch):
    """A copy for each fold makes a retrain twice as long: only the tests that ask for `cross_fitted` have them."""
    if "cross_fitted" not in request.fixturenames:
        monkeypatch.setattr(cross_fitting, "MIN_HELD_OUT_QUESTIONS", 0)


@pytest.fixture
def cross_fitted():
    """Few questions are held out, so the training questions are judged, too."""


@pytest.fixture
def corpus_id(wb):
    """A corpus with 24 labelled questions."""
    content = jsonl.dumps(made_up(24)).encode()
    return import_labels(wb, None, "cities.jsonl", content, annotator="ann").corpus_id


def finish_retrain(wb, job_id, runner=RUNNERS["retrain"]):
    run_queued(wb, {**RUNNERS, "retrain": runner})
    job = queue.load_job(wb, job_id)
    assert job.state == "done", job.error
    return job


def test_from_labels_to_a_promoted_version_that_answers(wb, corpus_id, cross_fitted):
    job = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=2, note="cities")).id)
    result = job.result
    ready = readiness.check_readiness(wb, corpus_id)
    assert result["version"] == "cities-1"
    assert result["labels"]["questions"] == ready.train_questions
    assert len(result["per_question"]) == ready.heldout_questions + ready.train_questions  # cross-fitted
    made = next(v for v in registry.list_versions(wb) if v.name == result["version"])
    assert (made.state, made.parent, made.note, made.problem) == ("candidate", "cascade", "cities", "")
    assert made.metrics["AP"] == pytest.approx(result["after"]["AP"])
    promotion.promote(wb, made.name, "a try")
    assert asking.ask(wb, corpus_id, "What was built in oslo?").version == made.name


def test_a_retrain_is_finished_without_the_copies_that_check_it(wb, corpus_id, cross_fitted):
    from app.adapt.retrain import run_retrain

    def finish_in_the_first_copy(job):
        report = job.progress

        def progress(share, message):
            report(share, message)
            if "part 1 of 3, step" in message:
                retrain_job.finish_without_copies(wb, job.id)

        job.progress = progress
        return run_retrain(job)

    job = retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=2))
    job = finish_retrain(wb, job.id, finish_in_the_first_copy)
    assert [e["kind"] for e in job.events if e["kind"] in (COPIES, "note")] == [COPIES, "note"]
    labels = job.result["labels"]
    assert labels["cross_fitted_questions"] == 0 and job.result["is_check_skipped"] is True
    assert len(job.result["per_question"]) == labels["held_out_questions"]
    assert job.result["version"] in [v.name for v in registry.list_versions(wb)]
    report = RetrainReport.from_card(registry.load_card(wb, job.result["version"]))
    assert describe_judges(report).startswith(
        "The check on training questions was left out, because somebody pressed Finish"
    )


def test_a_retrain_that_goes_on_after_a_kill_says_too_that_its_check_was_left_out(wb, corpus_id, cross_fitted):
    """Its settings say then that there are no copies."""
    job = retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=2, copies=False))
    result = finish_retrain(wb, job.id).result
    assert (result["is_check_skipped"], result["labels"]["cross_fitted_questions"]) == (True, 0)


@pytest.mark.parametrize(
    ("shipped", "share"),
    [(24, "learnt from all training questions"), (14, r"learnt from 1\d of the 1\d training"), (3, None)],
)
def test_questions_the_shipped_model_has_learnt_from_are_named_before_the_start(wb, corpus_id, shipped, share):
    jsonl.write(made_up(24)[:shipped], wb.settings.starter_dir / "train.jsonl")
    expectation = readiness.check_readiness(wb, corpus_id).expectation
    assert expectation == "" if share is None else re.search(share, expectation)
    assert readiness.check_readiness(wb, corpus_id, RetrainSettings("cosinet", "cosinet")).expectation == ""


def test_a_version_made_automatically_that_forgets_is_rejected_and_answers_only_with_a_reason(
    wb, corpus_id, monkeypatch
):
    monkeypatch.setattr(outcome, "MAX_FORGOTTEN_POINTS", -200.0)  # whatever is lost is too much
    settings = RetrainSettings(epochs=1)
    by_hand = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, settings).id).result["version"]
    automatic = replace(settings, automatic=True)
    by_itself = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, automatic).id).result["version"]
    assert [registry.get_version(wb, name).state for name in (by_hand, by_itself)] == ["candidate", "rejected"]
    assert "on the frozen benchmark Starter test" in registry.get_version(wb, by_itself).objection
    with pytest.raises(NeedsReason, match="Starter test"):
        promotion.promote(wb, by_itself)
    promotion.promote(wb, by_itself, "our own field counts")
    assert registry.get_active(wb).name == by_itself


def test_the_card_tells_before_and_after_with_intervals_a_test_exits_and_the_frozen_benchmark(wb, corpus_id):
    result = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=1)).id).result
    for side in ("before", "after"):
        mean = sum(q[side] for q in result["per_question"]) / len(result["per_question"])
        assert result[side]["AP"] == pytest.approx(mean)
        low, high = result["intervals"][side]["AP"]
        assert low <= result[side]["AP"] <= high
        assert set(result["per_exit"][side]) == {"2", "3", "4", "5", "6"}
        assert 0 < result["frozen"][side]["AP"] <= 1
    assert [b["name"] for b in result["baselines"]] == ["words", "shipped"]  # the questions came in a file
    assert result["baselines"][1]["metrics"] == result["before"]
    paired = result["paired"]
    assert paired["difference"] == pytest.approx(result["after"]["AP"] - result["before"]["AP"])
    assert paired["wins"] + paired["losses"] + paired["ties"] == len(result["per_question"])
    card = registry.load_card(wb, result["version"])
    assert card["parent"] == "cascade"
    assert card["data"]["sha256"] == result["snapshot"]
    assert card["metrics"] == result["after"]
    assert {"seed", "settings", "paired", "frozen"} <= set(card)


def test_without_whole_lists_the_probabilities_are_calibrated_on_the_shipped_questions(wb, corpus_id):
    jsonl.write(made_up(7, seed=6, prefix="shipped"), wb.settings.starter_dir / "dev.jsonl")
    result = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=1)).id).result
    assert registry.load_card(wb, result["version"])["calibration"]["questions"] == 7


def test_wikiqa_s_dev_questions_judge_too_where_they_are_at_hand(wb, corpus_id, tmp_path):
    from as2core.data import wikiqa

    dev = made_up(5, seed=8, prefix="Q")
    (tmp_path / "data" / "wikiqa").mkdir(parents=True)
    (tmp_path / "data" / "wikiqa" / "WikiQA-dev.tsv").write_text("".join(wikiqa.to_lines(dev)), encoding="utf-8")
    at_hand = replace(wb, settings=wb.settings.model_copy(update={"data_dir": tmp_path / "data"}))
    asked = [*made_up(24), replace(dev[0], qid="again")]
    import_labels(at_hand, corpus_id, "more.jsonl", jsonl.dumps(asked).encode(), annotator="ann")
    result = finish_retrain(
        at_hand, retrain_job.start_retrain(at_hand, corpus_id, RetrainSettings(kind="calibration")).id
    ).result
    for side in ("before", "after"):
        assert set(result["frozen_others"]["wikiqa-dev"][side]) >= {"AP", "RR", "P@1", "nDCG@10"}
    card = registry.load_card(at_hand, result["version"])
    assert card["frozen_others"] == result["frozen_others"]
    assert dev[0].text not in card["trained_on"]


def test_labels_that_look_wrong_are_not_learnt_from_and_are_on_the_card(wb, corpus_id, monkeypatch):
    judges = []

    def without_one(judge, questions, *, seed, synonyms, train_judge, on_progress):
        judges.append(judge.name)
        assert fingerprint(train_judge(questions, 0).module, 0) != fingerprint(judge.module, 0)
        first, *others = questions
        wrong = next(c for c in first.candidates if c.label == 0)
        kept = replace(first, candidates=tuple(c for c in first.candidates if c != wrong))
        return label_noise.FilteredLabels((kept, *others), 0.2, ((first, wrong),))

    monkeypatch.setattr(label_noise, "filter_labels", without_one)
    trained, train = [], training.train
    monkeypatch.setattr(training, "train", lambda *a: trained.append(a[1]) or train(*a))
    result = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=1)).id).result
    assert judges == ["cascade"]
    assert sum(q.negatives for q in trained[0].parts.train) == result["labels"]["incorrect"] - 1
    assert registry.load_card(wb, result["version"])["left_out"] == result["left_out"]
    assert (result["left_out"]["labels"], result["left_out"]["correct"]) == (1, 0)
    for told in ({"kind": "calibration"}, {"epochs": 1, "choice": LabelSelection(doubtful=True)}):
        assert (
            finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(**told)).id).result["left_out"]
            == {}
        )
    assert judges == ["cascade"]


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
    assert all(set(e["dev_ap"]) == {"2", "3", "4", "5", "6"} for e in evals)


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
def on_onnx(wb):
    """The workbench on the engine that has a cache of logits."""
    return replace(wb, settings=wb.settings.model_copy(update={"engine": "onnx"}))


@pytest.fixture
def read(monkeypatch):
    """What that engine reads: (engine, question, text) -> times."""
    pairs, start = Counter(), OnnxEngine.start

    def count(engine, questions, texts, **more):
        pairs.update((engine.identity, *pair) for pair in zip(questions, texts, strict=True))
        return start(engine, questions, texts, **more)

    monkeypatch.setattr(OnnxEngine, "start", count)
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


def test_a_cancelled_retrain_leaves_no_version_and_goes_on_with_the_labels_as_they_were(
    wb, corpus_id, ann, monkeypatch
):
    from app.adapt.retrain import run_retrain

    def cancelled_at_its_first_step(job):
        told = job.event

        def event(payload):
            told(payload)
            job.cancelled = job.cancelled or payload["kind"] == "step"

        job.event = event
        return run_retrain(job)

    job = retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=1))
    run_queued(wb, {**RUNNERS, "retrain": cancelled_at_its_first_step})
    assert queue.load_job(wb, job.id).state == "cancelled"
    folder = wb.settings.jobs_dir / str(job.id)
    snapshot = (folder / "snapshot.jsonl").read_bytes()
    assert [v.name for v in registry.list_versions(wb)] == ["cascade"]
    assert not list(wb.settings.versions_dir.glob("*"))
    asked = asking.ask(wb, corpus_id, made_up(24)[0].text)
    annotation.give_label(
        wb,
        question_id=asked.question_id,
        sentence_id=asked.candidates[0].sentence_id,
        annotator_id=ann.id,
        label="unsure",
    )
    queue.retry(wb, job.id)
    result = finish_retrain(wb, job.id).result
    assert (folder / "snapshot.jsonl").read_bytes() == snapshot
    assert not (folder / "work").exists()
    assert result["version"] == "cities-1"


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


def test_a_retrain_is_cancelled_while_it_measures_and_keeps_no_version(wb, corpus_id, monkeypatch):
    from app.adapt.retrain import run_retrain

    def cancelled_at_the_benchmark(job):
        told = job.progress

        def progress(share, message):
            told(share, message)
            job.cancelled = job.cancelled or message.startswith(
                "measuring the new version on the benchmark Starter test"
            )

        job.progress = progress
        return run_retrain(job)

    job = retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=1))
    run_queued(wb, {**RUNNERS, "retrain": cancelled_at_the_benchmark})
    assert queue.load_job(wb, job.id).state == "cancelled"
    assert not list(wb.settings.versions_dir.glob("*"))


def test_calibrating_alone_leaves_the_order_and_sets_the_probabilities(wb, corpus_id):
    result = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(kind="calibration")).id).result
    assert result["after"] == result["before"]
    assert result["reliability"]["after"] != result["reliability"]["before"]
    made = registry.get_version(wb, result["version"])
    assert (made.kind, made.parent) == ("cascade", "cascade")
    assert loading.load_version(wb, made.name).ranker.calibration != ((1.0, 0.0),) * 5
    assert registry.load_card(wb, made.name)["retrain_kind"] == "calibration"


def test_a_cross_encoder_is_retrained_and_can_be_loaded_with_its_calibration(wb, corpus_id):
    jsonl.write(made_up(24, seed=7, prefix="shipped"), wb.settings.corpora_dir / "starter" / "dev.jsonl")
    settings = RetrainSettings(kind="cross-encoder", epochs=1)
    result = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, settings).id).result
    made = promotion.promote(wb, result["version"], "a try")
    assert (made.kind, made.problem) == ("cross-encoder", "")
    ranker = loading.load_ranker(wb, made.name)
    assert isinstance(ranker, CrossEncoderRanker) and ranker.is_calibrated and ranker.answer_calibration is not None


def test_a_version_goes_out_and_comes_back_in_as_a_candidate(wb, tmp_path):
    management.export(wb, "cascade", "as2", tmp_path / "whole")
    management.export(wb, "cascade", "hf", tmp_path / "last-exit")
    whole = management.import_version(wb, tmp_path / "whole", name="from elsewhere")
    last = management.import_version(wb, tmp_path / "last-exit")
    assert [(v.name, v.kind, v.state, v.problem) for v in (whole, last)] == [
        ("from elsewhere", "cascade", "candidate", ""),
        ("last-exit", "cross-encoder", "candidate", ""),
    ]
    assert promotion.promote(wb, "last-exit").state == "active"
    with pytest.raises(BadSetting, match="there is a version 'last-exit' already"):
        management.import_version(wb, tmp_path / "last-exit")


def test_a_fusion_s_weights_are_learnt_and_kept_by_their_kind(wb, corpus_id):
    base = "fusion:method=zscore,rankers=bm25+wo"
    result = finish_retrain(
        wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(kind="fusion", base=base)).id
    ).result
    assert set(result["weights"]) == {"bm25", "wo"}
    made = promotion.promote(wb, result["version"], "a try")
    assert (made.kind, made.state) == ("fusion", "active")
    assert registry.get_active(wb).name == "cascade"


def test_the_generative_ranker_is_adapted_with_shipped_questions_mixed_in(wb, corpus_id):
    shipped = made_up(8, seed=7, prefix="shipped")
    jsonl.write(shipped, wb.settings.corpora_dir / "starter" / "train.jsonl")
    started = retrain_job.start_retrain(wb, corpus_id, RetrainSettings(kind="generative", epochs=1, replay=0.5))
    result = finish_retrain(wb, started.id).result
    assert result["labels"]["replayed_questions"] == 4
    made = registry.get_version(wb, result["version"])
    assert (made.kind, made.parent) == ("generative", "generative")
    card = registry.load_card(wb, made.name)
    assert len(card["trained_on"]) == result["labels"]["questions"] + 8
    assert {q.text for q in shipped} <= set(card["trained_on"])  # those not mixed in now taught the shipped one
    assert card["replay"] == 0.5
    assert card["settings"]["loss"] == "rll"  # MLE would make the questions of wrong sentences likely, too


def test_a_choice_narrows_what_is_learnt_and_stands_on_the_card(wb, corpus_id):
    import_labels(wb, corpus_id, "more.jsonl", jsonl.dumps(made_up(1)).encode(), annotator="bob")
    with pytest.raises(NotEnoughLabels):
        retrain_job.start_retrain(wb, corpus_id, RetrainSettings(choice=LabelSelection(annotators=("bob",))))
    choice = LabelSelection(annotators=("ann",), conflicts="latest")
    result = finish_retrain(
        wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(kind="calibration", choice=choice)).id
    ).result
    assert LabelSelection.from_json(registry.load_card(wb, result["version"])["choice"]) == choice


def test_a_version_narrowed_to_some_questions_is_marked_where_it_is_measured_on_them_and_no_others(wb, corpus_id):
    by_id = {x.id: x.question.text for x in label_selection.load(wb, corpus_id, LabelSelection())}
    some = tuple(sorted(by_id)[:12])
    settings = RetrainSettings(kind="calibration", choice=LabelSelection(questions=some))
    result = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, settings).id).result
    trained_on = set(registry.load_card(wb, result["version"])["trained_on"])
    assert len(trained_on) == result["labels"]["questions"] and trained_on < {by_id[i] for i in some}
    [note] = note_trained_on(wb, result["version"], list(by_id.values()))
    assert f"was trained on {len(trained_on)} of these 24 questions" in note
    assert note_trained_on(wb, result["version"], [text for i, text in by_id.items() if i not in some]) == []


def test_the_card_says_where_the_questions_came_from_and_whose_labels_were_learnt(wb, corpus_id, ann):
    first = retrain_job.start_retrain(wb, corpus_id, RetrainSettings(kind="calibration"))
    told = finish_retrain(wb, first.id).result["labels"]
    assert told["origins"] == {"imported": told["questions"]}
    assert told["givers"] == {"ann": told["correct"] + told["incorrect"]}
    import_labels(wb, corpus_id, "more.jsonl", jsonl.dumps(made_up(24)).encode(), annotator="bob")
    choice = LabelSelection(annotators=("bob",))
    result = finish_retrain(
        wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(kind="calibration", choice=choice)).id
    ).result
    assert set(result["labels"]["givers"]) == {"bob"}
    assert registry.load_card(wb, result["version"])["data"]["origins"] == {"imported": result["labels"]["questions"]}


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


def test_a_worker_killed_after_keeping_the_version_ends_with_the_same_result(wb, corpus_id, clock):
    job = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=1)).id)
    with wb.write() as s:
        row = rows.lock_job(s, job.id)
        row.state, row.result, row.heartbeat, row.worker = "running", {}, clock(), "another-machine:1:1"
    clock.advance(minutes=1)
    supervisor.reap(wb)
    again = finish_retrain(wb, job.id)
    assert again.result == job.result
    assert len(registry.list_versions(wb)) == 2


def test_a_directory_without_its_row_is_no_version_and_makes_way(wb, corpus_id):
    job = retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=1))
    left = wb.settings.versions_dir / f"cities-job-{job.id}"
    left.mkdir(parents=True)
    (left / "card.json").write_text("{}")
    half_written = left.with_name(f".{left.name}.k2j1")
    half_written.mkdir()
    assert [v.name for v in registry.list_versions(wb)] == ["cascade"]
    finish_retrain(wb, job.id)
    [made] = [v for v in registry.list_versions(wb) if v.state == "candidate"]
    assert Path(made.path) == left and not made.problem
    assert not half_written.exists()


def test_a_directory_that_another_version_has_is_left_to_it(wb, corpus_id):
    job = retrain_job.start_retrain(wb, corpus_id, RetrainSettings(kind="calibration"))
    path = wb.settings.versions_dir / f"cities-job-{job.id}"
    with wb.write() as s:
        registry.add_candidate(s, wb, "other", write_version(path))
    assert registry.get_version(wb, finish_retrain(wb, job.id).result["version"]).path == f"{path} 2"
    assert not any(v.problem for v in registry.list_versions(wb))


def test_a_version_renamed_before_its_killed_worker_is_noticed_is_still_the_job_s(wb, corpus_id, clock):
    job = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(kind="calibration")).id)
    management.rename(wb, job.result["version"], "spring")
    with wb.write() as s:
        row = rows.lock_job(s, job.id)
        row.state, row.result = "queued", {}
    assert finish_retrain(wb, job.id).result == {**job.result, "version": "spring"}


def test_a_job_whose_home_was_copied_after_it_kept_its_version_is_done_there(wb, corpus_id, tmp_path):
    job = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(kind="calibration")).id)
    with wb.write() as s:
        row = rows.lock_job(s, job.id)
        row.state, row.result = "queued", {}
    shutil.copytree(wb.settings.home, tmp_path / "backup")
    there = bootstrap.open(wb.settings.model_copy(update={"home": tmp_path / "backup"}), wb.models, wb.clock)
    assert finish_retrain(there, job.id).result == job.result
    assert len(registry.list_versions(there)) == 2
    there.close()


def test_a_worker_killed_while_it_writes_the_result_leaves_no_half_of_it(wb, corpus_id, monkeypatch):
    write = Path.write_text

    def killed(path, content, **how):
        if not path.name.startswith(".result.json."):  # what becomes it
            return write(path, content, **how)
        write(path, content[:40], **how)
        raise KeyboardInterrupt

    job = retrain_job.start_retrain(wb, corpus_id, RetrainSettings(kind="calibration"))
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Path, "write_text", killed)
        run_queued(wb, RUNNERS)
    with wb.write() as s:
        rows.lock_job(s, job.id).state = "queued"
    assert finish_retrain(wb, job.id).result["version"] == "cities-1"


def test_a_second_retrain_of_the_same_corpus_waits_for_the_first(wb, corpus_id):
    first = retrain_job.start_retrain(wb, corpus_id)
    with pytest.raises(Exception, match=f"job {first.id} .retrain. of this corpus"):
        retrain_job.start_retrain(wb, corpus_id)
    queue.pause(wb, first.id)
    for _ in range(20):
        queue.enqueue(wb, "retrain", {})
    with pytest.raises(Exception, match=f"job {first.id} .retrain. of this corpus"):
        retrain_job.start_retrain(wb, corpus_id)
    queue.cancel(wb, first.id)
    assert retrain_job.start_retrain(wb, corpus_id).state == "queued"


def test_a_retrain_can_start_from_a_retrained_version(wb, corpus_id, cross_fitted):
    first = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=1)).id).result
    second = finish_retrain(
        wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(base=first["version"], epochs=1)).id
    ).result
    assert second["base"] == first["version"]
    on_held_out = {q["qid"]: q["after"] for q in first["per_question"][: first["labels"]["held_out_questions"]]}
    assert {q["qid"]: q["before"] for q in second["per_question"]} == pytest.approx(on_held_out)
    assert second["labels"]["cross_fitted_questions"] == 0  # its base has learnt from the training questions
    made = next(v for v in registry.list_versions(wb) if v.name == second["version"])
    assert made.parent == first["version"]


def at(message, do):
    """A retrain that does something else when it comes to a message."""
    from app.adapt.retrain import run_retrain

    def run(job):
        told = job.progress

        def progress(share, said):
            told(share, said)
            if said == message:
                do()

        job.progress = progress
        return run_retrain(job)

    return run


def test_a_base_renamed_under_its_retrain_is_the_parent_by_its_new_name(wb, corpus_id):
    base = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(kind="calibration")).id).result[
        "version"
    ]
    job = retrain_job.start_retrain(wb, corpus_id, RetrainSettings(kind="calibration", base=base))
    rename = at("saving the version", lambda: management.rename(wb, base, "spring"))
    result = finish_retrain(wb, job.id, rename).result
    assert registry.get_version(wb, result["version"]).parent == "spring"


@pytest.mark.parametrize(
    "bad",
    [
        {"epochs": 0},
        {"learning_rate": -1.0},
        {"base": "generative"},
        {"kind": "bm25"},
        {"replay": 2.0},
        {"note": "x" * 301},
    ],
)
def test_settings_that_cannot_work_are_refused_before_the_start(wb, corpus_id, bad):
    with pytest.raises(BadSetting):
        retrain_job.start_retrain(wb, corpus_id, RetrainSettings(**bad))


def readiness_of(wb, questions, split=""):
    content = jsonl.dumps(questions).encode()
    corpus = import_labels(wb, None, "some.jsonl", content, annotator="ann", split=split).corpus_id
    return corpus, readiness.check_readiness(wb, corpus)


def relabel(questions, label):
    return [
        Question(q.qid, q.text, tuple(Candidate(c.id, c.text, label, c.title) for c in q.candidates)) for q in questions
    ]


def test_nothing_labelled_is_said_with_what_is_needed(wb):
    corpus = corpora.create_corpus(wb, "empty")
    ready = readiness.check_readiness(wb, corpus.id)
    assert not ready.is_ready
    assert "4 questions" in ready.problems[0]
    with pytest.raises(NotEnoughLabels, match="Nothing is labelled"):
        retrain_job.start_retrain(wb, corpus.id)


def test_too_few_questions_are_counted(wb):
    _, ready = readiness_of(wb, made_up(3))
    assert ready.problems == (
        "3 questions have both a correct and an incorrect sentence, 4 are needed: label some more.",
    )


NEW_CORPUS = "or import the set into a new corpus without a split"


@pytest.mark.parametrize(
    ("split", "use", "problem"),
    [("dev", "validation", "No training question is labelled"), ("train", "training", "No question can be held out")],
)
def test_questions_that_came_with_one_split_alone_are_named_as_the_reason(wb, split, use, problem):
    _, ready = readiness_of(wb, made_up(8), split)
    [text] = ready.problems
    assert text.startswith(problem)
    assert f"8 are for {use} (the split “{split}”)" in text and NEW_CORPUS in text


@pytest.mark.parametrize(
    ("name", "problem"), [("", "No training question is labelled"), ("17", "No question can be held out")]
)
def test_questions_of_nearly_the_same_words_are_named_as_the_reason(wb, name, problem):
    alike = [
        replace(q, text=f"What is the highest allowed temperature in degrees of the machine {name}{i}?")
        for i, q in enumerate(made_up(8))
    ]
    _, ready = readiness_of(wb, alike)
    [text] = ready.problems
    assert text.startswith(problem)
    assert "All 8 labelled questions have nearly the same words, and such questions stay in one part." in text
    assert "4 or more questions that are worded otherwise" in text


@pytest.mark.parametrize("split", ["", "dev"])
def test_questions_of_a_frozen_benchmark_are_named_as_the_reason(wb, split, monkeypatch):
    monkeypatch.setattr(snapshots, "load_benchmarks", lambda wb: {"frozen": made_up(8)})
    _, ready = readiness_of(wb, made_up(8), split)
    [text] = ready.problems
    assert "8 are in a frozen benchmark, which no ranker is trained on" in text
    assert "Label correct and incorrect sentences of 4 or more questions of your own." in text
    assert NEW_CORPUS not in text


@pytest.mark.parametrize(("label", "missing"), [(1, "incorrect"), (0, "correct")])
def test_one_class_alone_is_refused(wb, label, missing):
    _, ready = readiness_of(wb, relabel(made_up(8), label))
    assert ready.problems[0].startswith(f"No sentence is labelled {missing}")
    assert not any("training labels only" in warning for warning in ready.warnings)  # one box for one fact


def test_four_questions_are_enough_and_that_few_are_held_out_is_told(wb):
    corpus, ready = readiness_of(wb, made_up(4))
    assert ready.is_ready
    assert (ready.questions, ready.labels, ready.correct, ready.incorrect) == (4, 16, 4, 12)
    assert ready.train_questions + ready.dev_questions + ready.heldout_questions == 4
    assert "Only 1 question is held out: before and after will be uncertain." in ready.warnings  # no folds here
    assert retrain_job.start_retrain(wb, corpus).state == "queued"


def test_questions_with_correct_sentences_only_are_warned_of(wb):
    _, ready = readiness_of(wb, made_up(8) + relabel(made_up(2, seed=9, prefix="only"), 1))
    assert ready.is_ready
    [warning] = [w for w in ready.warnings if w.startswith("2 questions are labelled with correct sentences only")]
    assert "no other was ranked that could count as incorrect" in warning and "label an incorrect one" in warning


def test_questions_with_incorrect_sentences_only_have_one_figure_wherever_it_stands(wb):
    corpus = import_labels(wb, None, "m.jsonl", jsonl.dumps(made_up(8)).encode()).corpus_id
    only = [
        replace(q, split=split)
        for q, split in zip(relabel(made_up(3, seed=9, prefix="only"), 0), ("", "", "dev"), strict=True)
    ]
    import_labels(wb, corpus, "only.jsonl", jsonl.dumps(only).encode())
    with wb.write() as s:
        s.execute(update(QuestionRow).where(QuestionRow.text.in_([q.text for q in only])).values(origin=ASKED))
    ready = readiness.check_readiness(wb, corpus)
    assert ready.only_incorrect == 2
    assert any(w.startswith("2 questions are labelled with incorrect sentences only:") for w in ready.warnings)


def test_held_out_questions_that_lack_a_kind_of_label_are_told_with_what_to_do(wb):
    one_sided = relabel(made_up(8, seed=9, prefix="only"), 1) + relabel(made_up(8, seed=8, prefix="never"), 0)
    _, ready = readiness_of(wb, made_up(8) + one_sided)
    held_out, used = len(ready.incomplete_ids), ready.train_questions + ready.dev_questions + ready.heldout_questions
    assert held_out > 1 and used + held_out == ready.questions == 24
    [warning] = [w for w in ready.warnings if w.startswith(f"{held_out} more questions are held out (")]
    assert "with correct labels only and" in warning
    assert warning.endswith("nothing can be measured on them until they have labels of both kinds.")


def test_where_no_held_out_question_has_both_kinds_of_labels_the_two_texts_agree(wb):
    corpus, _ = readiness_of(wb, made_up(8) + relabel(made_up(8, seed=9, prefix="only"), 1))
    settings = RetrainSettings()
    composition = snapshots.compose(wb, corpus, settings, preview=True)
    train = composition.parts.train + composition.parts.held_out
    parts = replace(composition.parts, train=train, held_out=(), benchmark=0, familiar_count=0)
    composition, counts = replace(composition, parts=parts), {"correct": 9, "incorrect": 9}
    problem = advice.find_problem(composition, settings, counts, has_prepared=False)
    assert problem.startswith("Before and after cannot be compared yet: none of the held-out questions has both")
    warnings = advice.find_warnings(composition, settings, ())
    assert any(w.startswith(f"{len(parts.incomplete)} questions are held out (") for w in warnings)


def test_how_many_of_the_questions_with_incorrect_sentences_only_were_not_imported_is_told(wb):
    only = relabel(made_up(3, seed=9, prefix="only"), 0)
    corpus, ready = readiness_of(wb, made_up(8) + only)
    assert not any("incorrect sentences only" in w for w in ready.warnings)  # imported so, as a benchmark is
    with wb.write() as s:
        s.execute(update(QuestionRow).where(QuestionRow.text == only[0].text).values(origin=ASKED))
    warnings = readiness.check_readiness(wb, corpus).warnings
    told = "2 questions are labelled with incorrect sentences only, 1 of them typed or from a list: a cascade"
    assert any(w.startswith(told) for w in warnings)  # the third is for validation


def test_questions_with_incorrect_sentences_only_are_counted_for_a_cascade(wb):
    corpus, ready = readiness_of(wb, made_up(8) + relabel(made_up(2, seed=9, prefix="only"), 0))
    assert (ready.only_correct, ready.only_incorrect) == (0, 2)
    other = readiness.check_readiness(wb, corpus, RetrainSettings("generative"))
    assert other.only_incorrect == 0


def test_a_card_tells_the_questions_that_taught_a_cascade_nothing_from_those_it_was_trained_on(wb):
    corpus, ready = readiness_of(wb, made_up(8) + relabel(made_up(2, seed=9, prefix="only"), 0))
    labels = finish_retrain(wb, retrain_job.start_retrain(wb, corpus).id).result["labels"]
    assert (labels["questions"], labels["skipped_questions"]) == (ready.train_questions, 2)
    assert ready.useful_questions == ready.train_questions - 2


def test_pairs_in_dispute_are_left_out_and_told(wb):
    corpus, _ = readiness_of(wb, made_up(8))
    others = relabel(made_up(1), 0)
    import_labels(wb, corpus, "other.jsonl", jsonl.dumps(others).encode(), annotator="bob")
    ready = readiness.check_readiness(wb, corpus)
    assert "1 pair is in conflict between annotators and left out." in ready.warnings
    assert (ready.correct, ready.incorrect) == (7, 24)
    assert (ready.labels, ready.conflict_count) == (32, 1)
