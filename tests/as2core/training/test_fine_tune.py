"""Training tiny models: what learns, what stays, what is told of it, and which settings are refused."""

import dataclasses
import math
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from fast_training import FAST
from year_questions import questions, tiny_ranker

from as2core.cascade.schedule import DropSchedule
from as2core.errors import BadSetting, Cancelled
from as2core.metrics import measure_mean
from as2core.rankers.catalog import get
from as2core.training import dropout
from as2core.training.fine_tune import _arguments, fine_tune
from as2core.training.learners import learner_for
from as2core.training.loop import PlannedTrainer, RunControl
from as2core.training.plan import plan_batches
from as2core.training.settings import TrainSettings


def test_training_lowers_the_loss_and_leaves_the_base_alone(base, tmp_path):
    before = {k: v.clone() for k, v in base.module.state_dict().items()}
    settings = dataclasses.replace(FAST, epochs=15, exit_draw="all")
    trained = fine_tune(base, questions(0, 24), questions(0, 8), settings, workdir=tmp_path)
    losses = [e["loss"] for e in trained.history if e["kind"] == "step"]
    assert np.mean(losses[-4:]) < 0.8 * np.mean(losses[:4])
    assert all(v.equal(before[k]) for k, v in base.module.state_dict().items())
    changed = trained.ranker.module.state_dict()
    assert any(not changed[k].equal(v) for k, v in before.items())


def test_a_ranker_that_was_never_trained_is_levelled_before_its_first_step_and_a_trained_one_is_not(base, tmp_path):
    known, still = questions(0, 24), dataclasses.replace(FAST, epochs=1, learning_rate=1e-12, bf16=False)
    first = fine_tune(base, known, [], still, workdir=tmp_path / "first").ranker
    again = fine_tune(first, known, [], still, workdir=tmp_path / "again").ranker
    share = np.mean([c.label for q in known for c in q.candidates])

    def mean_probability(ranker):
        logits = np.concatenate([ranker.trace(q.text, q.candidates).exits[0].scores for q in known])
        return np.mean(1 / (1 + np.exp(-logits)))

    assert abs(mean_probability(first) - share) < 0.5 * abs(mean_probability(base) - share)
    assert mean_probability(again) == pytest.approx(mean_probability(first), abs=1e-4)


def test_hard_candidates_are_looked_for_by_a_trained_base_alone(base, tmp_path):
    hard, events = dataclasses.replace(FAST, epochs=1, hard_negatives=1), []
    known = [dataclasses.replace(q, candidates=q.candidates * 2) for q in questions(0, 4)]
    first = fine_tune(base, known, [], hard, workdir=tmp_path / "a", control=RunControl(events.append)).ranker
    assert all(e["kind"] != "scoring" for e in events)
    fine_tune(first, known, [], hard, workdir=tmp_path / "b", control=RunControl(events.append))
    assert [(e["done"], e["total"]) for e in events if e["kind"] == "scoring"] == [(i, 4) for i in range(4)]
    control = RunControl(should_stop=lambda: True)
    with pytest.raises(Cancelled):
        fine_tune(first, known, [], hard, workdir=tmp_path / "c", control=control)


def test_events_tell_the_start_every_step_each_evaluation_and_the_end(base, tmp_path):
    seen = []
    fine_tune(base, questions(0, 12), questions(12, 4), FAST, workdir=tmp_path, control=RunControl(seen.append))
    assert [e["kind"] for e in seen] == ["start", *["step"] * 3, "eval", *["step"] * 3, "eval", "end"]
    assert set(seen[0]["dev_ap"]) == {str(layer) for layer in base.exits}
    steps = [e for e in seen if e["kind"] == "step"]
    assert [e["step"] for e in steps] == [1, 2, 3, 4, 5, 6]
    assert steps[-1]["epoch"] == 2
    assert steps[-1]["seconds_left"] == 0
    judged = [e for e in seen if e["kind"] == "eval"]
    assert [e["epoch"] for e in judged] == [1, 2]
    assert all(set(e["dev_ap"]) == {str(layer) for layer in base.exits} for e in judged)


def test_the_start_counts_the_questions_that_something_is_learnt_from(base, tmp_path):
    known, seen = questions(0, 12), []
    one_sided = [dataclasses.replace(q, candidates=tuple(c for c in q.candidates if c.label)) for q in questions(12, 2)]
    unlabelled = [
        dataclasses.replace(q, candidates=tuple(dataclasses.replace(c, label=None) for c in q.candidates))
        for q in questions(14, 3)
    ]
    everything, once = [*known, *one_sided, *unlabelled], dataclasses.replace(FAST, epochs=1, loss="listwise")
    first = fine_tune(base, everything, [], once, workdir=tmp_path / "a", control=RunControl(seen.append)).ranker
    anchored = dataclasses.replace(once, anchor=1.0)
    fine_tune(first, everything, [], anchored, workdir=tmp_path / "b", control=RunControl(seen.append))
    assert [e["questions"] for e in seen if e["kind"] == "start"] == [12, 12 + 3]


def test_dev_ap_is_that_of_the_ranker_s_own_scores(base, tmp_path):
    dev, seen = questions(0, 12), []
    fine_tune(
        base,
        questions(0, 4),
        dev,
        dataclasses.replace(FAST, bf16=False),
        workdir=tmp_path,
        control=RunControl(seen.append),
    )
    everyone = DropSchedule.constant(0.0, exits=2)
    for at, layer in enumerate(base.exits):
        traces = {q.qid: base.trace(q.text, q.candidates, everyone).exits[at].scores for q in dev}
        assert seen[0]["dev_ap"][str(layer)] == pytest.approx(measure_mean(dev, traces, ("AP",))["AP"])


def test_the_same_seed_gives_the_same_weights(base, tmp_path):
    runs = [fine_tune(base, questions(0, 12), [], FAST, workdir=tmp_path / str(i)).ranker for i in range(2)]
    a, b = (r.module.state_dict() for r in runs)
    assert all(a[k].equal(b[k]) for k in a)


def test_dropout_is_the_settings_in_training_and_the_ranker_s_own_after_it(base, tiny, tmp_path):
    def weights(start, dropout):
        settings = dataclasses.replace(FAST, dropout=dropout)
        return fine_tune(start, questions(0, 12), [], settings, workdir=tmp_path / f"{id(start)} {dropout}").ranker

    without, settings_without = (
        weights(tiny_ranker("cascade", tiny("bert", 2), dropout=False), None),
        weights(base, 0.0),
    )
    of_both = [r.module.state_dict() for r in (without, settings_without)]
    assert all(of_both[0][k].equal(of_both[1][k]) for k in of_both[0])
    of_own = weights(base, None).module.state_dict()
    assert not all(of_both[0][k].equal(of_own[k]) for k in of_own)
    assert {m.p for m in settings_without.module.modules() if isinstance(m, torch.nn.Dropout)} == {0.1}


def test_all_dropout_is_drawn_the_fast_way(base, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(dropout, "draw_mask", lambda like, p: drawn.append(like.dim()) or torch.ones_like(like))
    fine_tune(base, questions(0, 12), [], FAST, workdir=tmp_path)
    assert {2, 3, 4} <= set(drawn), "in the heads, between layers, in attention"


def test_a_stopped_gradient_reaches_no_layer_below_the_exit_before(base):
    """Exits after layers 1 and 2: the loss of the second must not touch layer 1."""
    packed = base.backbone.encode(["when was the tower built ?"], ["the tower was built in 1889"])
    touched = {}
    for stop in (False, True):
        base.module.zero_grad()
        base.module(*base.backbone.pad(packed, [0]), exits=(2,), stop_gradient=stop)[2].sum().backward()
        touched[stop] = [any(p.grad is not None for p in block.parameters()) for block in base.backbone.blocks]
    assert touched == {False: [True, True], True: [False, True]}


def test_frozen_embeddings_and_layers_stay_as_they_were(base, tmp_path):
    settings = dataclasses.replace(FAST, freeze_embeddings=True, frozen_layers=1)
    trained = fine_tune(base, questions(0, 12), [], settings, workdir=tmp_path).ranker
    before, after = base.module.state_dict(), trained.module.state_dict()
    same = {k for k in before if before[k].equal(after[k])}
    assert {k for k in before if "embeddings" in k or "blocks.0" in k} <= same
    assert any("blocks.1" in k for k in before.keys() - same)


@pytest.mark.parametrize("ends", ["well", "cancelled", "failed"])
def test_what_a_run_froze_learns_again_after_it_and_what_stood_still_before_does_not(ends, base, tmp_path, monkeypatch):
    settings, seen = dataclasses.replace(FAST, freeze_embeddings=True, frozen_layers=1), []
    base.backbone.blocks[1].requires_grad_(False)
    train = PlannedTrainer.train

    def run(self, **how):
        seen.append(self._learner.ranker.module)
        assert not any(p.requires_grad for p in seen[0].backbone.parameters())
        if ends == "failed":
            raise MemoryError
        return train(self, **how)

    monkeypatch.setattr(PlannedTrainer, "train", run)
    with pytest.raises({"cancelled": Cancelled, "failed": MemoryError}[ends]) if ends != "well" else nullcontext():
        fine_tune(base, questions(0, 4), [], settings, workdir=tmp_path,
                  control=RunControl(should_stop=lambda: ends == "cancelled"))  # fmt: skip
    still = {name for name, p in seen[0].named_parameters() if not p.requires_grad}
    assert still == {name for name, _ in base.module.named_parameters() if ".blocks.1." in name}


def test_a_base_whose_embeddings_stand_still_keeps_them_though_the_settings_do_not_ask_for_it(base, tmp_path):
    base.backbone.requires_grad_(False)
    trained = fine_tune(base, questions(0, 8), [], FAST, workdir=tmp_path).ranker
    before, after = base.backbone.state_dict(), trained.backbone.state_dict()
    assert all(before[k].equal(after[k]) for k in before)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_what_was_trained_is_where_its_base_is(device, base, tmp_path):
    base.module.to(device)
    trained = fine_tune(base, questions(0, 4), questions(8, 2), FAST, workdir=tmp_path).ranker
    assert {p.device.type for r in (base, trained) for p in r.module.parameters()} == {device}
    assert len(trained.score("when was the tower built ?", questions(0, 1)[0].candidates)) == 4


def test_of_several_gpus_a_process_trains_on_one(tmp_path, monkeypatch):
    as_if = {"is_available": True, "device_count": 2, "is_bf16_supported": False, "set_device": None}
    for name, value in as_if.items():
        monkeypatch.setattr(torch.cuda, name, lambda *_, value=value: value)
    args = _arguments(tmp_path, FAST, 1, False)
    assert args.device.type == "cuda"
    assert args.n_gpu == 1
    assert args.parallel_mode.value == "not_parallel"


@pytest.mark.parametrize("loss", ["pairwise", "listwise"])
def test_a_cascade_learns_with_losses_over_a_question(loss, base, tmp_path):
    settings = dataclasses.replace(FAST, epochs=8, loss=loss, exit_draw="all")
    trained = fine_tune(base, questions(0, 12), [], settings, workdir=tmp_path)
    losses = [e["loss"] for e in trained.history if e["kind"] == "step"]
    assert np.mean(losses[-3:]) < 0.8 * np.mean(losses[:3])


def test_the_last_exit_teaches_the_others_and_is_not_taught_itself(base):
    """Beside the labels' loss stands the mean KL of the exits below to what the last one says, by hand."""
    learner = learner_for(base, dataclasses.replace(FAST, exit_draw="all", self_distill=2.0), None)
    batch = plan_batches(questions(0, 4), learner.settings, exits=2, needs=learner.needs)[0]
    inputs = learner.collate(batch)
    _, (taught, groups) = learner.eval()(**inputs)
    by_exit = [torch.cat([base.module(*p)[e] for p in inputs["parts"]]) for e in base.exits]
    below, last = (x[torch.argsort(inputs["rows"])].split(inputs["sizes"]) for x in by_exit)
    kl = [(q.softmax(0) * (q.log_softmax(0) - p.log_softmax(0))).sum() for p, q in zip(below, last, strict=True)]
    assert groups == len(batch.groups)
    assert taught.item() == pytest.approx(2.0 * torch.stack(kl).mean().item(), abs=1e-6)
    taught.backward()
    assert base.module.heads[0].cosine.grad is not None
    assert base.module.heads[-1].cosine.grad is None


@pytest.mark.parametrize("loss", ["mle", "rll"])
def test_a_generative_ranker_learns_with_mle_and_rll(loss, tiny, tmp_path):
    torch.manual_seed(2)
    base = get(f"generative:backbone={tiny('bert', 2)}")
    settings = dataclasses.replace(FAST, loss=loss, epochs=4)
    trained = fine_tune(base, questions(0, 12), questions(0, 4), settings, workdir=tmp_path)
    losses = [e["loss"] for e in trained.history if e["kind"] == "step"]
    assert np.mean(losses[-3:]) < np.mean(losses[:3])


def test_no_more_layers_can_be_frozen_than_there_are(base, tmp_path):
    with pytest.raises(BadSetting, match="frozen_layers=3: the encoder has 2 layers"):
        fine_tune(base, questions(0, 4), [], dataclasses.replace(FAST, frozen_layers=3), workdir=tmp_path)


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ({"loss": "hinge"}, "pointwise"),
        ({"exit_draw": "last"}, "uniform"),
        ({"schedule": "cosine"}, "slanted-triangular"),
        ({"epochs": 0}, "positive"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": "2k"}, "max_tokens=2k"),
        ({"learning_rate": math.nan}, "learning_rate=nan"),
        ({"learning_rate": 0.0}, "a rate is above 0"),
        ({"frozen_layers": -1}, "frozen_layers=-1"),
        ({"distill": 1.0, "temperature": 0.0}, "temperature=0: .*above 0"),
        ({"patience": 0}, "patience"),
        ({"seed": -1}, "seed=-1: give a whole number from 0 to 4294967295"),
        ({"seed": 2**32}, "seed=4294967296"),
        ({"weight_decay": -0.1}, "weight_decay=-0.1"),
        ({"margin": math.nan}, "margin=nan"),
        ({"exit_draw": "early", "early_bias": math.inf}, "early_bias=inf"),
        ({"noise": 1.5}, "share"),
        ({"dropout": 1.0}, "dropout=1: give a probability"),
        ({"self_distill": 1.0}, 'exit_draw="all"'),
    ],
)
def test_a_wrong_setting_is_refused(setting, says):
    with pytest.raises(BadSetting, match=says):
        TrainSettings(**setting)


def test_distillation_without_a_teacher_says_how_to_do_without(base, tmp_path):
    with pytest.raises(BadSetting, match="set distill to 0, or give fine_tune a teacher"):
        fine_tune(base, questions(0, 4), [], dataclasses.replace(FAST, distill=1.0), workdir=tmp_path)


def test_a_ranker_without_weights_cannot_be_trained(tmp_path):
    with pytest.raises(BadSetting, match="nothing to train"):
        fine_tune(get("bm25"), questions(0, 4), [], FAST, workdir=tmp_path)
