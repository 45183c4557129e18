import math

import pytest
import torch

from as2core.losses.generative import lul


def by_hand(probabilities: list[list[float]], labels: list[int]) -> float:
    """Eq. 4 as two loops, in doubles."""
    terms = [-math.log(p if y else 1 - p) for row, y in zip(probabilities, labels, strict=True) for p in row]
    return sum(terms) / len(terms)


def test_lul_is_likelihood_for_the_right_passage_and_unlikelihood_for_the_wrong_one():
    probabilities, labels = [[0.5, 0.1, 0.9], [0.2, 0.999, 1e-4]], [1, 0]
    log_p = torch.tensor(probabilities).log()
    loss = lul(log_p, torch.ones(2, 3, dtype=torch.bool), torch.tensor(labels))
    assert loss.item() == pytest.approx(by_hand(probabilities, labels), rel=1e-4)


def test_lul_leaves_padding_out():
    log_p = torch.tensor([[math.log(0.25), 0.0], [math.log(0.5), math.log(0.75)]])
    valid = torch.tensor([[True, False], [True, True]])
    expected = by_hand([[0.25], [0.5, 0.75]], [0, 0])
    assert lul(log_p, valid, torch.tensor([0, 0])).item() == pytest.approx(expected, rel=1e-5)


def test_a_token_the_model_is_sure_of_gives_a_finite_loss_and_gradient():
    log_p = torch.tensor([[0.0, -1e-9, -50.0, -0.7]], requires_grad=True)
    loss = lul(log_p, torch.ones(1, 4, dtype=torch.bool), torch.tensor([0]))
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(log_p.grad).all()


def test_training_on_lul_lowers_the_wrong_passage_s_question(tiny, tmp_path):
    from as2core.rankers.generative import GenerativeRanker, load_question_lm
    from as2core.training.fine_tune import fine_tune
    from as2core.training.settings import TrainSettings
    from as2core.types import Candidate, Question

    torch.manual_seed(1)
    base = GenerativeRanker(load_question_lm(tiny("gpt2")))
    pair = (Candidate("0", "the tower was finished in 1889 .", 1), Candidate("1", "iron and bread", 0))
    question = Question("q", "when was the tower built ?", pair)
    settings = TrainSettings(epochs=30, learning_rate=5e-3, loss="lul", batch_questions=1)
    trained = fine_tune(base, [question], [], settings, workdir=tmp_path).ranker
    before, after = base.score(question.text, pair), trained.score(question.text, pair)
    assert after[0] > before[0] + 0.5
    assert after[0] - after[1] > before[0] - before[1] + 0.5
