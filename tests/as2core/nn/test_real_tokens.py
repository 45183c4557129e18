"""The cascade's network leaves out the padding, and gives what the padded layers give."""

import pytest
import torch
from torch.testing import assert_close

from as2core.nn.backbone import load_backbone
from as2core.nn.cascade import CascadeModule
from as2core.nn.real_tokens import RealTokens

MASK = torch.tensor([[True, True, True, False], [True, False, False, False], [True, True, True, True]])


@pytest.fixture(params=["bert", "roberta", "electra"])
def module(request, tiny):
    module = CascadeModule(load_backbone(str(tiny(request.param))), (1, 2)).eval()
    for head in module.heads:
        torch.nn.init.normal_(head.net[-1].weight)
    return module


def compute_padded(module: CascadeModule, ids, mask, second):
    hidden = module.backbone.run(module.backbone.embed(ids, second), mask, 0, 1)
    return {
        1: module.heads[0](hidden, mask, second),
        2: module.heads[1](module.backbone.run(hidden, mask, 1, 2), mask, second),
    }


def read_gradients(module: CascadeModule, logits: dict[int, torch.Tensor]) -> dict[str, torch.Tensor]:
    module.zero_grad()
    sum(x.square().sum() for x in logits.values()).backward()
    return {name: p.grad for name, p in module.named_parameters() if p.grad is not None}


def test_logits_and_gradients_are_those_of_padded_layers(module):
    ids = torch.tensor([[5, 6, 7, 0], [8, 0, 0, 0], [9, 10, 11, 12]])
    second = MASK & torch.tensor([False, True, True, True])
    ours, padded = module(ids, MASK, second), compute_padded(module, ids, MASK, second)
    assert_close(ours, padded, atol=1e-5, rtol=1e-5)
    gradients = read_gradients(module, ours)
    assert len(gradients) > 20
    assert_close(gradients, read_gradients(module, compute_padded(module, ids, MASK, second)), atol=1e-4, rtol=1e-4)


def test_the_layers_compute_real_tokens_alone(module):
    shapes = []
    module.backbone.blocks[1].intermediate.register_forward_hook(
        lambda _, inputs, __: shapes.append(inputs[0].shape[:2])
    )
    module(torch.arange(5, 17).reshape(3, 4), MASK, MASK)
    assert shapes == [(1, 8)]


def test_states_return_to_their_places_and_zeros_to_the_padding():
    padded = torch.arange(24.0).reshape(3, 4, 2) + 1
    real = RealTokens(MASK)
    assert_close(real.take(padded)[0, 3], torch.tensor([9.0, 10.0]))  # the second text's only token
    assert_close(real.put_back(real.take(padded)), padded * MASK[:, :, None])
