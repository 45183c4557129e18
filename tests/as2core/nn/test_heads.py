"""The classifiers at the exits, whatever precision the encoder runs in."""

import pytest
import torch

from as2core.nn.heads import ClsHead, ExitHead

HIDDEN, LENGTH = 32, 8
MASK = torch.ones(20, LENGTH, dtype=torch.bool)
SECOND = MASK & (torch.arange(LENGTH) >= 4)


def exit_head() -> ExitHead:
    """As after training: the cosine counts some 30, the bias some -28."""
    torch.manual_seed(1)
    head = ExitHead(HIDDEN).eval()
    with torch.no_grad():
        head.cosine.fill_(30)
        head.net[-1].weight.normal_(std=0.01)
        head.net[-1].bias.fill_(-28)
    return head


def cls_head() -> ClsHead:
    torch.manual_seed(1)
    head = ClsHead(HIDDEN).eval()
    with torch.no_grad():
        head.net[-1].bias.fill_(-28)
    return head


@pytest.mark.parametrize("made", [exit_head, cls_head])
@torch.inference_mode()
def test_distinct_states_have_distinct_logits_under_autocast_and_those_of_float32(made):
    """A bfloat16 has 8 bits: between 16 and 32 its steps are 0.125."""
    head, states = made(), torch.randn(HIDDEN) + 0.1 * torch.randn(20, LENGTH, HIDDEN)
    exact = head(states, MASK, SECOND)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = head(states, MASK, SECOND)
        of_half = head(states.bfloat16(), MASK, SECOND)
    assert got.dtype == of_half.dtype == torch.float32
    assert len(exact.unique()) == len(of_half.unique()) == 20
    assert got.equal(exact)
    torch.testing.assert_close(of_half, head(states.bfloat16().float(), MASK, SECOND), atol=0, rtol=0)
