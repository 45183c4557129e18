import pytest
import torch

from as2core.losses.pairwise import pairwise


def test_a_right_answer_is_held_against_the_hardest_wrong_one():
    # question 1: right 2.0, wrong 1.5 and -3: 1 - 2 + 1.5 = 0.5; question 2: right 5 and 0, wrong 1: (0 + 2) / 2 = 1
    scores = torch.tensor([2.0, 1.5, -3.0, 5.0, 1.0, 0.0], requires_grad=True)
    loss = pairwise(scores, torch.tensor([1, 0, 0, 1, 0, 1]), [3, 3], margin=1.0)
    assert loss.item() == pytest.approx((0.5 + 1.0) / 2)
    loss.backward()
    assert scores.grad.tolist() == pytest.approx([-0.5, 0.5, 0.0, 0.0, 0.25, -0.25])  # nothing for the easy ones


def test_it_is_torch_s_margin_ranking_loss_over_the_same_pairs():
    scores = torch.randn(8, generator=torch.Generator().manual_seed(0))
    right, wrong = scores[0], scores[1:].max()
    expected = torch.nn.functional.margin_ranking_loss(right, wrong, torch.tensor(1.0), margin=0.7)
    got = pairwise(scores, torch.tensor([1] + [0] * 7), [8], margin=0.7)
    assert got.item() == pytest.approx(expected.item())


def test_a_question_of_one_class_adds_nothing():
    scores = torch.tensor([1.0, 1.0, 9.0])
    assert pairwise(scores, torch.tensor([1, 0, 1]), [2, 1], margin=1.0).item() == pytest.approx(1.0)
    assert pairwise(scores, torch.tensor([1, 1, 1]), [2, 1], margin=1.0).item() == 0.0
