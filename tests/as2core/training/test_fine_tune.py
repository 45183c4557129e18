import copy
import dataclasses
import json
import math
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from year_questions import questions, tiny_ranker

from as2core.cascade.schedule import DropSchedule
from as2core.errors import BadSetting, Cancelled
from as2core.metrics import measure_mean
from as2core.rankers.catalog import get
from as2core.rankers.generative import GenerativeRanker
from as2core.training import dropout
from as2core.training.fine_tune import _arguments, fine_tune
from as2core.training.learners import learner_for
from as2core.training.loop import PlannedTrainer, RunControl
from as2core.training.plan import plan_batches
from as2core.training.settings import TrainSettings

FAST = TrainSettings(epochs=2, learning_rate=3e-3, batch_questions=4, negatives=3, freeze_embeddings=False, seed=1)


@pytest.fixture
def base(tiny):
    return tiny_ranker("cascade", tiny("bert", 2))


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


def test_a_cancelled_run_resumes_to_the_weights_of_an_uninterrupted_one(base, tmp_path):
    whole = fine_tune(base, questions(0, 16), questions(16, 4), FAST, workdir=tmp_path / "whole").ranker
    done = []
    with pytest.raises(Cancelled):
        fine_tune(
            base,
            questions(0, 16),
            questions(16, 4),
            FAST,
            workdir=tmp_path / "cut",
            # stopped after the first evaluation, at step 4
            control=RunControl(lambda e: done.append(e["kind"]), lambda: done.count("step") >= 5),
        )
    seen = []
    resumed = fine_tune(
        base, questions(0, 16), questions(16, 4), FAST, workdir=tmp_path / "cut", control=RunControl(seen.append)
    ).ranker
    assert next(e["step"] for e in seen if e["kind"] == "step") == 5
    a, b = whole.module.state_dict(), resumed.module.state_dict()
    for k in a:
        torch.testing.assert_close(a[k], b[k], atol=1e-5, rtol=0)


def test_a_run_that_ends_within_an_epoch_goes_on_from_the_checkpoint_that_was_due_there(base, tmp_path):
    # an epoch has four steps; a checkpoint is due at its end, and twenty seconds after the last: after steps 3 and 7
    whole = fine_tune(base, questions(0, 16), questions(16, 4), FAST, workdir=tmp_path / "whole").ranker
    first, seen = ten_seconds_a_step([0.0]), []
    first = dataclasses.replace(first, checkpoint_seconds=20)
    stop = dataclasses.replace(
        first,
        on_event=lambda e: (first.on_event(e), seen.append(e["kind"])),
        should_stop=lambda: seen.count("step") >= 7,
    )
    with pytest.raises(Cancelled):
        fine_tune(base, questions(0, 16), questions(16, 4), FAST, workdir=tmp_path / "cut", control=stop)
    assert sorted(p.name for p in (tmp_path / "cut").glob("checkpoint-*")) == ["checkpoint-4", "checkpoint-7"]
    events = []
    resumed = fine_tune(
        base, questions(0, 16), questions(16, 4), FAST, workdir=tmp_path / "cut", control=RunControl(events.append)
    ).ranker
    assert [e["step"] for e in events if e["kind"] == "step"] == [8]
    assert_same_weights(whole, resumed)


def test_a_run_stops_within_a_step_of_being_asked_and_waits_while_it_is_held(base, tmp_path):
    seen, asked = [], []

    def stop_after_two_steps() -> bool:
        asked.append(len(seen))  # the run stands still as long as this does not return
        return sum(e["kind"] == "step" for e in seen) >= 2

    with pytest.raises(Cancelled):
        fine_tune(
            base,
            questions(0, 24),
            [],
            FAST,
            workdir=tmp_path,
            control=RunControl(seen.append, stop_after_two_steps),
        )
    assert [e["step"] for e in seen if e["kind"] == "step"] == [1, 2, 3]
    assert sum(n > 0 for n in asked) == 3  # before the start it is asked while the heads are levelled


def ten_seconds_a_step(now):
    """What a run is given to see ten seconds pass with every step and at no other time."""
    return RunControl(lambda e: now.__setitem__(0, now[0] + 10 * (e["kind"] == "step")), clock=lambda: now[0])


def test_the_time_taken_and_the_time_left_go_by_the_clock_given(base, tmp_path):
    trained = fine_tune(base, questions(0, 12), [], FAST, workdir=tmp_path, control=ten_seconds_a_step([5.0]))
    left = [e["seconds_left"] for e in trained.history if e["kind"] == "step"]
    # told as a step ends, before its ten seconds are counted: (0, 10, ... 50) / (1, 2, ... 6) for those to come
    assert left == [0.0, 20.0, 20.0, 15.0, 8.0, 0.0]
    assert (trained.seconds, trained.earlier_seconds) == (60.0, 0.0)


def test_a_resumed_run_counts_the_seconds_up_to_the_checkpoint_it_goes_on_from(base, tmp_path):
    told, asked = ten_seconds_a_step([0.0]), []
    with pytest.raises(Cancelled):
        fine_tune(
            base,
            questions(0, 16),
            questions(16, 4),
            FAST,
            workdir=tmp_path,
            control=dataclasses.replace(
                told,
                on_event=lambda e: asked.append(e["kind"]) or told.on_event(e),
                should_stop=lambda: asked.count("step") >= 5,  # the checkpoint is of step 4
            ),
        )
    told = ten_seconds_a_step([0.0])
    resumed = fine_tune(base, questions(0, 16), questions(16, 4), FAST, workdir=tmp_path, control=told)
    assert (resumed.seconds, resumed.earlier_seconds) == (80.0, 40.0)


def test_a_run_made_before_a_setting_existed_is_still_its_own(base, tmp_path):
    fine_tune(base, questions(0, 4), [], FAST, workdir=tmp_path)
    told = json.loads((tmp_path / "run.json").read_text())
    del told["settings"]["schedule"]
    (tmp_path / "run.json").write_text(json.dumps(told))
    fine_tune(base, questions(0, 4), [], FAST, workdir=tmp_path)
    told["settings"]["learning_rate"] = 1.0
    (tmp_path / "run.json").write_text(json.dumps(told))
    with pytest.raises(BadSetting, match="another run"):
        fine_tune(base, questions(0, 4), [], FAST, workdir=tmp_path)


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


@pytest.mark.parametrize("kind", ["gpt2", "bart"])
def test_a_language_model_whose_weights_are_tied_is_judged_by_dev_questions_and_resumes(kind, tiny, tmp_path):
    def train(folder: str, *, stop_after: int = 99) -> GenerativeRanker:
        steps: list[dict] = []
        control = RunControl(
            lambda e: steps.append(e) if e["kind"] == "step" else None,
            lambda: len(steps) >= stop_after,
            checkpoint_seconds=0.0,
        )
        base = get(f"generative:backbone={tiny(kind, 2)}")
        settings = dataclasses.replace(FAST, loss="rll", epochs=1)
        return fine_tune(
            base, questions(0, 16), questions(16, 4), settings, workdir=tmp_path / folder, control=control
        ).ranker

    whole = train("whole")
    with pytest.raises(Cancelled):
        train("cut", stop_after=2)
    candidates = questions(0, 1)[0].candidates
    resumed = train("cut").score("when was it built ?", candidates)
    np.testing.assert_allclose(resumed, whole.score("when was it built ?", candidates), atol=1e-5)


def test_no_more_layers_can_be_frozen_than_there_are(base, tmp_path):
    with pytest.raises(BadSetting, match="frozen_layers=3: the encoder has 2 layers"):
        fine_tune(base, questions(0, 4), [], dataclasses.replace(FAST, frozen_layers=3), workdir=tmp_path)


def test_another_run_s_folder_is_refused(base, tmp_path):
    fine_tune(base, questions(0, 8), [], FAST, workdir=tmp_path)
    with pytest.raises(BadSetting, match="another run"):
        fine_tune(base, questions(0, 9), [], FAST, workdir=tmp_path)
    begun = fine_tune(base, questions(0, 9), [], FAST, workdir=tmp_path, restart=True)
    steps = [e["step"] for e in begun.history if e["kind"] == "step"]
    assert steps[0] == 1  # and nothing of the other's is gone on from


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


def test_only_the_same_questions_labels_texts_and_base_resume_a_run(base, tiny, tmp_path):
    def again(ranker=base, train=None, dev=None):
        train, dev = train or questions(0, 4), questions(8, 2) if dev is None else dev
        return fine_tune(ranker, train, dev, FAST, workdir=tmp_path)

    def change_first(asked, **values):
        first = dataclasses.replace(asked[0].candidates[0], **values)
        return [dataclasses.replace(asked[0], candidates=(first, *asked[0].candidates[1:])), *asked[1:]]

    again()
    again()  # the same inputs: the folder is its own
    again(ranker=tiny_ranker("cascade", tiny("bert", 2)))  # an untrained head is drawn anew by whoever builds it
    swapped = [dataclasses.replace(q, candidates=q.candidates[::-1]) for q in questions(0, 4)]  # as many of each label
    moved = copy.deepcopy(base)
    with torch.no_grad():
        moved.backbone.blocks[0].output.dense.bias += 0.1
    for other in (
        {"train": swapped},
        {"train": change_first(questions(0, 4), text="the tower was built in 1890")},
        {"dev": change_first(questions(8, 2), title="Towers")},
        {"dev": []},
        {"ranker": moved},
        {"ranker": get(f"cascade:backbone={tiny('bert', 6)}")},
        {"ranker": get(f"cross-encoder:depth=1,backbone={tiny('bert', 2)}")},
    ):
        with pytest.raises(BadSetting, match="another run"):
            again(**other)
    (tmp_path / "run.json").write_text(json.dumps({"settings": {}, "questions": []}))  # as runs were once noted
    with pytest.raises(BadSetting, match="another run"):
        again()


def test_a_trained_base_counts_with_its_head(base, tmp_path):
    first = fine_tune(base, questions(0, 4), [], FAST, workdir=tmp_path / "first").ranker
    assert first.is_trained and not base.is_trained
    other = copy.deepcopy(first)
    with torch.no_grad():
        other.module.heads[-1].net[-1].bias += 0.1
    fine_tune(first, questions(0, 4), [], FAST, workdir=tmp_path / "second")
    with pytest.raises(BadSetting, match="another run"):
        fine_tune(other, questions(0, 4), [], FAST, workdir=tmp_path / "second")


def script_dev_aps(monkeypatch, *looks):
    """Dev APs of exits 1 and 2, one pair a look, in place of what the model has."""
    at = iter(looks)
    monkeypatch.setattr(
        PlannedTrainer, "dev_ap_each", lambda self: {e: {"q": ap} for e, ap in zip("12", next(at), strict=True)}
    )


LATER = dataclasses.replace(FAST, epochs=4, patience=2)  # 8 questions: two steps an epoch, and a look at its end


def cut_short(base, workdir, *, after: int) -> list[dict]:
    """The run is cancelled at the step after so many."""
    seen: list[dict] = []
    control = RunControl(seen.append, lambda: seen[-1:] != [] and seen[-1].get("step", 0) >= after)
    with pytest.raises(Cancelled):
        fine_tune(base, questions(0, 8), questions(8, 2), LATER, workdir=workdir, control=control)
    return seen


def looks(history: list[dict]) -> list[int]:
    return [e["step"] for e in history if e["kind"] == "eval"]


def test_a_resumed_run_s_patience_ends_when_that_of_a_run_in_one_go_does(base, tmp_path, monkeypatch):
    best_first = [(0.5, 0.5), (0.9, 0.9), (0.8, 0.8), (0.7, 0.7), (1.0, 1.0)]
    script_dev_aps(monkeypatch, *best_first)
    whole = fine_tune(base, questions(0, 8), questions(8, 2), LATER, workdir=tmp_path / "whole")
    assert whole.stopped_early and looks(whole.history) == [2, 4, 6]
    script_dev_aps(monkeypatch, *best_first)
    cut_short(base, tmp_path / "cut", after=4)
    script_dev_aps(monkeypatch, best_first[0], *best_first[3:])
    resumed = fine_tune(base, questions(0, 8), questions(8, 2), LATER, workdir=tmp_path / "cut")
    assert resumed.stopped_early and looks(resumed.history) == [6]
    assert_same_weights(whole.ranker, resumed.ranker)


def age_checkpoints(workdir) -> None:
    """As programs before November 2026 wrote them."""
    for file in workdir.glob("checkpoint-*/trainer_state.json"):
        content = file.read_text()
        assert '"eval_selection_score"' in content
        file.write_text(content.replace('"eval_selection_score"', '"eval_steering"'))


@pytest.mark.parametrize("is_old", [False, True])
def test_a_run_killed_when_its_patience_was_at_an_end_looks_no_more(is_old, base, tmp_path, monkeypatch):
    script_dev_aps(monkeypatch, (0.5, 0.5), (0.9, 0.9), (0.8, 0.8), (0.7, 0.7))
    whole = fine_tune(base, questions(0, 8), questions(8, 2), LATER, workdir=tmp_path)
    assert (tmp_path / "checkpoint-6").is_dir()  # which is where a kill behind its last look leaves it
    if is_old:
        age_checkpoints(tmp_path)
    script_dev_aps(monkeypatch, (0.5, 0.5), (1.0, 1.0), (1.0, 1.0))
    again = fine_tune(base, questions(0, 8), questions(8, 2), LATER, workdir=tmp_path)
    assert looks(again.history) == [] and again.stopped_early
    assert (again.best_dev_ap, again.selection_score) == (0.9, pytest.approx(0.9))
    assert_same_weights(whole.ranker, again.ranker)


def test_a_cancelled_run_goes_on_from_its_last_checkpoint_though_an_earlier_one_is_its_best(
    base, tmp_path, monkeypatch
):
    told = [(0.5, 0.5), (0.9, 0.9), (0.8, 0.8), (0.95, 0.95), (0.1, 0.1)]
    script_dev_aps(monkeypatch, *told)
    whole = fine_tune(base, questions(0, 8), questions(8, 2), LATER, workdir=tmp_path / "whole")
    script_dev_aps(monkeypatch, *told)
    cut_short(base, tmp_path / "cut", after=4)
    script_dev_aps(monkeypatch, told[0], *told[3:])
    resumed = fine_tune(base, questions(0, 8), questions(8, 2), LATER, workdir=tmp_path / "cut")
    assert next(e["step"] for e in resumed.history if e["kind"] == "step") == 5
    assert_same_weights(whole.ranker, resumed.ranker)


def assert_same_weights(a, b) -> None:
    for one, other in zip(a.module.parameters(), b.module.parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=0)


def test_the_best_dev_ap_is_the_last_exit_s_where_the_selection_score_was_highest(base, tmp_path, monkeypatch):
    # the score is (first + 2 last) / 3: .50 before, then .60 of .2 and .8, then .65 of .75 and .6
    script_dev_aps(monkeypatch, (0.5, 0.5), (0.2, 0.8), (0.75, 0.6))
    trained = fine_tune(base, questions(0, 8), questions(8, 2), FAST, workdir=tmp_path)
    assert (trained.best_dev_ap, trained.selection_score) == (0.6, pytest.approx(0.65))
    assert trained.history[-1]["best_dev_ap"] == 0.6


def test_a_resumed_run_knows_the_best_of_before(base, tmp_path, monkeypatch):
    script_dev_aps(monkeypatch, (0.5, 0.5), (0.9, 0.8))
    done = []
    with pytest.raises(Cancelled):
        fine_tune(base, questions(0, 8), questions(8, 2), FAST, workdir=tmp_path,
                  control=RunControl(lambda e: done.append(e["kind"]), lambda: done.count("step") >= 3))  # fmt: skip
    script_dev_aps(monkeypatch, (0.5, 0.5), (0.6, 0.7))
    trained = fine_tune(base, questions(0, 8), questions(8, 2), FAST, workdir=tmp_path)
    assert (trained.best_dev_ap, trained.selection_score) == (0.8, pytest.approx(2.5 / 3))
