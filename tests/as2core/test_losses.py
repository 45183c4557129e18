import math

import pytest
import torch

from as2core.losses.listwise import contrast, listwise, soften
from as2core.losses.pointwise import pointwise


def test_pointwise_is_the_mean_binary_cross_entropy():
    expected = (math.log(1 + math.exp(-2)) + math.log(1 + math.exp(1))) / 2
    assert pointwise(torch.tensor([2.0, 1.0]), torch.tensor([1, 0])).item() == pytest.approx(expected, abs=1e-6)


def test_listwise_is_the_mean_kl_to_each_question_s_distribution():
    # question 1: target (1, 0), logits equal: KL = log 2; question 2: target is the softmax itself: KL = 0
    logits, target = torch.tensor([0.5, 0.5, 0.0, math.log(3)]), torch.tensor([1.0, 0.0, 0.25, 0.75])
    assert listwise(logits, target, [2, 2]).item() == pytest.approx(math.log(2) / 2, abs=1e-6)


def test_softening_divides_by_the_temperature_within_a_question():
    soft = soften(torch.tensor([0.2, 0.1, 5.0]), [2, 1], temperature=0.1)
    assert soft.tolist() == pytest.approx([math.e / (1 + math.e), 1 / (1 + math.e), 1.0])


def test_contrast_sets_each_correct_candidate_against_the_incorrect_ones_of_its_question():
    # question 1: correct at log 3 and 0 against one at 0: -log(3/4) and -log(1/2); question 2: 0 against two at 0
    logits = torch.tensor([math.log(3), 0.0, 0.0, 0.0, 0.0, 0.0])
    value, questions = contrast(logits, torch.tensor([1, 1, 0, 0, 1, 0]), [3, 3])
    expected = ((math.log(4 / 3) + math.log(2)) / 2 + math.log(3)) / 2
    assert value.item() == pytest.approx(expected, abs=1e-6)
    assert questions == 2


def test_contrast_takes_nothing_from_questions_with_labels_of_one_kind():
    logits = torch.tensor([1.0, 5.0, 7.0], requires_grad=True)
    value, questions = contrast(logits, torch.tensor([1, 0, 0]), [1, 2])
    value.backward()
    assert (value.item(), questions) == (0.0, 0)
    assert logits.grad is not None
    assert logits.grad.tolist() == [0.0, 0.0, 0.0]
