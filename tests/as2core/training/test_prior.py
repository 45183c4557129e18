import copy
import dataclasses
import math

import numpy as np
import pytest
import torch
from scipy.special import expit
from year_questions import questions, tiny_ranker

from as2core.errors import BadSetting
from as2core.rankers.catalog import get
from as2core.training.fine_tune import fine_tune
from as2core.training.prior import fit_offset
from as2core.training.settings import TrainSettings

STILL = TrainSettings(
    epochs=1, learning_rate=1e-12, batch_questions=4, negatives=3, exit_draw="all", bf16=False, match_prior=True
)


@pytest.fixture
def base(tiny):
    ranker = tiny_ranker("cascade", tiny("bert", 2), dropout=False)
    ranker.is_trained = True
    return ranker


def mean_loss(base, folder, **changes) -> float:
    run = fine_tune(base, questions(0, 12), [], dataclasses.replace(STILL, **changes), workdir=folder)
    return float(np.mean([e["loss"] for e in run.history if e["kind"] == "step"]))


def test_equal_logits_are_shifted_to_the_log_odds_of_the_labels():
    assert fit_offset(np.full(4, 2.0), 0.25) == pytest.approx(math.log(1 / 3) - 2)


def test_the_mean_probability_becomes_the_share_of_correct_labels():
    logits = np.array([30.0, -2.0, 0.5, 4.0, -25.0], dtype=np.float32)
    offset = fit_offset(logits, 0.2)
    assert expit(logits + offset).mean() == pytest.approx(0.2)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_labels_of_one_kind_have_no_level(share):
    assert fit_offset(np.array([1.0, -1.0]), share) == 0.0


@pytest.mark.slow
def test_the_loss_is_the_same_whatever_constant_the_base_adds_to_its_logits(base, tmp_path):
    higher = copy.deepcopy(base)
    for head in higher.module.heads:
        with torch.no_grad():
            head.net[-1].bias += 5
    assert mean_loss(higher, tmp_path / "a") == pytest.approx(mean_loss(base, tmp_path / "b"), abs=1e-4)
    without = mean_loss(higher, tmp_path / "c", match_prior=False) - mean_loss(base, tmp_path / "d", match_prior=False)
    assert abs(without) > 0.5


def test_matching_the_prior_leaves_the_heads_where_they_were(base, tmp_path):
    after = fine_tune(base, questions(0, 12), [], STILL, workdir=tmp_path).ranker
    q = questions(0, 1)[0]
    assert np.allclose(after.score(q.text, q.candidates), base.score(q.text, q.candidates), atol=1e-4)


@pytest.mark.parametrize("setting", [{"match_prior": True}, {"contrast": 1.0}])
def test_what_only_a_cascade_learns_with_is_refused_elsewhere(setting, tmp_path, tiny):
    ranker = get(f"generative:backbone={tiny('bert', 2)}")
    with pytest.raises(BadSetting, match=f"{next(iter(setting))} is for a cascade"):
        fine_tune(ranker, questions(0, 4), [], TrainSettings(loss="rll", **setting), workdir=tmp_path)
