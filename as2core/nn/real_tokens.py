"""Layers that leave out the padding: all but attention reads each token by itself, so a batch goes through them as one
row of its real tokens, and is padded for attention alone (Zeng et al., 2022, arXiv:2208.08124).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

if TYPE_CHECKING:
    from transformers import PreTrainedModel

ATTENTION = "sdpa_of_real_tokens"  # its name in transformers


class RealTokens:
    """Where the real tokens of a padded batch are; `mask` (batch, length) is True for them. A layer takes it in the
    place of an attention mask, with states (1, tokens, hidden)."""

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask
        self._places = mask.flatten().nonzero().squeeze(1)

    def take(self, padded: Tensor) -> Tensor:
        """(batch, length, n) -> (1, tokens, n)."""
        return padded.flatten(0, 1).index_select(0, self._places)[None]

    def put_back(self, states: Tensor) -> Tensor:
        """(1, tokens, n) -> (batch, length, n), zero where there is no token."""
        width = states.shape[-1]
        padded = states.new_zeros(self.mask.numel(), width).index_copy(0, self._places, states[0])
        return padded.view(*self.mask.shape, width)


def let_attend_to_real_tokens(model: PreTrainedModel) -> None:
    """Let the model's layers take RealTokens as a mask. With other masks they compute what they did before."""
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    ALL_ATTENTION_FUNCTIONS.register(ATTENTION, _attend)
    model.set_attn_implementation(ATTENTION)


def _attend(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | RealTokens | None, **options: Any
) -> tuple[Tensor, None]:
    """As transformers calls it: query, key and value (batch, heads, length, n) -> (batch, length, heads, n)."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    if not isinstance(mask, RealTokens):
        return sdpa_attention_forward(module, query, key, value, mask, **options)
    heads = query.shape[1]

    def pad(states: Tensor) -> Tensor:
        return mask.put_back(states.transpose(1, 2).flatten(2)).unflatten(2, (heads, -1)).transpose(1, 2)

    visible = mask.mask[:, None, None, :]
    out, _ = sdpa_attention_forward(module, pad(query), pad(key), pad(value), visible, **options)
    return mask.take(out.flatten(2)), None
