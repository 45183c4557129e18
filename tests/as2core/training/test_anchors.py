import copy
import dataclasses
from collections import Counter
from contextlib import closing

import numpy as np
import pytest
import torch
from year_questions import questions, tiny_ranker

from as2core.cascade.engine_torch import TorchEngine
from as2core.cascade.logit_cache import LogitCache
from as2core.errors import BadSetting, Cancelled
from as2core.training import anchors
from as2core.training.anchors import choose_anchors, count_anchors, measure_drift, plan_anchors
from as2core.training.batches import Group, PlannedBatch
from as2core.training.calibrate import exit_logits
from as2core.training.fine_tune import fine_tune
from as2core.training.learners import learner_for
from as2core.training.loop import RunControl
from as2core.training.plan import plan_batches
from as2core.training.settings import TrainSettings
from as2core.types import Candidate, Question

FAST = TrainSettings(
    epochs=3, learning_rate=3e-3, batch_questions=4, negatives=3, exit_draw="all", freeze_embeddings=False, bf16=False
)
THINGS = "bread music heart cell city winter steel water river bridge tower iron long built year answer".split()
OLD = [
    Question(
        f"old {i}", f"which {thing} is long ?", tuple(Candidate(f"{i}-{w}", f"the {w} is {thing}") for w in THINGS)
    )
    for i, thing in enumerate(THINGS[:5])
]


@pytest.fixture
def base(tiny):
    ranker = tiny_ranker("cascade", tiny("bert", 2), dropout=False)
    ranker.is_trained = True
    return ranker


def logits(ranker, qs=OLD) -> np.ndarray:
    return np.concatenate(exit_logits(ranker, [(q.text, q.candidates) for q in qs]), axis=1)


def test_anchors_are_the_bases_best_candidates_and_a_sample_of_the_others(base, monkeypatch):
    monkeypatch.setattr(anchors, "BEST", 3)
    monkeypatch.setattr(anchors, "OTHERS", 4)
    anchors_of_old = choose_anchors(base, OLD, seed=1)
    for old, cut in zip(OLD, anchors_of_old.questions, strict=True):
        scores = base.score(old.text, old.candidates)
        best = {old.candidates[i].id for i in np.argsort(-scores)[:3]}
        ids = [c.id for c in cut.candidates]
        assert best < set(ids) and len(ids) == len(set(ids)) == 7
        places = [[c.id for c in old.candidates].index(i) for i in ids]
        assert anchors_of_old.logits[cut] == pytest.approx(logits(base, [old])[:, places], abs=1e-5)
    assert count_anchors(OLD) == sum(len(q.candidates) for q in anchors_of_old.questions)
    again, other = choose_anchors(base, OLD, seed=1), choose_anchors(base, OLD, seed=2)
    assert again.questions == anchors_of_old.questions != other.questions


def test_the_base_reads_nothing_again_where_it_has_a_cache_until_its_weights_change(base, tmp_path, monkeypatch):
    monkeypatch.setattr(anchors, "BEST", 3)
    monkeypatch.setattr(anchors, "OTHERS", 4)
    monkeypatch.setattr(type(base), "engine", property(type(base).exact_engine))
    without = choose_anchors(base, OLD, seed=1)
    read, start = [], TorchEngine.start
    monkeypatch.setattr(TorchEngine, "start", lambda self, q, t, **kw: read.extend(t) or start(self, q, t, **kw))
    with closing(LogitCache(tmp_path / "logits.db")) as base.logits:
        first = choose_anchors(base, OLD, seed=1)
        assert set(read) == {c.titled_text for q in OLD for c in q.candidates}
        read.clear()
        again = choose_anchors(base, OLD, seed=1)
        assert read == []
        assert copy.deepcopy(base).logits is None  # a copy is trained
        with torch.no_grad():
            base.module.heads[-1].cosine.add_(1.0)
        choose_anchors(base, OLD, seed=1)
        assert read
    assert without.questions == first.questions == again.questions
    for question, logits_of_base in without.logits.items():
        assert first.logits[question] == pytest.approx(logits_of_base, abs=1e-5)
        assert np.array_equal(again.logits[question], first.logits[question])


def test_questions_with_labels_or_without_candidates_are_no_anchors_and_few_candidates_all_are(base):
    few = dataclasses.replace(OLD[0], candidates=OLD[0].candidates[:4])
    anchors_of_old = choose_anchors(base, [Question("empty", "what ?", ()), *questions(0, 1), few], seed=0)
    assert anchors_of_old.questions == (few,)


def test_without_unlabelled_questions_the_batches_stay_as_they_are(base):
    batches = plan_batches(questions(0, 4), FAST, exits=2, needs="label")
    assert plan_anchors(batches, choose_anchors(base, questions(0, 4), seed=0), seed=0) == batches


def test_every_step_gets_the_next_anchors_and_they_take_turns(base):
    batches = plan_batches(questions(0, 12), FAST, exits=2, needs="label")
    planned = plan_anchors(batches, choose_anchors(base, OLD, seed=0), seed=0)
    assert [(b.groups, b.exit_index) for b in planned] == [(b.groups, b.exit_index) for b in batches]
    assert all(len(b.anchors) == anchors.QUESTIONS_PER_BATCH for b in planned)
    drawn = [g for b in planned for g in b.anchors]
    assert all(len(set(g.rows)) == anchors.SAMPLE for g in drawn)
    counts = Counter(g.question.qid for g in drawn)
    assert set(counts) == {q.qid for q in OLD} and max(counts.values()) - min(counts.values()) <= 1


def test_drift_is_the_mean_squared_difference():
    drift = measure_drift(torch.tensor([[1.0, 2.0], [0.0, -1.0]]), torch.tensor([[0.0, 2.0], [3.0, -3.0]]))
    assert float(drift) == pytest.approx((1 + 0 + 9 + 4) / 4)


@pytest.mark.slow
def test_a_retrain_with_anchors_stays_nearer_to_the_bases_scores_on_them(base, tmp_path):
    def drift(weight: float) -> float:
        settings = dataclasses.replace(FAST, epochs=20, learning_rate=1e-3, anchor=weight)
        run = fine_tune(base, [*questions(0, 12), *OLD], [], settings, workdir=tmp_path / f"{weight:g}")
        return float(np.square(logits(run.ranker) - logits(base)).mean())

    assert drift(10.0) < drift(0.0) / 2


def test_the_anchors_loss_of_the_untouched_base_is_nothing(base):
    settings = dataclasses.replace(FAST, anchor=2.0)
    learner = learner_for(base, settings)
    anchors_of_old = choose_anchors(base, OLD, seed=0)
    learner.anchor_logits = anchors_of_old.logits
    [batch, *_] = plan_anchors(plan_batches(questions(0, 4), settings, exits=2, needs="label"), anchors_of_old, seed=0)
    of_labels, of_anchors = learner.eval()(**learner.collate(batch))
    [alone] = learner_for(base, FAST).eval()(**learner.collate(dataclasses.replace(batch, anchors=())))
    assert of_labels[0].item() == pytest.approx(alone[0].item(), abs=1e-5)
    assert of_anchors[0].item() == pytest.approx(0.0, abs=1e-8)
    assert of_anchors[1] == 2 * anchors.SAMPLE


def test_two_anchors_of_one_id_are_each_held_to_their_own_scores(base):
    settings = dataclasses.replace(FAST, anchor=1.0)
    learner = learner_for(base, settings)
    longer, shorter = OLD[0], dataclasses.replace(OLD[1], qid=OLD[0].qid, candidates=OLD[1].candidates[:4])
    own = choose_anchors(base, [longer, shorter], seed=0)
    learner.anchor_logits = own.logits
    [batch, *_] = plan_anchors(plan_batches(questions(0, 4), settings, exits=2, needs="label"), own, seed=0)
    assert [len(g.rows) for g in sorted(batch.anchors, key=lambda g: -len(g.rows))] == [anchors.SAMPLE, 4]
    assert learner.eval()(**learner.collate(batch))[1][0].item() == pytest.approx(0.0, abs=1e-8)


def test_the_drift_of_one_exit_is_measured_from_that_exits_scores(base):
    settings = dataclasses.replace(FAST, anchor=1.0)
    learner = learner_for(base, settings)
    anchors_of_old = choose_anchors(base, OLD, seed=0)
    learner.anchor_logits = {q: x + np.array([[1.0], [3.0]]) for q, x in anchors_of_old.logits.items()}
    [batch, *_] = plan_anchors(plan_batches(questions(0, 4), settings, exits=2, needs="label"), anchors_of_old, seed=0)
    drifts = [learner(**learner.collate(dataclasses.replace(batch, exit_index=e)))[1][0].item() for e in (0, 1, None)]
    assert drifts == pytest.approx([1.0, 9.0, 5.0], rel=1e-3)


def test_processes_share_the_anchors_and_one_without_questions_has_none():
    groups, old = [tuple(Group(q, (0,)) for q in qs) for qs in (questions(0, 2), OLD[:3])]
    parts = [PlannedBatch(groups, None, old).share(i, 4).anchors for i in range(4)]
    assert [len(p) for p in parts] == [2, 1, 0, 0]
    assert {g.question.qid for p in parts for g in p} == {q.qid for q in OLD[:3]}


def test_a_stop_while_anchors_are_scored_ends_the_run(base, tmp_path):
    settings, events = dataclasses.replace(FAST, anchor=1.0), []
    control = RunControl(events.append, lambda: True)
    with pytest.raises(Cancelled):
        fine_tune(base, [*questions(0, 4), *OLD], [], settings, workdir=tmp_path, control=control)
    assert events == []  # not even its start, which comes after the scoring


def test_rankers_without_exits_have_no_anchors(tiny):
    with pytest.raises(BadSetting, match="anchor is for a cascade"):
        learner_for(
            tiny_ranker("generative", tiny("bert", 2)), dataclasses.replace(FAST, exit_draw="uniform", anchor=1.0)
        )
