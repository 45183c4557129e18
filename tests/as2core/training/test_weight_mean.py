import dataclasses

import numpy as np
import pytest
import torch
from year_questions import questions, tiny_ranker

from as2core.errors import BadSetting
from as2core.training.fine_tune import fine_tune
from as2core.training.loop import PlannedTrainer
from as2core.training.settings import TrainSettings
from as2core.training.weight_mean import DEFAULT_SHARE, choose_share, copy_state, count_mixed_shares, load_mean

FAST = TrainSettings(epochs=1, learning_rate=3e-3, batch_questions=4, negatives=3, freeze_embeddings=False, seed=1)
DEV = questions(0, 24)  # enough to choose a share by


@pytest.fixture
def base(tiny):
    ranker = tiny_ranker("cascade", tiny("bert", 2))
    ranker.is_trained = True
    return ranker


def script_aps(monkeypatch, *looks: list[float]) -> None:
    """Each dev question's AP at the last exit, one list a look, in place of what the model has."""
    at = iter(looks)

    def look(_):
        values = next(at)
        return {e: {str(i): ap for i, ap in enumerate(values)} for e in "12"}

    monkeypatch.setattr(PlannedTrainer, "dev_ap_each", look)


def test_a_quarter_of_the_way_from_two_to_six_is_three():
    module = torch.nn.Linear(1, 1)
    before = {"weight": torch.tensor([[2.0]]), "bias": torch.tensor([-1.0])}
    after = {"weight": torch.tensor([[6.0]]), "bias": torch.tensor([1.0])}
    load_mean(module, before, after, 0.25)
    assert (module.weight.item(), module.bias.item()) == (3.0, -0.5)


def test_a_count_beside_the_weights_has_no_mean_and_goes_with_the_end_that_is_taken():
    module = torch.nn.BatchNorm1d(1)
    before, after = (copy_state(module) | {"num_batches_tracked": torch.tensor(n)} for n in (3, 8))
    counts = []
    for share in (0.0, 0.5, 1.0):
        load_mean(module, before, after, share)
        counts.append(module.num_batches_tracked.item())
    assert counts == [3, 8, 8]


def test_the_half_way_is_scored_on_twenty_dev_questions_and_nothing_on_fewer():
    assert [count_mixed_shares(questions) for questions in (0, 19, 20)] == [0, 0, 1]


def test_copied_weights_do_not_move_with_the_module():
    module = torch.nn.Linear(1, 1)
    before, value = copy_state(module), module.weight.item()
    with torch.no_grad():
        module.weight += 1
    assert before["weight"].item() == value


def test_a_run_with_a_share_ends_that_far_between_the_base_and_the_same_run_without(base, tmp_path):
    whole = fine_tune(base, questions(0, 12), [], FAST, workdir=tmp_path / "whole")
    part = fine_tune(base, questions(0, 12), [], dataclasses.replace(FAST, tuned_share=0.3), workdir=tmp_path / "part")
    before, after, mean = (r.module.state_dict() for r in (base, whole.ranker, part.ranker))
    for name, value in mean.items():
        assert torch.allclose(value, 0.7 * before[name] + 0.3 * after[name], atol=1e-6)
    assert (whole.tuned_share, part.tuned_share) == (1.0, 0.3)
    assert part.history[-2] == {"kind": "mean", "tuned_share": 0.3}


def test_a_share_of_nothing_is_the_base(base, tmp_path):
    settings = dataclasses.replace(FAST, tuned_share=0.0)
    same = fine_tune(base, questions(0, 12), [], settings, workdir=tmp_path).ranker
    assert all(value.equal(base.module.state_dict()[name]) for name, value in same.module.state_dict().items())


def test_a_ranker_that_was_never_trained_is_no_part_of_the_mean(base, tmp_path):
    base.is_trained = False
    settings = dataclasses.replace(FAST, tuned_share=0.5)
    assert fine_tune(base, questions(0, 12), [], settings, workdir=tmp_path).tuned_share == 1.0


def test_with_few_dev_questions_the_share_is_the_default(base, tmp_path):
    settings = dataclasses.replace(FAST, tuned_share=None)
    assert fine_tune(base, questions(0, 12), questions(16, 4), settings, workdir=tmp_path).tuned_share == DEFAULT_SHARE


def test_where_training_cost_the_dev_questions_ap_the_result_is_the_base(base, tmp_path, monkeypatch):
    # looks: before, after the epoch, at half of the way
    script_aps(monkeypatch, [0.9] * 20 + [0.8] * 4, [0.5] * 24, [0.6] * 24)
    result = fine_tune(base, questions(0, 12), DEV, dataclasses.replace(FAST, tuned_share=None), workdir=tmp_path)
    assert result.tuned_share == 0.0
    assert all(v.equal(base.module.state_dict()[k]) for k, v in result.ranker.module.state_dict().items())


def test_another_share_needs_more_than_the_standard_error_of_its_difference():
    # 4 of 25 questions gain .25: the mean is .04, the deviation sqrt(.04 * .21 * 25 / 24) = .0935, its error .0187
    default, some = np.full(25, 0.5), np.array([0.75] * 4 + [0.5] * 21)
    assert choose_share({0.0: some, DEFAULT_SHARE: default}) == 0.0
    # one of 25 gains .25: the mean .01 is the error, sqrt(.01 * .24 * 25 / 24) / 5
    one = np.array([0.75] + [0.5] * 24)
    assert choose_share({0.0: one, DEFAULT_SHARE: default}) == DEFAULT_SHARE


def test_of_two_better_shares_the_better_one_is_taken():
    default, good, best = np.full(25, 0.5), np.full(25, 0.6), np.full(25, 0.7)
    assert choose_share({0.0: good, 0.5: best, DEFAULT_SHARE: default}) == 0.5


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_outside_0_to_1_is_refused(share):
    with pytest.raises(BadSetting, match="share of the trained weights"):
        TrainSettings(tuned_share=share)
