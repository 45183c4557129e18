"""Learning rate schedules. Three of the four are transformers'; Howard and Ruder's is added here."""

from __future__ import annotations

from collections.abc import Callable

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR
from transformers import get_constant_schedule_with_warmup, get_linear_schedule_with_warmup

from as2core.training.settings import TrainSettings

MIN_RATE_SHARE = 1 / 32  # of the rate, where the slanted triangle starts and ends


def rate_schedule(settings: TrainSettings, optimizer: Optimizer, steps: int) -> LambdaLR:
    """The scheduler of `settings.schedule` over `steps` updates, the first `warmup` share of them climbing."""
    climb = 0 if settings.schedule == "linear" else settings.warmup_updates or round(settings.warmup * steps)
    if settings.schedule == "slanted-triangular":
        return LambdaLR(optimizer, slanted_triangle(climb, steps))
    if settings.schedule == "constant":
        return get_constant_schedule_with_warmup(optimizer, climb)
    return get_linear_schedule_with_warmup(optimizer, climb, steps)


def slanted_triangle(climb: int, steps: int) -> Callable[[int], float]:
    """The factor at each update (Howard and Ruder, 2018, Eq. 3): from MIN_RATE_SHARE to 1 over `climb`, then
    back over the rest."""

    def factor(step: int) -> float:
        share = step / climb if step < climb else (steps - step) / max(1, steps - climb)
        return MIN_RATE_SHARE + (1 - MIN_RATE_SHARE) * min(1.0, max(0.0, share))

    return factor
