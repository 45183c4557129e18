"""FastDropout: dropout as torch's own, but for the draw."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from as2core.training import dropout
from as2core.training.dropout import FastDropout, draw_mask

P = 0.1


def test_a_tenth_is_zero_and_the_mean_stays():
    torch.manual_seed(0)
    mask = draw_mask(torch.empty(1000, 999), P)
    zeros = mask == 0
    assert zeros.float().mean().item() == pytest.approx(P, abs=0.001)
    independent = (P * (1 - P) / 1000) ** 0.5
    assert zeros.float().mean(0).std().item() == pytest.approx(independent, rel=0.1)
    assert mask[~zeros].unique().tolist() == pytest.approx([1 / (1 - P)], rel=1e-4)


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 8])
def test_any_number_of_elements(size):
    assert draw_mask(torch.empty(size), P).shape == (size,)


def test_layers_are_reached_and_the_seed_is_torchs():
    layer, x = nn.Dropout(P), torch.ones(64, 64)
    with FastDropout():
        first, second = (torch.manual_seed(7) and layer(x) for _ in range(2))
        mask = torch.manual_seed(7) and draw_mask(x, P)
    assert torch.equal(first, second)
    assert torch.equal(first, mask)
    assert not torch.equal(first, torch.manual_seed(7) and layer(x)), "torch's own draws are others"


def test_the_gradient_is_zero_where_the_output_is():
    x = torch.ones(50, 50, requires_grad=True)
    with FastDropout():
        y = F.dropout(x, P)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


@pytest.mark.parametrize("training", [True, False])
def test_no_dropout_where_there_is_none(training):
    layer, x = nn.Dropout(0.0 if training else P).train(training), torch.randn(8, 8)
    with FastDropout():
        assert torch.equal(layer(x), x)


@pytest.mark.parametrize("mask", ["none", "boolean", "added"])
def test_attention_is_torchs_but_for_the_zeros(mask):
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 4, 9, 16)
    visible = torch.rand(2, 1, 1, 9) < 0.8
    visible[..., 0] = True
    added = torch.zeros(visible.shape).masked_fill(~visible, -1e9)
    attn_mask = {"none": None, "boolean": visible, "added": added}[mask]
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask)
    with FastDropout():  # a probability that rounds to nothing, and one that does not
        same = F.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p=1e-9)
        other = F.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p=0.5)
    torch.testing.assert_close(same, expected)
    assert (other - expected).abs().max() > 0.1


@pytest.mark.parametrize("options", [{}, {"dropout_p": 0.0}, {"is_causal": True}])
def test_attention_without_dropout_is_torchs_own(options, monkeypatch):
    monkeypatch.setattr(dropout, "_attend", pytest.fail)
    x = torch.randn(1, 1, 4, 8)
    expected = F.scaled_dot_product_attention(x, x, x, **options)
    with FastDropout():
        assert torch.equal(F.scaled_dot_product_attention(x, x, x, **options), expected)


def test_the_mean_over_many_draws_is_attention_without_dropout():
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 1, 1, 5, 8)
    expected = F.scaled_dot_product_attention(query, key, value)
    with FastDropout():
        draws = [F.scaled_dot_product_attention(query, key, value, dropout_p=P) for _ in range(4000)]
    torch.testing.assert_close(torch.stack(draws).mean(0), expected, atol=0.05, rtol=0)
