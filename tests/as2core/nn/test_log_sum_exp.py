"""The sum over a vocabulary in blocks, in float32 and by int8 steps, against torch's own."""

import pytest
import torch

from as2core.nn.log_sum_exp import BLOCK_STATES, BLOCK_WORDS, log_sum_exp


@pytest.fixture
def layer():
    torch.manual_seed(0)
    return (
        torch.randn(BLOCK_STATES + 3, 48),
        torch.randn(3 * BLOCK_WORDS + 5, 48) * 0.4,
        torch.randn(3 * BLOCK_WORDS + 5),
    )


def exact(state, table, bias):
    return torch.logsumexp(state.double() @ table.double().T + bias.double(), 1)


def test_the_sum_in_blocks_is_torch_s(layer):
    torch.testing.assert_close(log_sum_exp(*layer).double(), exact(*layer), atol=1e-5, rtol=0)


def in_half_precision(*layer):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return log_sum_exp(*layer)


def test_int8_steps_are_about_as_near_as_bfloat16_products(layer):
    state, table, bias = layer
    halved = torch.logsumexp((state.bfloat16() @ table.bfloat16().T + bias.bfloat16()).double(), 1)
    by_steps = in_half_precision(*layer)
    assert by_steps.dtype == torch.float32
    assert (by_steps - exact(*layer)).abs().max() < 0.1
    assert (by_steps - exact(*layer)).abs().mean() < 1.5 * (halved - exact(*layer)).abs().mean()


def test_every_row_has_its_own_scale(layer):
    state, table, bias = layer
    state[1] *= 1e-3
    table[:BLOCK_WORDS] *= 1e-3
    table[7] = 0
    torch.testing.assert_close(
        in_half_precision(state, table, bias).double(), exact(state, table, bias), atol=0.1, rtol=0
    )
    alone = in_half_precision(state[1:2], table, bias).double()
    torch.testing.assert_close(alone, exact(state[1:2], table, bias), atol=1e-4, rtol=0)


def test_a_table_that_was_trained_since_is_read_anew(layer):
    in_half_precision(*layer)
    layer[1].mul_(0.5)
    torch.testing.assert_close(in_half_precision(*layer).double(), exact(*layer), atol=0.1, rtol=0)


@pytest.mark.parametrize("states", [0, 1, BLOCK_STATES])
def test_any_number_of_states_will_do(layer, states):
    state, table, bias = layer
    assert in_half_precision(state[:states], table, bias).shape == (states,)
