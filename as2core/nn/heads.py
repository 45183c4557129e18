"""The classifier at an exit (Cascade Transformer, sections 4.3 and 5.2): three feed-forward layers with tanh.

We end in one logit where the paper ends in two classes: the sigmoid of one is the softmax of two.
"""

from __future__ import annotations

import torch
from torch import nn


class ExitHead(nn.Module):
    """Mean token encoding (batch, hidden) -> logit (batch,). Dropout as the encoder's, 0.1."""

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

    def forward(self, pooled: torch.Tensor) -> torch.Tensor:
        return self.net(pooled).squeeze(-1)
