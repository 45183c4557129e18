"""KL from a target distribution over one question's candidates to the softmax of the logits.

With labels as the target it is the listwise loss of Bonadiman and Moschitti (2020), section 4.2; with a teacher's
scores it is distillation (Hinton et al., 2015).
"""

import torch
from torch import Tensor
from torch.nn.functional import kl_div


def listwise(logits: Tensor, target: Tensor, sizes: list[int]) -> Tensor:
    """logits (n,) and target (n,) of several questions one after the other, `sizes` candidates each -> mean KL.

    A question's targets sum to 1.
    """
    total = logits.new_zeros(())
    for x, p in zip(logits.float().split(sizes), target.float().split(sizes), strict=True):
        total = total + kl_div(x.log_softmax(0), p, reduction="sum")
    return total / len(sizes)


def relevance(labels: Tensor, sizes: list[int]) -> Tensor:
    """Labels (n,) as one distribution a question: equal shares for its correct candidates."""
    return torch.cat([y / y.sum().clamp(min=1) for y in labels.float().split(sizes)])


def soften(scores: Tensor, sizes: list[int], temperature: float) -> Tensor:
    """A teacher's scores (n,) as one distribution a question: softmax(scores / temperature)."""
    return torch.cat([(s.float() / temperature).softmax(0) for s in scores.split(sizes)])


def contrast(logits: Tensor, labels: Tensor, sizes: list[int]) -> tuple[Tensor, int]:
    """InfoNCE within a question (van den Oord et al., 2018, Eq. 4; several positives as in Khosla et al., 2020, Eq. 2):
    logits (n,) and labels (n,) -> the mean over correct candidates of -log softmax, each against the incorrect ones of
    its question, and over how many questions. Zero of a question without both kinds."""
    losses = []
    for x, y in zip(logits.float().split(sizes), labels.split(sizes), strict=True):
        correct, incorrect = x[y == 1], x[y == 0]
        if len(correct) and len(incorrect):
            others = incorrect.logsumexp(0)
            losses.append((correct.logaddexp(others) - correct).mean())
    return (torch.stack(losses).mean() if losses else logits.float().sum() * 0), len(losses)
