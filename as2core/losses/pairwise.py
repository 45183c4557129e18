"""The margin ranking loss: a right answer has to score `margin` above the hardest of the sampled wrong ones.

It trains the discriminative twins of Nogueira dos Santos et al. (2020, Table 2); over log-likelihoods it is their RLL.
"""

import torch
from torch import Tensor

from as2core.losses.groups import add_up, find_highest, number_rows


def pairwise(scores: Tensor, labels: Tensor, sizes: list[int], margin: float = 1.0, *, sums: bool = False) -> Tensor:
    """scores (n,) and labels (n,) in {0, 1} of several questions one after the other, `sizes` candidates each ->
    the mean over questions of max(0, margin - s+ + max s-), itself a mean over the question's right answers.

    With `sums` both are sums: over every right answer with its hardest wrong one. The wrong ones are those in the
    batch, a sample; a question without both kinds adds nothing.
    """
    rows, questions = number_rows(sizes, scores), len(sizes)
    correct = add_up((labels == 1).float(), rows, questions)
    hardest = find_highest(scores.masked_fill(labels != 0, -torch.inf), rows, questions)
    has_both = (correct > 0) & hardest.isfinite()
    hinges = (margin - scores + torch.where(has_both, hardest, 0.0)[rows]).clamp(min=0)
    losses = add_up(hinges * (labels == 1), rows, questions) * has_both
    if sums:
        return losses.sum()
    return (losses / correct.clamp(min=1)).sum() / has_both.sum().clamp(min=1)
