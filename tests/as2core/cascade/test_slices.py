"""A list read in slices: the same result, with a pause before each slice."""

from __future__ import annotations

import numpy as np
import pytest

from as2core.cascade.engine import run_cascade
from as2core.cascade.schedule import DropSchedule
from as2core.cascade.slices import SlicedEngine, in_slices
from as2core.rankers.cascade import CascadeRanker
from as2core.system.pauses import handle_pauses

QUERY = "when was the tower finished"
WORDS = "the tower bridge river iron steel built finished year city long high".split()


@pytest.fixture
def texts():
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(WORDS, rng.integers(1, 20))) for _ in range(50)]


@pytest.mark.parametrize("ratio", [0.0, 0.4])
def test_slices_give_the_trace_of_one_run(backbone, texts, ratio):
    engine = CascadeRanker(backbone).engine
    schedule = DropSchedule.constant(ratio, exits=len(engine.exits))
    [whole] = run_cascade(engine, [(QUERY, texts)], schedule)
    [sliced] = run_cascade(SlicedEngine(engine, pairs=7), [(QUERY, texts)], schedule)
    assert sliced.lengths.tolist() == whole.lengths.tolist()
    for a, b in zip(sliced.exits, whole.exits, strict=True):
        assert a.alive.tolist() == b.alive.tolist() and a.dropped.tolist() == b.dropped.tolist()
        np.testing.assert_allclose(a.scores, b.scores, atol=1e-5)


def test_there_is_a_pause_before_every_slice_of_every_stretch(backbone, texts):
    engine, pauses = CascadeRanker(backbone).engine, []
    with handle_pauses(pauses.append):
        run_cascade(SlicedEngine(engine, pairs=20), [(QUERY, texts)], DropSchedule((0.5, 0.0, 0.0, 0.0), keep=1))
    assert pauses[:3] == [20, 20, 10] and sum(pauses) == 50 + 25  # half of them go on, through all other exits


def test_the_first_places_are_scored_exactly_slice_by_slice(backbone, texts):
    class Rough:
        """An engine whose logits err, and whose exact ones are the length of the text."""

        def __init__(self, engine):
            self.name, self.error, self.identity = "rough", 1e9, ""
            self.exits, self.shape, self.engine = engine.exits, engine.shape, engine

        def start(self, questions, texts, *, keeps_states=False):
            run = self.engine.start(questions, texts, keeps_states=keeps_states)
            run.exact = lambda members: np.array([len(texts[m]) for m in members], np.float32)
            return run

    engine = SlicedEngine(Rough(CascadeRanker(backbone).engine), pairs=7)
    [trace] = run_cascade(engine, [(QUERY, texts)], DropSchedule.constant(0.0, exits=len(engine.exits)))
    assert trace.exits[-1].scores.tolist() == [len(t) for t in texts]


def test_nothing_is_sliced_where_nobody_waits(backbone):
    engine = CascadeRanker(backbone).engine
    assert in_slices(engine) is engine
    with handle_pauses(lambda pairs: None):
        assert isinstance(in_slices(engine), SlicedEngine)
