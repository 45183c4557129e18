"""The charts several pages draw: what they keep, leave out and mark."""

from dataclasses import replace
from itertools import pairwise

import pandas as pd
import pytest

from app.compare.comparison import Figure, RankerResult
from app.ui.charts.agreement import build_agreement_chart
from app.ui.charts.intervals import Change, build_before_after_chart, build_difference_chart, build_interval_chart
from app.ui.charts.reliability import build_reliability_chart
from app.ui.charts.slope import build_move_chart, build_slope_chart
from app.ui.charts.tradeoff import build_tradeoff_chart
from app.ui.charts.training import build_dev_chart, build_loss_chart
from app.ui.compare.sweep import build_sweep_chart
from app.ui.theme import BLUE, GREEN, ORANGE
from app.versions.evaluations import ReliabilityBin
from as2core.evaluation.rankers import Outcome

ROWS = [
    RankerResult("bm25", {"AP": Figure(0.50, 0.40, 0.60)}, None, seconds=0.1),
    RankerResult("cascade", {"AP": Figure(0.72, 0.66, 0.78)}, 0.63, seconds=2.0),
    RankerResult("cross-encoder", {"AP": Figure(0.70, 0.64, 0.76)}, 1.0, seconds=3.0),
]


def data(chart, column):
    """Everything a chart draws under this name."""
    spec = chart.to_dict()
    return [row[column] for rows in spec["datasets"].values() for row in rows if column in row]


def test_rankers_without_a_cost_are_left_out_of_the_trade_off():
    assert set(data(build_tradeoff_chart(ROWS), "ranker")) == {"cascade", "cross-encoder"}
    assert build_tradeoff_chart(ROWS[:1]) is None
    assert "datum.value > 1 ? ''" in str(build_tradeoff_chart(ROWS).to_dict())  # no label above what a metric can be
    assert set(data(build_tradeoff_chart(ROWS, cost="seconds"), "ranker")) == {r.ranker for r in ROWS}


def test_compute_is_in_percent_on_both_charts_as_in_the_table():
    for chart in (build_tradeoff_chart(ROWS), build_sweep_chart(ROWS[1:], metric="AP")):
        costs = [layer["encoding"]["x"] for layer in chart.to_dict()["layer"] if "x" in layer.get("encoding", {})]
        assert {cost["axis"]["format"] for cost in costs} == {".0%"}


def test_the_last_label_of_an_axis_has_room():
    rows = [Change("AP", 0.70, 0.74)]
    events = [{"kind": "step", "step": s, "loss": 1.0} for s in (1, 2)]
    evaluations = [{"kind": "eval", "step": s, "dev_ap": {"lm": 0.7}} for s in (1, 2)]
    bins = [ReliabilityBin(0.5, 0.5, 10)]
    charts = [build_interval_chart(ROWS), build_before_after_chart(rows, Outcome.BETTER), build_tradeoff_chart(ROWS)]
    charts += [build_sweep_chart(ROWS[1:], metric="AP"), build_reliability_chart(bins, bins)]
    charts += [build_loss_chart(events), build_dev_chart(evaluations)]
    assert {chart.to_dict()["padding"]["right"] for chart in charts} == {8}


def list_names(chart):
    """(name, its offset from its point) of every name."""
    spec = chart.to_dict()
    texts = [layer for layer in spec["layer"] if layer["mark"]["type"] == "text"]
    return [(row["ranker"], t["mark"]["dy"]) for t in texts for row in spec["datasets"][t["data"]["name"]]]


def test_names_of_points_that_coincide_stand_on_lines_of_their_own():
    same = [replace(ROWS[1], ranker=f"cascade:drop_ratio=0.{i}") for i in range(4)]
    drawn = list_names(build_tradeoff_chart([*same, ROWS[2]]))
    offsets = sorted(dy for name, dy in drawn if name != "cross-encoder")
    assert len(drawn) == 5
    assert all(b - a >= 15 for a, b in pairwise(offsets))
    assert (same[0].ranker, -9) in drawn  # the first stays where it was


def test_a_name_is_on_the_side_of_its_point_where_no_interval_of_another_is():
    near = [replace(ROWS[1], ranker=name, relative_cost=cost) for name, cost in (("a", 0.5), ("b", 0.53))]
    spec = build_tradeoff_chart([*near, ROWS[2]]).to_dict()
    texts = [layer for layer in spec["layer"] if layer["mark"]["type"] == "text"]
    sides = {row["ranker"]: t["mark"]["align"] for t in texts for row in spec["datasets"][t["data"]["name"]]}
    assert sides == {"a": "right", "b": "left", "cross-encoder": "right"}


def test_the_trade_off_draws_no_empty_data():
    for rows in (ROWS[1:2], ROWS[1:], [replace(ROWS[1], relative_cost=0.0)]):
        assert all(build_tradeoff_chart(rows).to_dict()["datasets"].values())


def test_intervals_stand_best_first_and_mark_the_best():
    chart = build_interval_chart(ROWS)
    assert list(dict.fromkeys(data(chart, "ranker"))) == ["cascade", "cross-encoder", "bm25"]
    assert {r for r, c in zip(data(chart, "ranker"), data(chart, "best"), strict=True) if c} == {"cascade"}


def test_before_and_after_say_the_difference_with_its_sign():
    rows = [Change("AP", 0.70, 0.74), Change("P@1", 0.6, 0.55)]
    assert list(dict.fromkeys(data(build_before_after_chart(rows, Outcome.UNCLEAR), "change"))) == ["+0.040", "−0.050"]


@pytest.mark.parametrize(
    ("outcome", "colour"), [(Outcome.BETTER, GREEN), (Outcome.WORSE, ORANGE), (Outcome.UNCLEAR, BLUE)]
)
def test_before_and_after_has_the_colour_of_the_outcome_whatever_a_row_did(outcome, colour):
    spec = build_before_after_chart([Change("AP", 0.70, 0.74), Change("P@1", 0.6, 0.55)], outcome).to_dict()
    colours = {layer["encoding"]["color"]["value"] for layer in spec["layer"] if "color" in layer["encoding"]}
    assert colours == {colour}


def test_values_without_intervals_have_no_bar_whose_ends_are_nowhere():
    rows = [Change("layer 2", 0.70, 0.74), Change("layer 3", 0.6, 0.55)]
    assert "low" not in str(build_before_after_chart(rows, Outcome.BETTER).to_dict()["layer"])


def test_differences_are_sorted_from_most_gained():
    frame = pd.DataFrame({"question": ["a", "b", "c"], "difference": [-0.2, 0.3, 0.0]})
    assert data(build_difference_chart(frame), "question") == ["b", "c", "a"]


def test_the_loss_is_drawn_with_its_running_mean():
    events = [{"kind": "step", "step": i, "loss": float(i)} for i in range(1, 41)]
    means = dict(zip(data(build_loss_chart(events), "step"), data(build_loss_chart(events), "mean"), strict=True))
    assert means[40] == pytest.approx((37 + 38 + 39 + 40) / 4)
    assert means[1] == 1.0


def test_nothing_is_drawn_before_the_first_event():
    assert build_loss_chart([{"kind": "start", "steps": 10}]) is None
    assert build_dev_chart([{"kind": "step", "step": 1, "loss": 1.0}]) is None


def test_every_exit_has_its_line_of_dev_values():
    events = [{"kind": "eval", "step": s, "dev_ap": {"2": 0.6, "6": ap}} for s, ap in ((5, 0.75), (10, 0.8))]
    chart = build_dev_chart(events)
    rows = set(zip(data(chart, "layer"), data(chart, "step"), data(chart, "AP"), strict=True))
    assert rows == {(2, 5, 0.6), (6, 5, 0.75), (2, 10, 0.6), (6, 10, 0.8)}


def test_a_ranker_without_exits_has_one_line_and_no_legend():
    chart = build_dev_chart([{"kind": "eval", "step": s, "dev_ap": {"lm": ap}} for s, ap in ((5, 0.75), (10, 0.8))])
    assert set(zip(data(chart, "step"), data(chart, "AP"), strict=True)) == {(5, 0.75), (10, 0.8)}
    assert chart.to_dict()["layer"][0]["encoding"]["color"]["legend"] is None


def format_ticks(chart, ticks):
    """The labels of these ticks of the y axis: d3's format is Python's, but for the ~ that trims zeros."""
    spec = chart.to_dict()
    form = (spec["layer"][0] if "layer" in spec else spec)["encoding"]["y"]["axis"]["format"]
    return {format(t, form.replace("~", "")) for t in ticks}


def test_ticks_of_a_small_range_have_labels_of_their_own():
    events = [{"kind": "eval", "step": s, "dev_ap": {"6": ap}} for s, ap in ((5, 0.750), (10, 0.756))]
    assert len(format_ticks(build_dev_chart(events), (0.750, 0.752, 0.754, 0.756))) == 4
    frame = pd.DataFrame({"question": ["a", "b"], "difference": [-0.04, 0.02]})
    assert len(format_ticks(build_difference_chart(frame), (-0.04, -0.02, 0.0, 0.02))) == 4


def test_the_slope_picture_marks_correct_ones_and_the_best_of_any_ranker():
    ranks = pd.DataFrame({"candidate": ["right", "high", "low"], "label": [1, 0, None], "a": [9, 1, 8], "b": [7, 6, 9]})
    chart = build_slope_chart(ranks, ["a", "b"], best=5)
    kinds = dict(zip(data(chart, "text"), data(chart, "kind"), strict=True))
    assert kinds == {"right": "correct", "high": "among the best", "low": "other"}


def test_colour_and_shape_of_the_slope_picture_have_one_legend():
    ranks = pd.DataFrame({"candidate": ["right", "high"], "label": [1, 0], "a": [9, 1], "b": [7, 6]})
    layers = build_slope_chart(ranks, ["a", "b"], best=5).to_dict()["layer"]
    channels = [channel for layer in layers for channel in layer["encoding"].values() if isinstance(channel, dict)]
    legends = [channel["legend"] for channel in channels if "legend" in channel]
    assert legends and all(legend == legends[0] for legend in legends)  # merged with a warning if they differ


def test_the_slope_picture_draws_at_most_so_many_other_lines():
    n = 500
    ranks = pd.DataFrame({"candidate": [f"s{i}" for i in range(n)], "label": 0, "a": range(1, n + 1)})
    ranks["b"] = ranks["a"]
    chart = build_slope_chart(ranks, ["a", "b"], best=5)
    assert len(set(data(chart, "text"))) == 305


def test_the_slope_of_two_rankers_has_the_first_of_either_and_marks_those_that_moved_most():
    n = 60
    ranks = pd.DataFrame({"candidate": [f"s{i}" for i in range(1, n + 1)], "label": None, "a.1": range(1, n + 1)})
    ranks["b[2]"] = ranks["a.1"]
    ranks.loc[[4, 39], "b[2]"] = [40, 5]  # s5 and s40 change places
    ranks.loc[[0, 1], "b[2]"] = [2, 1]  # a move of one rank is no move worth a colour
    ranks.loc[[54], "label"] = 1
    chart = build_move_chart(ranks, ("a.1", "b[2]"), highest=20)
    kinds = dict(zip(data(chart, "text"), data(chart, "kind"), strict=True))
    assert kinds.keys() == {f"s{i}" for i in (*range(1, 21), 40, 55)}
    assert {text for text, kind in kinds.items() if kind == "moved most"} == {"s5", "s40"}
    assert {text for text, kind in kinds.items() if kind == "correct"} == {"s55"}


def test_a_line_of_the_slope_of_two_rankers_says_its_sentence_and_both_ranks():
    ranks = pd.DataFrame({"candidate": ["one", "two"], "label": None, "a.1": [1, 2], "b[2]": [2, 1]})
    chart = build_move_chart(ranks, ("a.1", "b[2]"), highest=20)
    titles = [[t.get("title") for t in tip] for tip in find_tooltips(chart.to_dict())]
    assert titles and all(t[:3] == ["candidate", "rank by a.1", "rank by b[2]"] for t in titles)
    both = set(zip(data(chart, "text"), data(chart, "rank0"), data(chart, "rank1"), strict=True))
    assert both == {("one", 1, 2), ("two", 2, 1)}


def find_tooltips(layer):
    own = [layer["encoding"]["tooltip"]] if "tooltip" in layer.get("encoding", {}) else []
    return own + [tip for part in layer.get("layer", ()) for tip in find_tooltips(part)]


def test_agreement_is_drawn_by_day_with_and_without_an_interval():
    chart = build_agreement_chart([("2026-11-30", 0.4, 0.1, 0.7, 20), ("2026-12-01", 0.5, None, None, 3)])
    assert data(chart, "day") == ["2026-11-30", "2026-12-01"] and data(chart, "low") == [0.1, None]
