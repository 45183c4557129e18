"""Accuracy against cost: one point a ranker, and the front of those that nothing both cheaper and better beats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from app.charts.labels import shifted
from app.components.theme import BLUE, GREY
from as2core.cost import pareto

HEIGHT, WIDTH, LETTER = 320, 380, 7  # pixels: of the plot, across a narrow one, and of a letter in a name


def tradeoff(
    rows: Sequence[Mapping[str, Any]],
    *,
    metric: str = "AP",
    cost: str = "relative_cost",
    cost_title: str = "compute, as a share of the whole model",
) -> alt.LayerChart | None:
    """`rows` as `ComparisonView.rows`: `ranker`, the metric with `<metric> low` and `<metric> high`, and a cost.

    Rows without the cost are left out; None if no row has it. `cost` may be another column, "seconds" for one.
    """
    kept = [r for r in rows if r.get(cost) is not None and r.get(metric) is not None]
    if not kept:
        return None
    front = pareto([(float(r[cost]), float(r[metric])) for r in kept])
    frame = pd.DataFrame(
        {
            "ranker": [r["ranker"] for r in kept],
            "cost": [float(r[cost]) for r in kept],
            "value": [float(r[metric]) for r in kept],
            "low": [r.get(f"{metric} low") for r in kept],
            "high": [r.get(f"{metric} high") for r in kept],
            "on the front": ["yes" if f else "no" for f in front],
        }
    )
    axis = alt.Axis(labelExpr="datum.value < 0 ? '' : datum.label")  # the room on the left is for the points
    x = alt.X("cost:Q", title=cost_title, axis=axis, scale=alt.Scale(zero=True, nice=True, padding=24))
    y = alt.Y("value:Q", title=metric, scale=alt.Scale(zero=False, nice=True, padding=12), axis=alt.Axis(format=".2f"))
    colour = alt.condition("datum['on the front'] == 'yes'", alt.value(BLUE), alt.value(GREY))
    base = alt.Chart(frame)
    line = (
        base.transform_filter("datum['on the front'] == 'yes'")
        .mark_line(strokeDash=[5, 4], strokeWidth=1.4, color=BLUE, interpolate="step-after", aria=False)
        .encode(x, y, order="cost:Q")
    )
    bars = base.mark_rule(strokeWidth=1.6, opacity=0.6).encode(x, alt.Y("low:Q"), alt.Y2("high:Q"), color=colour)
    points = base.mark_point(filled=True, size=90, opacity=1).encode(
        x,
        y,
        color=colour,
        tooltip=[
            "ranker:N",
            alt.Tooltip("value:Q", title=metric, format=".3f"),
            alt.Tooltip("low:Q", format=".3f"),
            alt.Tooltip("high:Q", format=".3f"),
            alt.Tooltip("cost:Q", title=cost_title, format=".2f"),
            "on the front:N",
        ],
    )
    frame["dear"] = frame["cost"] > 0.7 * frame["cost"].max()  # near the right edge: the name goes to the left
    frame["dy"] = _raised(frame)
    names = [
        alt.Chart(part)
        .mark_text(align="right" if dear else "left", dx=-9 if dear else 9, dy=dy, fontSize=12, color=GREY)
        .encode(x, y, text="ranker:N")
        for (dear, dy), part in frame.groupby(["dear", "dy"])
    ]
    return alt.layer(line, bars, points, *names).properties(height=HEIGHT, width="container")


def _raised(frame: pd.DataFrame) -> list[float]:
    """Pixels from a point to its name, which stands above it or, where another does, further up or down."""
    bottom, top = frame[["low", "value"]].min(axis=None), frame[["high", "value"]].max(axis=None)
    pixels = HEIGHT / ((top - bottom) or 1.0)
    across = WIDTH / (frame["cost"].max() or 1.0)
    boxes = []
    for r in frame.itertuples():
        at, width = r.cost * across, LETTER * len(r.ranker)
        left = at - 9 - width if r.dear else at + 9
        boxes.append((left, left + width, (top - r.value) * pixels - 9))
    return [shift - 9.0 for shift in shifted(boxes, low=0, high=HEIGHT)]
