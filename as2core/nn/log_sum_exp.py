"""log sum_v exp(state . table_v + bias_v), what the probabilities of a vocabulary are divided by.

It is most of the work of a question over kept passages. The (k, vocabulary) numbers are never in memory at once: one
block of the table's rows is computed at a time. In half precision on a CPU both factors are quantised to int8, with a
scale for each row: faster than bfloat16 (benchmarks/generative_cache.py), and no less exact, since the errors of many
words cancel.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn.functional import linear

BLOCK_STATES, BLOCK_WORDS = 800, 512  # rows of a block, small enough for the processor's cache


def log_sum_exp(state: Tensor, table: Tensor, bias: Tensor) -> Tensor:
    """(k, width), (vocabulary, width), (vocabulary,) -> float32 (k,)."""
    working = working_type(table)
    if working is torch.bfloat16 and table.device.type == "cpu":
        return torch.cat(
            [_reduce_blocks(_int8_blocks(some, table, bias)) for some in state.float().split(BLOCK_STATES)]
        )
    state = state.to(working)  # once, where autocast would do it for every block
    return _reduce_blocks(
        linear(state, words, b) for words, b in zip(table.split(BLOCK_WORDS), bias.split(BLOCK_WORDS), strict=True)
    )


def working_type(tensor: Tensor) -> torch.dtype:
    """The type of products with this tensor."""
    kind = tensor.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else tensor.dtype


def _reduce_blocks(blocks: Iterable[Tensor]) -> Tensor:
    """The log-sum-exp (k,), float32, of logits (k, block) that come block by block."""
    top = total = torch.empty(0)
    for number, logits in enumerate(blocks):
        highest = logits.amax(1).float()
        new = torch.maximum(top, highest) if number else highest
        here = (logits - new[:, None]).exp_().sum(1)  # the difference is float32 whatever the logits are
        total = total * (top - new).exp() + here if number else here
        top = new
    return total.log() + top


def _int8_blocks(state: Tensor, table: Tensor, bias: Tensor) -> Iterator[Tensor]:
    """Logits (k, block) of each block of the table, by int8 products."""
    states, scale = _quantise_rows(state)
    words, scales = _quantise_table(table, table.data_ptr(), table._version)
    blocks = (x.split(BLOCK_WORDS) for x in (words, scales, bias.float()))
    for w, s, b in zip(*blocks, strict=True):
        yield torch._int_mm(states, w.T).float().mul_(scale[:, None]).mul_(s).add_(b)


@lru_cache(maxsize=2)
def _quantise_table(table: Tensor, *_state: int) -> tuple[Tensor, Tensor]:
    """`_state` changes with the table's numbers."""
    return _quantise_rows(table.detach())


def _quantise_rows(rows: Tensor) -> tuple[Tensor, Tensor]:
    """int8 (n, width) and scales (n,): a row is about its int8 values times its scale."""
    scale = rows.abs().amax(1).clamp(min=torch.finfo(rows.dtype).tiny) / 127
    return (rows / scale[:, None]).round().to(torch.int8), scale
