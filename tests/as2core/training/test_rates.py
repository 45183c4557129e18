import pytest
import torch

from as2core.training.rates import rate_schedule
from as2core.training.settings import TrainSettings


def rates(schedule: str, *, steps: int, warmup: float) -> list[float]:
    """The rate of each update, as shares of the peak."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = rate_schedule(TrainSettings(schedule=schedule, warmup=warmup, learning_rate=1.0), optimizer, steps)
    out = []
    for _ in range(steps):
        out.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return out


def test_the_triangle_climbs_to_the_rate_and_falls_to_nothing():
    assert rates("triangular", steps=8, warmup=0.25) == pytest.approx([0, 1 / 2, 1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6])


def test_linear_falls_from_the_first_step():
    assert rates("linear", steps=4, warmup=0.5) == pytest.approx([1, 3 / 4, 2 / 4, 1 / 4])


def test_constant_stays_once_climbed():
    assert rates("constant", steps=5, warmup=0.4) == pytest.approx([0, 1 / 2, 1, 1, 1])


def test_the_slanted_triangle_is_howard_and_ruder_s():
    """Their Eq. 3 as it is printed, with T = 40 updates, cut_frac = 0.1 and ratio = 32."""
    total, cut_frac, ratio = 40, 0.1, 32
    cut = int(total * cut_frac)
    expected = []
    for t in range(total):
        p = t / cut if t < cut else 1 - (t - cut) / (cut * (1 / cut_frac - 1))
        expected.append((1 + p * (ratio - 1)) / ratio)
    assert rates("slanted-triangular", steps=total, warmup=cut_frac) == pytest.approx(expected)
