"""Losses on log P(q | a) (Nogueira dos Santos et al., 2020, section 2).

MLE  -log P(q | a+), the mean over the question's tokens.
LUL  a token's likelihood given a right passage, its unlikelihood given a wrong one (Eq. 4):
     -(y log p(q_i | q_<i, a) + (1 - y) log(1 - p(q_i | q_<i, a))).
RLL  max(0, margin - log P(q | a+) + log P(q | a-)), with the highest-scoring of the sampled negatives (Eq. 5): this is
     `as2core.losses.pairwise` over log-likelihoods.

Here they are means over all tokens, or over questions. The paper's equations (2, 4 and 5) are sums: `sums`.
"""

import math

import torch
from torch import Tensor

MIN_NATS = 1e-6  # -log p is taken as at least this, so that the unlikelihood of a certain token is finite


def mle(log_p: Tensor, valid: Tensor, *, sums: bool = False) -> Tensor:
    """log_p and valid (batch, m) of positives -> minus the mean over all question tokens."""
    total = -(log_p * valid).sum()
    return total if sums else total / valid.sum().clamp(min=1)


def lul(log_p: Tensor, valid: Tensor, labels: Tensor, *, sums: bool = False) -> Tensor:
    """log_p and valid (batch, m), labels (batch,) in {0, 1} -> mean over all question tokens."""
    sure = log_p.clamp(max=-MIN_NATS)
    # log(1 - exp(x)) loses its digits near 0 one way and far from it the other (Maechler, 2012)
    wrong = torch.where(sure > -math.log(2), torch.log(-torch.expm1(sure)), torch.log1p(-torch.exp(sure)))
    total = -(torch.where(labels[:, None] == 1, log_p, wrong) * valid).sum()
    return total if sums else total / valid.sum().clamp(min=1)
