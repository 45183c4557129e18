"""The margin ranking loss: a right answer has to score `margin` above the hardest of the sampled wrong ones.

It trains the discriminative twins of Nogueira dos Santos et al. (2020, Table 2); over log-likelihoods it is their RLL.
"""

import torch
from torch import Tensor


def pairwise(scores: Tensor, labels: Tensor, sizes: list[int], margin: float = 1.0) -> Tensor:
    """scores (n,) and labels (n,) in {0, 1} of several questions one after the other, `sizes` candidates each ->
    the mean over questions of max(0, margin - s+ + max s-), itself a mean over the question's right answers.

    The wrong ones are those in the batch, a sample; a question without both kinds adds nothing.
    """
    losses = []
    for s, y in zip(scores.split(sizes), labels.split(sizes), strict=True):
        if (y == 1).any() and (y == 0).any():
            losses.append((margin - s[y == 1] + s[y == 0].max()).clamp(min=0).mean())
    return torch.stack(losses).mean() if losses else scores.sum() * 0.0
