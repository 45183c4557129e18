"""Runs that end before their time, and what goes on from their folder: checkpoints, patience, the best of before."""

import copy
import dataclasses
import json

import numpy as np
import pytest
import torch
from fast_training import FAST
from year_questions import questions, tiny_ranker

from as2core.errors import BadSetting, Cancelled
from as2core.rankers.catalog import get
from as2core.rankers.generative import GenerativeRanker
from as2core.training.fine_tune import fine_tune
from as2core.training.loop import PlannedTrainer, RunControl


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


def test_another_run_s_folder_is_refused(base, tmp_path):
    fine_tune(base, questions(0, 8), [], FAST, workdir=tmp_path)
    with pytest.raises(BadSetting, match="another run"):
        fine_tune(base, questions(0, 9), [], FAST, workdir=tmp_path)
    begun = fine_tune(base, questions(0, 9), [], FAST, workdir=tmp_path, restart=True)
    steps = [e["step"] for e in begun.history if e["kind"] == "step"]
    assert steps[0] == 1  # and nothing of the other's is gone on from


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
