"""Binary cross-entropy a candidate, the pointwise loss of every paper here."""

from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits


def pointwise(logits: Tensor, labels: Tensor) -> Tensor:
    """logits (n,), labels (n,) in {0, 1} -> mean of -y log s(x) - (1 - y) log(1 - s(x)), s the sigmoid."""
    return binary_cross_entropy_with_logits(logits.float(), labels.float())
