"""How the learning rate goes over a run. Three of the four are transformers' own; Howard and Ruder's is not there."""

from __future__ import annotations

from collections.abc import Callable

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, LRScheduler
from transformers import get_scheduler

from as2core.training.settings import TrainSettings

LOWEST = 1 / 32  # of the rate, where the slanted triangle starts and ends
OURS_TO_HF = {"triangular": "linear", "linear": "linear", "constant": "constant_with_warmup"}


def rate_schedule(settings: TrainSettings, optimizer: Optimizer, steps: int) -> LRScheduler:
    """The scheduler of `settings.schedule` over `steps` updates, the first `warmup` share of them climbing."""
    climb = 0 if settings.schedule == "linear" else round(settings.warmup * steps)
    if settings.schedule == "slanted-triangular":
        return LambdaLR(optimizer, slanted_triangle(climb, steps))
    return get_scheduler(OURS_TO_HF[settings.schedule], optimizer, num_warmup_steps=climb, num_training_steps=steps)


def slanted_triangle(climb: int, steps: int) -> Callable[[int], float]:
    """The factor at each update (Howard and Ruder, 2018, Eq. 3): from LOWEST to 1 over `climb`, then back over the
    rest."""

    def factor(step: int) -> float:
        share = step / climb if step < climb else (steps - step) / max(1, steps - climb)
        return LOWEST + (1 - LOWEST) * min(1.0, max(0.0, share))

    return factor
