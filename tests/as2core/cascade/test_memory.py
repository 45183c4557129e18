"""Bytes at the peak and passes through layers, against arithmetic by hand."""

import pytest
import torch

from as2core.cascade.engine import run_cascade
from as2core.cascade.engine_torch import TorchEngine
from as2core.cascade.memory import PeakBytes, measure
from as2core.cascade.schedule import DropSchedule
from as2core.nn.backbone import load_backbone
from as2core.rankers.cascade import CascadeRanker

QUESTION, TEXT = "where is the tower ?", "the tower stands in the old city where people stand"


def test_a_tensor_counts_while_it_is_held_and_a_view_of_it_never():
    with PeakBytes() as mode:
        a = torch.zeros(1000)
        view = a.view(10, 100)[2:]
        b = torch.zeros(500, dtype=torch.float64)
        assert (mode.now, mode.peak) == (8000, 8000)
        del b
        assert (mode.now, mode.peak) == (4000, 8000)
        del a
        assert mode.now == 4000  # the view holds it
        del view
        assert mode.now == 0
        with torch.inference_mode():
            torch.zeros(3000)
    assert mode.peak == 12000


@pytest.fixture(scope="module")
def ranker(tiny):
    return CascadeRanker(load_backbone(tiny("bert", 12)), keep=1)


def use(ranker, candidates, *, ratio, batch=84):
    exits, heads = (ranker.exits, ranker.module.heads) if ratio else (ranker.exits[-1:], ranker.module.heads[-1:])
    tokens = ranker.backbone.encode([QUESTION], [TEXT]).lengths[0]
    engine = TorchEngine(ranker.backbone, heads, exits, max_length=128, budget=batch * tokens)
    schedule = DropSchedule.constant(ratio, exits=len(exits))
    return measure(lambda: run_cascade(engine, [(QUESTION, [TEXT] * candidates)], schedule), ranker.backbone.blocks)


def test_survivors_are_packed_anew_so_that_128_candidates_take_18_passes_where_a_monolithic_model_takes_24(ranker):
    """Of 128, 90, 63, 45 and 32 in batches of 84: 2, 2, 1, 1 and 1, through 4, 2, 2, 2 and 2 layers."""
    assert use(ranker, 128, ratio=0.3).passes == 2 * 4 + 2 * 2 + 2 + 2 + 2
    assert use(ranker, 128, ratio=0).passes == 2 * 12


def test_the_peak_is_that_of_one_micro_batch_and_of_the_states_that_wait(ranker):
    whole, saving = (use(ranker, 128, ratio=ratio) for ratio in (0, 0.3))
    tokens = ranker.backbone.encode([QUESTION], [TEXT]).lengths[0]
    waiting = 128 * tokens * ranker.backbone.hidden * 4
    assert whole.peak <= saving.peak <= whole.peak + waiting
    assert use(ranker, 1280, ratio=0).peak < 1.05 * whole.peak  # so it is whatever the number of candidates


def test_many_candidates_take_as_many_passes_fewer_as_the_cost_says(ranker):
    whole, saving = (use(ranker, 1280, ratio=ratio) for ratio in (0, 0.3))
    assert saving.passes / whole.passes == pytest.approx(0.63, abs=0.02)  # Table 3: -37 %
