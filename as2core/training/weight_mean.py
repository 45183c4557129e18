"""WiSE-FT: the result is a mean of the weights before and after training (Wortsman et al., 2022, arXiv:2109.01903;
Jain et al., 2023, arXiv:2311.13534, find the same for other ways of staying near the base). Few labels move the weights
further than they can justify; the mean goes a part of the way, and costs no training. A share of 0 is the base.

Where we differ: the share is not the best of a grid on validation questions, since these are few. It is DEFAULT_SHARE,
all that was learnt, unless a smaller one is better by more than the standard error of the paired difference (the rule
of one standard error: Breiman et al., 1984, section 3.4.3).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

DEFAULT_SHARE = 1.0
MIXED_SHARES = (0.5,)  # of the way from the base to the trained weights
SHARES = (0.0, *MIXED_SHARES, DEFAULT_SHARE)
MIN_QUESTIONS = 20  # to choose a share by

State = Mapping[str, Tensor]


def copy_state(module: nn.Module) -> dict[str, Tensor]:
    """The weights as they are now."""
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


@torch.no_grad()
def load_mean(module: nn.Module, base: State, trained: State, share: float) -> None:
    """Set the module's weights to `share` of the way from `base` to `trained`; exactly these at 0 and at 1."""
    if share in (0, 1):
        module.load_state_dict(trained if share else base)
        return
    module.load_state_dict(
        {name: base[name].lerp(value, share) if value.is_floating_point() else value for name, value in trained.items()}
    )


def count_mixed_shares(questions: int) -> int:
    """How many means are scored on so many validation questions to choose one; the scores of both ends are known."""
    return len(MIXED_SHARES) if questions >= MIN_QUESTIONS else 0


def choose_share(values: Mapping[float, np.ndarray]) -> float:
    """The share to take, from each share's values `(questions,)` of one measure on the same questions; DEFAULT_SHARE is
    among them. Of several that are clearly better, the one with the highest mean."""
    default = values[DEFAULT_SHARE]

    def is_clearly_better(share: float) -> bool:
        difference = values[share] - default
        return bool(difference.mean() > difference.std(ddof=1) / np.sqrt(len(difference)))

    better = [share for share in values if is_clearly_better(share)]
    return max(better, key=lambda share: (values[share].mean(), -share), default=DEFAULT_SHARE)
