"""The classifier at an exit (Cascade Transformer, sections 4.3 and 5.2): three feed-forward layers with tanh over the
mean of all token encodings.

Where we differ. One logit where the paper has two classes: the sigmoid of one is the softmax of two. And the logit has
a second term, a weighted cosine of the question's and the candidate's mean encodings. The default backbone was trained
to make that cosine large for pairs that belong together, so the cascade starts from what the bi-encoder knows instead
of from chance: the feed-forward part starts at zero and learns what the cosine misses.

A head works in float32, also where autocast has the encoder in bfloat16: after training cosine and bias are some 30 and
-28, and bfloat16's steps between 16 and 32 are 0.125, which would give many candidates one logit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

import torch
from torch import nn
from torch.nn.functional import normalize

COSINE_SCALE = 10.0  # the cosine's first weight: cosines differ by tenths, logits by ones

Head = TypeVar("Head", bound=nn.Module)
Forward = Callable[[Head, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def in_float32(forward: Forward[Head]) -> Forward[Head]:
    """A head's forward without autocast, on the states in float32."""

    @wraps(forward)
    def without_autocast(self: Head, hidden: torch.Tensor, mask: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        with torch.autocast(hidden.device.type, enabled=False):
            return forward(self, hidden.float(), mask, second)

    return without_autocast


class ExitHead(nn.Module):
    """(batch, length, hidden) -> logit (batch,). Dropout as the encoder's, 0.1."""

    def __init__(self, hidden: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(hidden, hidden),
            nn.Tanh(),
            nn.Dropout(dropout),
            nn.Linear(hidden, hidden),
            nn.Tanh(),
            nn.Dropout(dropout),
            nn.Linear(hidden, 1),
        )
        for parameter in self.net[-1].parameters():
            nn.init.zeros_(parameter)
        self.cosine = nn.Parameter(torch.full((hidden,), COSINE_SCALE))

    @in_float32
    def forward(self, hidden: torch.Tensor, mask: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        """`mask` (batch, length) marks real tokens, `second` those of the candidate."""
        question = normalize(mean_pool(hidden, mask & ~second), dim=1)
        candidate = normalize(mean_pool(hidden, mask & second), dim=1)
        similarity = (question * candidate) @ self.cosine
        return self.net(mean_pool(hidden, mask)).squeeze(-1) + similarity


class ClsHead(nn.Module):
    """BERT's classifier (Devlin et al., 2019): a tanh layer over the first token's state, then one number. The
    discriminative twin of Nogueira dos Santos et al. (2020). Called as `ExitHead` is."""

    def __init__(self, hidden: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(hidden, hidden), nn.Tanh(), nn.Dropout(dropout), nn.Linear(hidden, 1))

    @in_float32
    def forward(self, hidden: torch.Tensor, mask: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        return self.net(hidden[:, 0]).squeeze(-1)


def mean_pool(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The mean over the marked tokens: (batch, length, hidden), (batch, length) -> (batch, hidden)."""
    weight = mask[:, :, None].to(hidden.dtype)
    return (hidden * weight).sum(1) / weight.sum(1).clamp(min=1)
