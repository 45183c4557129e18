"""KL from a target distribution over one question's candidates to the softmax of the logits.

With labels as the target it is the listwise loss of Bonadiman and Moschitti (2020), section 4.2; with a teacher's
scores it is distillation (Hinton et al., 2015).
"""

import torch
from torch import Tensor
from torch.nn.functional import kl_div

from as2core.losses.groups import add_up, log_sum_exp, number_rows


def listwise(logits: Tensor, target: Tensor, sizes: list[int]) -> Tensor:
    """logits (n,) and target (n,) of several questions one after the other, `sizes` candidates each -> mean KL.

    A question's targets sum to 1.
    """
    return kl_div(_log_softmax(logits, sizes), target.float(), reduction="sum") / len(sizes)


def relevance(labels: Tensor, sizes: list[int]) -> Tensor:
    """Labels (n,) as one distribution a question: equal shares for its correct candidates."""
    rows, y = number_rows(sizes, labels), labels.float()
    return y / add_up(y, rows, len(sizes)).clamp(min=1)[rows]


def soften(scores: Tensor, sizes: list[int], temperature: float) -> Tensor:
    """A teacher's scores (n,) as one distribution a question: softmax(scores / temperature)."""
    return _log_softmax(scores.float() / temperature, sizes).exp()


def contrast(logits: Tensor, labels: Tensor, sizes: list[int]) -> tuple[Tensor, Tensor]:
    """InfoNCE within a question (van den Oord et al., 2018, Eq. 4; several positives as in Khosla et al., 2020, Eq. 2):
    logits (n,) and labels (n,) -> the mean over correct candidates of -log softmax, each against the incorrect ones of
    its question, and over how many questions. Zero of a question without both kinds."""
    x, rows, questions = logits.float(), number_rows(sizes, logits), len(sizes)
    correct, incorrect = (add_up((labels == y).float(), rows, questions) for y in (1, 0))
    others = log_sum_exp(x.masked_fill(labels != 0, -torch.inf), rows, questions)
    losses = (x.logaddexp(others[rows]) - x) * (labels == 1)
    means = add_up(losses, rows, questions) / correct.clamp(min=1)
    has_both = (correct > 0) & (incorrect > 0)
    count = has_both.sum()
    return (means * has_both).sum() / count.clamp(min=1), count


def _log_softmax(x: Tensor, sizes: list[int]) -> Tensor:
    """Within each question, in float32."""
    rows = number_rows(sizes, x)
    return x.float() - log_sum_exp(x.float(), rows, len(sizes))[rows]
