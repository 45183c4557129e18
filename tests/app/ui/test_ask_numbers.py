"""What the components compute before they draw."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from app.ui.ask.answer import describe_latency, describe_probability, format_percent
from app.ui.ask.candidates import compute_table_height
from app.ui.ask.cost import compute_saving, describe_share, draw_costs, list_costs
from app.ui.ask.drops import parse_percents
from app.ui.wording import describe_vectors
from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace, ExitRecord
from as2core.cost import EncoderShape, head_flops, layer_flops
from as2core.rankers.first_stage import with_first
from as2core.types import Candidate

SHAPE = EncoderShape(384, 1536, 6)


def a_trace(scores):
    n = len(scores[0])
    lengths = np.full(n, 30)
    exits = tuple(
        ExitRecord(layer, np.arange(n), np.array(s, dtype=np.float32), np.array([], dtype=int), 0.2, 30 * n,
                   span * layer_flops(lengths, SHAPE) + head_flops(n, SHAPE))
        for layer, span, s in zip((2, 4, 6), (2, 2, 2), scores, strict=True)
    )  # fmt: skip
    return CascadeTrace(lengths, exits, DropSchedule.constant(0.0, exits=3), SHAPE)


@pytest.mark.parametrize(
    ("probability", "words"),
    [(0.97, "Almost certainly the answer"), (0.75, "Very likely the answer"), (0.5, "Possibly the answer"),
     (0.1, "Uncertain"), (0.004, "Unlikely")],
)  # fmt: skip
def test_a_probability_has_words(probability, words):
    assert describe_probability(probability) == words


@pytest.mark.parametrize(
    ("share", "told"), [(0.0, "0 %"), (0.004, "< 1 %"), (0.304, "30 %"), (0.996, "> 99 %"), (1.0, "100 %")]
)
def test_a_share_is_never_rounded_to_certainty(share, told):
    assert format_percent(share) == told


def test_the_cost_table_tells_what_each_stretch_saved():
    full = a_trace([[4, 3, 2, 1]] * 3)
    run = full.replay(DropSchedule((0.5, 0.5)))
    rows = list_costs(run)
    told = [(r.title, r.candidates, r.survivors) for r in rows]
    assert told == [("layer 2", 4, 2), ("layer 4", 2, 1), ("layer 6", 1, 1)]
    # equal lengths: half the candidates cost half, a quarter a quarter
    assert [r.saved for r in rows] == pytest.approx([0.0, 0.5, 0.75])
    assert [r.ms for r in rows] == pytest.approx([200, 100, 50])
    # against one model with a single classifier: (2 + 1 + 0.5) of 6 layers' worth and 7 heads instead of 4
    layers, heads = layer_flops(np.full(4, 30), SHAPE), head_flops(4, SHAPE)
    assert compute_saving(run) == pytest.approx(1 - (3.5 * layers + 1.75 * heads) / (6 * layers + heads))


@pytest.mark.parametrize(
    ("share", "told"),
    [(-0.002, "0 %"), (-0.0, "0 %"), (0.0, "0 %"), (-0.012, "1 % more"), (0.003, "< 1 %"), (0.304, "30 %")],
)
def test_a_saving_is_never_a_negative_zero(share, told):
    assert describe_share(share) == told


@pytest.fixture
def texts(monkeypatch):
    """What is put on the page, a text a call."""
    out = []
    monkeypatch.setattr("app.ui.ask.cost.st", SimpleNamespace(html=out.append, caption=out.append))
    return out


def test_a_run_that_dropped_nobody_shows_the_times_measured_whatever_its_schedule(texts):
    full = a_trace([[2, 1]] * 3)
    draw_costs(full.replay(DropSchedule((0.3, 0.3))), full)  # three tenths of two are nobody
    assert "time, measured" in texts[0]
    assert "estimated" not in "".join(texts)


def test_the_second_look_is_told_where_there_was_one(texts):
    full = a_trace([[4, 3, 2, 1]] * 3)
    draw_costs(full, full)
    assert "second time" not in texts[-1]
    again = replace(full, exits=(*full.exits[:-1], replace(full.exits[-1], again=np.array([0, 1]))))
    draw_costs(again, again)
    assert "second time" in texts[-1]


def test_a_run_that_took_more_than_the_whole_model_says_why(texts):
    full = a_trace([[2, 1]] * 3)
    draw_costs(full, full)
    assert "took more" not in texts[-1]
    dearer = replace(full, exits=tuple(replace(e, flops=e.flops * 101 // 100) for e in full.exits))
    draw_costs(dearer, dearer)
    assert "1 % more" in texts[-2]
    assert "It took more" in texts[-1]


def test_the_table_of_candidates_is_as_high_as_its_rows_up_to_some_ten():
    assert compute_table_height(2) == 112
    assert compute_table_height(100) == compute_table_height(400) == 388


def test_behind_a_first_stage_savings_are_those_of_the_cascade_alone(texts):
    inside = a_trace([[4, 3, 2, 1]] * 3)
    stage = ExitRecord(0, np.arange(8), np.arange(8, 0, -1), np.arange(4, 8), 0.01, 0, 10**12, "first stage")
    full = with_first(inside, stage, [Candidate(str(i), "alike") for i in range(8)])
    run = full.replay(DropSchedule((0.5, 0.5)))
    rows = list_costs(run)
    assert [(r.title, r.candidates, r.survivors) for r in rows[:2]] == [("first stage", 8, 4), ("layer 2", 4, 2)]
    assert rows[0].saved is None
    assert [r.saved for r in rows[1:]] == pytest.approx([0.0, 0.5, 0.75])
    # as without the first stage: (2 + 1 + 0.5) of 6 layers' worth, whatever the first stage took
    assert (
        compute_saving(run)
        == compute_saving(inside.replay(DropSchedule((0.5, 0.5))))
        == pytest.approx(2.5 / 6, abs=0.01)
    )
    draw_costs(run, full)
    assert "The first stage spared it the other 4; that is not counted here." in texts[-1]


@pytest.mark.parametrize(
    ("text", "values"),
    [("30", [30]), ("30-20-50-10", [30, 20, 50, 10]), ("30-20", None), ("33", [33]), ("75", None), ("", None),
     ("-5", None), ("x", None), ("٣٠", None)],
)  # fmt: skip
def test_the_address_gives_drop_shares_or_nothing(text, values):
    assert parse_percents(text, 5) == values


@pytest.mark.parametrize(("seconds", "text"), [(0.04, "under 0.1 s"), (1.24, "1.2 s")])
def test_no_time_is_called_none(seconds, text):
    assert describe_latency(seconds).replace("\u00a0", " ") == text


def test_how_far_search_by_meaning_is_has_one_wording():
    words = "Search by meaning is 89 % prepared. Answers get better once it is ready."
    assert describe_vectors(89, 100) == words
    assert describe_vectors(2, 100, ", 4 to 6 h left").startswith("Search by meaning is 2 % prepared, 4 to 6 h left. ")
    assert describe_vectors(199, 200) == "Search by meaning is 99 % prepared."
