"""Accuracy against cost: one point a ranker, and the front of those that nothing both cheaper and better beats."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Literal

import altair as alt
import pandas as pd
from altair.typing import ChartType

from app.compare.comparison import RankerResult
from app.ui.charts.labels import find_shifts
from app.ui.theme import BLUE, GREY, PADDING
from as2core.cost import pareto

HEIGHT_PX, NARROW_WIDTH_PX, LETTER_PX, GAP_PX = 320, 380, 7, 9
PLOT_HEIGHT_PX = 210  # of the points and intervals: without the axis, its title and the room around
FORMATS = {"relative_cost": (".0%", ".0%"), "seconds": ("~g", ".3~r")}  # of a cost: on the axis, and of a point
COST_TITLES = {"relative_cost": "compute, as a share of the whole model", "seconds": "seconds per question"}
Cost = Literal["relative_cost", "seconds"]


def build_tradeoff_chart(
    results: Sequence[RankerResult], *, metric: str = "AP", cost: Cost = "relative_cost"
) -> ChartType | None:
    """Rankers without the cost are left out; None if no ranker has it."""
    points = [
        {"ranker": r.ranker, "cost": getattr(r, cost), **asdict(r.figures[metric])}
        for r in results
        if metric in r.figures and getattr(r, cost) is not None
    ]
    if not points:
        return None
    frame = pd.DataFrame(points)
    front = pareto(list(zip(frame["cost"], frame["value"], strict=True)))
    frame["on the front"] = ["yes" if f else "no" for f in front]
    cost_title = COST_TITLES[cost]
    label = "datum.value < 0 ? '' : datum.label"  # the room on the left is for the points
    axis = alt.Axis(format=FORMATS[cost][0], labelExpr=label)
    x = alt.X("cost:Q", title=cost_title, axis=axis, scale=alt.Scale(zero=True, nice=True, padding=24))
    up = alt.Axis(format=".2f", labelExpr="datum.value > 1 ? '' : datum.label")  # the room above is for names
    y = alt.Y("value:Q", title=metric, scale=alt.Scale(zero=False, nice=True, padding=12), axis=up)
    colour = alt.condition("datum['on the front'] == 'yes'", alt.value(BLUE), alt.value(GREY))
    base = alt.Chart(frame)
    line = (
        base.transform_filter("datum['on the front'] == 'yes'")
        .mark_line(strokeDash=[5, 4], strokeWidth=1.4, color=BLUE, interpolate="step-after", aria=False)
        .encode(x, y, order="cost:Q")
    )
    bars = base.mark_rule(strokeWidth=1.6, opacity=0.6).encode(x, alt.Y("low:Q"), alt.Y2("high:Q"), color=colour)
    tip = [
        "ranker:N",
        alt.Tooltip("value:Q", title=metric, format=".3f"),
        *(alt.Tooltip(f"{end}:Q", format=".3f") for end in ("low", "high")),
        alt.Tooltip("cost:Q", title=cost_title, format=FORMATS[cost][1]),
        "on the front:N",
    ]
    dots = base.mark_point(filled=True, size=90, opacity=1).encode(x, y, color=colour, tooltip=tip)
    frame["right"] = [_is_right_aligned(frame, i) for i in range(len(frame))]
    frame["dy"] = _place_names(frame)
    names = [
        alt.Chart(part)
        .mark_text(align="right" if right else "left", dx=-GAP_PX if right else GAP_PX, dy=dy, fontSize=12, color=GREY)
        .encode(x, y, text="ranker:N")
        for (right, dy), part in frame.groupby(["right", "dy"])
    ]
    return alt.layer(line, bars, dots, *names).properties(height=HEIGHT_PX, width="container", padding=PADDING)


def _place_names(frame: pd.DataFrame) -> list[float]:
    """Pixels from a point to its name, which stands above it or, where another does, further up or down."""
    bottom, top = frame[["low", "value"]].min(axis=None), frame[["high", "value"]].max(axis=None)
    pixels = PLOT_HEIGHT_PX / ((top - bottom) or 1.0)
    ends = [_find_ends(frame, i, right=right) for i, right in enumerate(frame["right"])]
    boxes = [(*e, (top - value) * pixels - 9) for e, value in zip(ends, frame["value"], strict=True)]
    return [shift - 9.0 for shift in find_shifts(boxes, low=0, high=PLOT_HEIGHT_PX)]


def _find_ends(frame: pd.DataFrame, i: int, *, right: bool) -> tuple[float, float]:
    """Where the name of a point begins and ends, in pixels; `right`: it ends at the point."""
    at = frame["cost"][i] * NARROW_WIDTH_PX / (frame["cost"].max() or 1.0)
    width = LETTER_PX * len(frame["ranker"][i])
    return (at - GAP_PX - width, at - GAP_PX) if right else (at + GAP_PX, at + GAP_PX + width)


def _is_right_aligned(frame: pd.DataFrame, i: int) -> bool:
    """Whether the name goes to the left of its point: near the right edge, and where only there it is on no interval of
    another ranker."""
    if frame["cost"][i] > 0.7 * frame["cost"].max():
        return True
    is_level = (frame["low"] <= frame["value"][i]) & (frame["value"][i] <= frame["high"])
    bars = (frame["cost"] * NARROW_WIDTH_PX / (frame["cost"].max() or 1.0))[is_level].drop(i, errors="ignore")
    (left, left_end), (start, end) = (_find_ends(frame, i, right=right) for right in (True, False))
    return bool(bars.between(start, end).any() and left >= 0 and not bars.between(left, left_end).any())
