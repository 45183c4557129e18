"""Losses on log P(q | a) (Nogueira dos Santos et al., 2020, section 3).

MLE  -log P(q | a+), the mean over the question's tokens.
RLL  max(0, margin - log P(q | a+) + log P(q | a-)), with the highest-scoring of the sampled negatives (Eq. 5).
"""

from __future__ import annotations

import torch


def mle(log_p: torch.Tensor, valid: torch.Tensor) -> torch.Tensor:
    """log_p and valid (batch, m) of positives -> minus the mean over all question tokens."""
    return -(log_p * valid).sum() / valid.sum().clamp(min=1)


def rll(total: torch.Tensor, labels: torch.Tensor, sizes: list[int], margin: float) -> torch.Tensor:
    """`total` (n,) is summed log P(q | a) of several questions' candidates, `sizes` each -> mean hinge.

    Each positive of a question is held against that question's hardest negative.
    """
    losses = []
    for s, y in zip(total.split(sizes), labels.split(sizes), strict=True):
        if (y == 1).any() and (y == 0).any():
            losses.append((margin - s[y == 1] + s[y == 0].max()).clamp(min=0).mean())
    return torch.stack(losses).mean() if losses else total.sum() * 0.0
