"""Passages read once give the numbers of a pass over passage and question together."""

import pytest
import torch

from as2core.nn.kept_passages import question_ids, read_passages, resume_reading
from as2core.rankers.generative import load_question_lm

PASSAGES = ["the tower was completed in 1889 .", "iron", "the bridge is 300 metres long and stands in water .", ""]
QUESTION = "when was the tower built ?"


@pytest.fixture(params=["bert", "roberta", "electra", "gpt2", "bart", "t5"])
def lm(request, tiny):
    torch.manual_seed(1)
    module = load_question_lm(tiny(request.param)).eval()
    with torch.no_grad():
        for p in module.parameters():
            if p.dim() > 1:
                p.mul_(4)  # first weights are small: every passage would say much the same
    return module


@torch.inference_mode()
def kept_log_p(lm, passages, question):
    reading, ids = resume_reading(lm, read_passages(lm, passages)), torch.tensor(question_ids(lm, question))
    states = torch.cat([reading.start(), reading.extend(ids[None, :-1].expand(len(passages), -1))], 1)
    return reading.log_p(states.flatten(0, 1), ids.repeat(len(passages))).view(len(passages), -1)


def test_kept_passages_give_the_log_probabilities_of_a_whole_pass(lm):
    with torch.inference_mode():
        whole, valid = lm(**lm.encode(PASSAGES, [QUESTION] * len(PASSAGES)))
    assert valid.all()
    assert (whole.sum(1)[:, None] - whole.sum(1)[None, :]).abs().max() > 0.01  # the passage matters
    torch.testing.assert_close(kept_log_p(lm, PASSAGES, QUESTION), whole, atol=1e-5, rtol=0)


@torch.inference_mode()
def test_reading_token_by_token_says_what_reading_at_once_says(lm):
    ids = torch.tensor(question_ids(lm, QUESTION))
    kept = read_passages(lm, PASSAGES)
    at_once, slowly = resume_reading(lm, kept), resume_reading(lm, kept)
    states = [at_once.start(), at_once.extend(ids[None, :-1].expand(len(kept), -1))]
    steps = [slowly.start(), *(slowly.extend(i.expand(len(kept), 1)) for i in ids[:-1])]
    torch.testing.assert_close(torch.cat(steps, 1), torch.cat(states, 1), atol=1e-4, rtol=0)


@torch.inference_mode()
def test_the_log_probability_of_a_token_is_its_logit_s_softmax(lm):
    ids = torch.tensor(question_ids(lm, QUESTION))
    reading = resume_reading(lm, read_passages(lm, PASSAGES[:1]))
    states = torch.cat([reading.start(), reading.extend(ids[None, :-1])], 1)[0]
    by_softmax = reading.logits(states).log_softmax(-1)[torch.arange(len(ids)), ids]
    torch.testing.assert_close(reading.log_p(states, ids), by_softmax, atol=1e-5, rtol=0)


def test_a_passage_kept_alone_is_the_one_kept_among_others(lm):
    with torch.inference_mode():
        among, alone = read_passages(lm, PASSAGES)[1], read_passages(lm, PASSAGES[1:2])[0]
    torch.testing.assert_close(among.memory, alone.memory, atol=1e-5, rtol=0)


@pytest.mark.parametrize("half", [False, True])
@torch.inference_mode()
def test_an_end_that_the_model_is_sure_of_and_the_passage_speaks_against_has_a_finite_probability(half, tiny):
    """Nearness takes 9 from the logit of the end, which was nearly all there was; in half precision the sum over the
    vocabulary errs by more than what is left. By float64's softmax."""
    torch.manual_seed(1)
    lm = load_question_lm(tiny()).eval()
    lm.bias[lm.end], lm.end_scale[...], lm.end_bias[...] = 30, 0, -9
    reading = resume_reading(lm, read_passages(lm, [""]))
    states = torch.cat([torch.randn(200, lm.backbone.hidden), torch.zeros(200, 1)], 1)
    targets = torch.arange(200) % 50
    targets[::2] = lm.end
    exact = reading.logits(states).double().log_softmax(-1).gather(1, targets[:, None])[:, 0].float()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
        got = reading.log_p(states, targets)
    torch.testing.assert_close(got, exact, atol=0.15 if half else 1e-5, rtol=0)
