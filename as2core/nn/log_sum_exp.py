"""log sum_v exp(state . table_v + bias_v), what the probabilities of a vocabulary are divided by.

It is most of the work of a question over kept passages. The (k, vocabulary) numbers are never in memory at once: a
block of the table's rows is worked at a time. Where half precision is asked for on a CPU, the products are those of
int8 steps, with a scale for each row of both: quicker than bfloat16 (benchmarks/generative_cache.py), and no further
off, for the errors of many words cancel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

import torch
from torch.nn.functional import linear

STATES, WORDS = 800, 512  # of a block, whose numbers then stay near the processor


def log_sum_exp(state: torch.Tensor, table: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """(k, width), (vocabulary, width), (vocabulary,) -> float32 (k,)."""
    working = working_type(table)
    if working is torch.bfloat16 and table.device.type == "cpu":
        return torch.cat([_over(_by_steps(some, table, bias)) for some in state.float().split(STATES)])
    state = state.to(working)  # once, where autocast would do it for every block
    return _over(linear(state, words, b) for words, b in zip(table.split(WORDS), bias.split(WORDS), strict=True))


def working_type(tensor: torch.Tensor) -> torch.dtype:
    """The type that products with this tensor are made in."""
    kind = tensor.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else tensor.dtype


def _over(blocks: Iterable[torch.Tensor]) -> torch.Tensor:
    """Of logits (k, some words) that come block by block and are overwritten: float32 (k,)."""
    top = total = None
    for logits in blocks:
        highest = logits.amax(1).float()
        new = highest if top is None else torch.maximum(top, highest)
        here = (logits - new[:, None]).exp_().sum(1)  # the difference is float32 whatever the logits are
        total = here if total is None else total * (top - new).exp() + here
        top = new
    return total.log() + top


def _by_steps(state: torch.Tensor, table: torch.Tensor, bias: torch.Tensor) -> Iterator[torch.Tensor]:
    steps, scale = _in_steps(state)
    words, scales = _table_in_steps(table, table.data_ptr(), table._version)
    for w, s, b in zip(words.split(WORDS), scales.split(WORDS), bias.float().split(WORDS), strict=True):
        yield torch._int_mm(steps, w.T).float().mul_(scale[:, None]).mul_(s).add_(b)


@lru_cache(maxsize=2)
def _table_in_steps(table: torch.Tensor, *_state: int) -> tuple[torch.Tensor, torch.Tensor]:
    """`_state` changes when the table's numbers do."""
    return _in_steps(table.detach())


def _in_steps(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """int8 (n, width) and scales (n,): rows are about steps times scale."""
    scale = rows.abs().amax(1).clamp(min=torch.finfo(rows.dtype).tiny) / 127
    return (rows / scale[:, None]).round().to(torch.int8), scale
