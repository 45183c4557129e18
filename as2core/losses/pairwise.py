"""The margin ranking loss: a right answer has to score `margin` above the hardest of the sampled wrong ones.

It trains the discriminative twins of Nogueira dos Santos et al. (2020, Table 2); over log-likelihoods it is their RLL.
"""

import torch
from torch import Tensor


def pairwise(scores: Tensor, labels: Tensor, sizes: list[int], margin: float = 1.0, *, sums: bool = False) -> Tensor:
    """scores (n,) and labels (n,) in {0, 1} of several questions one after the other, `sizes` candidates each ->
    the mean over questions of max(0, margin - s+ + max s-), itself a mean over the question's right answers.

    With `sums` both are sums: over every right answer with its hardest wrong one. The wrong ones are those in the
    batch, a sample; a question without both kinds adds nothing.
    """
    losses = []
    for s, y in zip(scores.split(sizes), labels.split(sizes), strict=True):
        if (y == 1).any() and (y == 0).any():
            hinges = (margin - s[y == 1] + s[y == 0].max()).clamp(min=0)
            losses.append(hinges.sum() if sums else hinges.mean())
    if not losses:
        return scores.sum() * 0.0
    return torch.stack(losses).sum() if sums else torch.stack(losses).mean()
