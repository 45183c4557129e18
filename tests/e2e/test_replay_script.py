"""The picture's own arithmetic against the library's: the same survivors in the same order, and the same cost. And how
it breaks the text of a line in two."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace, ExitRecord, exit_flops
from as2core.cost import EncoderShape, head_flops, layer_flops

pytestmark = pytest.mark.browser

FOLDER = Path(__file__).parents[2] / "app" / "ui" / "ask"
SCRIPT = FOLDER / "replay.js"
SHAPE = EncoderShape(384, 1536, 6)
LAYERS = (2, 3, 4, 5, 6)
PERCENTS = [[p] for p in (0, 1, 10, 29, 30, 45, 50, 70)] + [[50, 20, 0, 10], [7, 13, 31, 69], [0, 0, 0, 70]]


def make_trace(candidates, seed):
    """Scores of one decimal, so that some are equal; the last exit scored its first three twice."""
    random = np.random.default_rng(seed)
    lengths, everyone = random.integers(8, 90, candidates), np.arange(candidates)
    exits, below = [], 0
    for layer in LAYERS:
        scores = random.normal(0, 3, candidates).round(1).astype(np.float32)
        again = np.argsort(-scores)[:3] if layer == LAYERS[-1] else everyone[:0]
        flops = exit_flops(below, layer, lengths, lengths[again], SHAPE)
        exits.append(ExitRecord(layer, everyone, scores, everyone[:0], 0.1, int(lengths.sum()), flops, again=again))
        below = layer
    return CascadeTrace(lengths, tuple(exits), DropSchedule.constant(0.0, exits=len(LAYERS)), SHAPE)


def describe(trace):
    """As the page sends it, as far as the replay reads it."""
    return {
        "entered": trace.entered.tolist(),
        "costs": [layer_flops(trace.lengths[i : i + 1], SHAPE) for i in range(trace.candidates)],
        "head": head_flops(1, SHAPE),
        "exits": [
            {"title": e.title, "layer": e.layer, "scores": e.scores.tolist(), "again": e.again.tolist()}
            for e in trace.exits
        ],
    }


@pytest.fixture
def replay(open_page):
    page = open_page()
    page.set_content("<p>")
    source = SCRIPT.read_text(encoding="utf-8").replace("export function", "function")
    page.add_script_tag(content=source)
    call = "([record, percents]) => replay(record, expandPercents(percents, record.exits.length))"
    return lambda record, percents: page.evaluate(call, [record, percents])


def test_the_browser_drops_whom_the_library_drops_and_counts_the_same_operations(replay):
    for candidates, percents in itertools.product((1, 2, 7, 40, 100), PERCENTS):
        trace = make_trace(candidates, seed=candidates)
        ratios = tuple(p / 100 for p in (percents * 4 if len(percents) == 1 else percents))
        run, drawn = trace.replay(DropSchedule(ratios)), replay(describe(trace), percents)
        for record, drawn_exit in zip(run.exits, drawn["exits"], strict=True):
            assert sorted(drawn_exit["bestFirst"]) == record.alive.tolist()
            assert drawn_exit["kept"] == record.survivors
            assert sorted(drawn_exit["bestFirst"][drawn_exit["kept"] :]) == record.dropped.tolist()
        assert drawn["exits"][-1]["bestFirst"] == run.ranking().tolist()[: len(run.exits[-1].alive)]
        assert drawn["flops"] == run.flops
        assert drawn["cost"] == run.cascade_cost == run.relative_cost


def test_a_text_is_broken_at_a_space_and_within_a_word_only_where_that_fills_less_than_a_third(open_page):
    page = open_page()
    page.set_content("<p>")
    page.add_script_tag(content=(FOLDER / "picture.js").read_text(encoding="utf-8").replace("export ", ""))
    texts = ("The bridge", "The old foundations", "It unreconstructedly")
    lines = page.evaluate("texts => texts.map((text) => breakLines(text, 14))", texts)
    assert lines == [["The bridge"], ["The old", "foundations"], ["It unreconstru", "ctedly"]]
