import dataclasses

import numpy as np
import pytest
import torch

from as2core.errors import BadSetting, Cancelled, NotEnoughLabels
from as2core.rankers.catalog import get
from as2core.training.batches import plan
from as2core.training.fine_tune import fine_tune
from as2core.training.settings import ADAPT, TrainSettings
from as2core.types import Candidate, Question

# the sentence with a year is the answer: even a tiny model learns that in a few steps
THINGS = ["tower", "bridge", "river", "iron", "steel", "water", "bread", "music", "heart", "cell", "city", "winter"]
FAST = TrainSettings(epochs=2, learning_rate=3e-3, batch_questions=4, negatives=3, freeze_embeddings=False, seed=1)


def questions(start: int, n: int) -> list[Question]:
    out = []
    for i in range(start, start + n):
        at, other = i % len(THINGS), [THINGS[(i + j) % len(THINGS)] for j in (1, 2, 3)]
        texts = [f"the {THINGS[at]} was built in 1889", *(f"the {w} is long" for w in other)]
        place = i % 4
        texts[0], texts[place] = texts[place], texts[0]
        cands = tuple(Candidate(f"{i}-{j}", t, int(j == place)) for j, t in enumerate(texts))
        out.append(Question(f"q{i}", f"when was the {THINGS[at]} built ?", cands))
    return out


@pytest.fixture
def base(tiny):
    torch.manual_seed(2)
    return get(f"cascade:backbone={tiny('bert', 2)}")


def test_training_lowers_the_loss_and_leaves_the_base_alone(base, tmp_path):
    before = {k: v.clone() for k, v in base.module.state_dict().items()}
    settings = dataclasses.replace(FAST, epochs=15, exit_draw="all")
    trained = fine_tune(base, questions(0, 24), questions(0, 8), settings, workdir=tmp_path)
    losses = [e["loss"] for e in trained.history if e["kind"] == "step"]
    assert np.mean(losses[-4:]) < 0.8 * np.mean(losses[:4])
    assert all(v.equal(before[k]) for k, v in base.module.state_dict().items())
    changed = trained.ranker.module.state_dict()
    assert any(not changed[k].equal(v) for k, v in before.items())


def test_events_tell_the_start_every_step_each_evaluation_and_the_end(base, tmp_path):
    seen = []
    fine_tune(base, questions(0, 12), questions(12, 4), FAST, workdir=tmp_path, on_event=seen.append)
    assert [e["kind"] for e in seen] == ["start", *["step"] * 3, "eval", *["step"] * 3, "eval", "end"]
    assert set(seen[0]["dev_ap"]) == {str(layer) for layer in base.exits}
    steps = [e for e in seen if e["kind"] == "step"]
    assert [e["step"] for e in steps] == [1, 2, 3, 4, 5, 6]
    assert steps[-1]["epoch"] == 2
    assert steps[-1]["seconds_left"] == 0


def test_the_same_seed_gives_the_same_weights(base, tmp_path):
    runs = [fine_tune(base, questions(0, 12), [], FAST, workdir=tmp_path / str(i)).ranker for i in range(2)]
    a, b = (r.module.state_dict() for r in runs)
    assert all(a[k].equal(b[k]) for k in a)


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
            on_event=lambda e: done.append(e["kind"]),
            should_stop=lambda: done.count("step") >= 5,  # after the first evaluation, at step 4
        )
    seen = []
    resumed = fine_tune(
        base, questions(0, 16), questions(16, 4), FAST, workdir=tmp_path / "cut", on_event=seen.append
    ).ranker
    assert next(e["step"] for e in seen if e["kind"] == "step") == 5
    a, b = whole.module.state_dict(), resumed.module.state_dict()
    for k in a:
        torch.testing.assert_close(a[k], b[k], atol=1e-5, rtol=0)


def test_frozen_embeddings_and_layers_stay_as_they_were(base, tmp_path):
    settings = dataclasses.replace(FAST, freeze_embeddings=True, frozen_layers=1)
    trained = fine_tune(base, questions(0, 12), [], settings, workdir=tmp_path).ranker
    before, after = base.module.state_dict(), trained.module.state_dict()
    same = {k for k in before if before[k].equal(after[k])}
    assert {k for k in before if "embeddings" in k or "blocks.0" in k} <= same
    assert any("blocks.1" in k for k in before.keys() - same)


@pytest.mark.parametrize("loss", ["mle", "rll"])
def test_a_generative_ranker_learns_with_mle_and_rll(loss, tiny, tmp_path):
    torch.manual_seed(2)
    base = get(f"generative:backbone={tiny('bert', 2)}")
    settings = dataclasses.replace(FAST, loss=loss, epochs=4)
    trained = fine_tune(base, questions(0, 12), questions(0, 4), settings, workdir=tmp_path)
    losses = [e["loss"] for e in trained.history if e["kind"] == "step"]
    assert np.mean(losses[-3:]) < np.mean(losses[:3])


def test_the_plan_draws_every_exit_and_never_an_unlabelled_candidate():
    unlabelled = [
        dataclasses.replace(q, candidates=(*q.candidates, Candidate("u", "the music is long", None)))
        for q in questions(0, 40)
    ]
    batches = plan(unlabelled, dataclasses.replace(FAST, epochs=5), exits=5, needs="label")
    assert {b.exit_index for b in batches} == {0, 1, 2, 3, 4}
    used = {g.question.candidates[r].id for b in batches for g in b.groups for r in g.rows}
    assert "u" not in used
    asked = sorted(g.question.qid for b in batches[:10] for g in b.groups)
    assert asked == sorted(q.qid for q in unlabelled)  # an epoch asks each question once


def test_labels_of_one_class_are_refused_with_what_is_missing():
    only_wrong = [dataclasses.replace(q, candidates=q.candidates[1:2]) for q in questions(0, 1)]
    only_right = [dataclasses.replace(q, candidates=tuple(c for c in q.candidates if c.label)) for q in questions(0, 3)]
    with pytest.raises(NotEnoughLabels, match="labelled correct"):
        plan(only_wrong, ADAPT, exits=5, needs="label")
    with pytest.raises(NotEnoughLabels, match="labelled incorrect"):
        plan(only_right, ADAPT, exits=5, needs="label")
    with pytest.raises(NotEnoughLabels, match="both"):
        plan(only_wrong + only_right, ADAPT, exits=5, needs="pair")
    assert plan(only_right, ADAPT, exits=1, needs="positive")  # question likelihood needs no incorrect sentence


def test_another_run_s_folder_is_refused(base, tmp_path):
    fine_tune(base, questions(0, 8), [], FAST, workdir=tmp_path)
    with pytest.raises(BadSetting, match="another run"):
        fine_tune(base, questions(0, 9), [], FAST, workdir=tmp_path)


@pytest.mark.parametrize(
    ("setting", "says"),
    [({"loss": "hinge"}, "pointwise"), ({"exit_draw": "last"}, "uniform"), ({"epochs": 0}, "positive")],
)
def test_a_wrong_setting_is_refused(setting, says):
    with pytest.raises(BadSetting, match=says):
        TrainSettings(**setting)


def test_a_ranker_without_weights_cannot_be_trained(tmp_path):
    with pytest.raises(BadSetting, match="nothing to train"):
        fine_tune(get("bm25"), questions(0, 4), [], FAST, workdir=tmp_path)
