"""A training run as it goes: the loss, and the mean average precision on the dev questions at every exit.

Events are those of `as2core.training`: dicts with kind, step, loss, dev_ap (layer -> value; a ranker without exits has
one value under a name of its own).
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd
from altair.typing import ChartType

from app.ui.theme import BLUE, GREY, PADDING

HEIGHT_PIXELS = 220
Event = Mapping[str, Any]


def build_loss_chart(events: Sequence[Event]) -> ChartType | None:
    """Loss by step: every reported value in grey, their running mean (a tenth of the run) in blue; None without any."""
    steps = [(e["step"], e["loss"]) for e in events if e.get("loss") is not None and e.get("step") is not None]
    if not steps:
        return None
    frame = pd.DataFrame(steps, columns=["step", "loss"])
    frame["mean"] = frame["loss"].rolling(max(1, len(frame) // 10), min_periods=1).mean()
    x, tip = _step_axis(), [alt.Tooltip("step:Q", format=",d"), alt.Tooltip("loss:Q", format=".4f")]
    base = alt.Chart(frame)
    raw = base.mark_line(strokeWidth=1, opacity=0.45, color=GREY).encode(x, alt.Y("loss:Q", title="loss"), tooltip=tip)
    mean = base.mark_line(strokeWidth=2.4, color=BLUE, point=len(frame) == 1).encode(x, alt.Y("mean:Q"), tooltip=tip)
    return alt.layer(raw, mean).properties(height=HEIGHT_PIXELS, width="container", padding=PADDING)


def build_dev_chart(events: Sequence[Event]) -> ChartType | None:
    """Dev AP by step, a line an exit, the last exit strongest; one line and no legend for a ranker without exits; None
    before the first evaluation."""
    rows = [
        {"step": e.get("step", 0), "layer": int(layer) if layer.isdigit() else layer, "AP": float(value)}
        for e in events
        for layer, value in e.get("dev_ap", {}).items()
    ]
    if not rows:
        return None
    frame = pd.DataFrame(rows)
    layers = sorted(frame["layer"].unique().tolist())
    has_exits = isinstance(layers[-1], int)
    legend = alt.Legend(title="exit after layer", orient="top", symbolType="stroke", symbolStrokeWidth=4)
    scale = alt.Scale(domain=layers, range=_shades(len(layers)))
    colour = alt.Color("layer:O", scale=scale, legend=legend if has_exits else None)
    x = _step_axis()
    y = alt.Y(
        "AP:Q", title="AP on validation questions", scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(format=".3~f")
    )
    tip = [alt.Tooltip("step:Q", format=",d"), alt.Tooltip("AP:Q", title="AP", format=".3f")]
    if has_exits:
        tip.insert(0, alt.Tooltip("layer:O"))
    base = alt.Chart(frame)
    width = alt.condition(f"datum.layer == {json.dumps(layers[-1])}", alt.value(3), alt.value(1.6))
    lines = base.mark_line().encode(x, y, colour, strokeWidth=width)
    points = base.mark_point(filled=True, size=45, opacity=1).encode(x, y, colour, tooltip=tip)
    return alt.layer(lines, points).properties(height=HEIGHT_PIXELS, width="container", padding=PADDING)


def _step_axis() -> alt.X:
    return alt.X("step:Q", title="step", axis=alt.Axis(grid=False, tickMinStep=1, format=",d"))


def _shades(n: int) -> list[str]:
    """From grey to the accent: an exit's colour says how deep it is."""
    start, end = (tuple(int(c[i : i + 2], 16) for i in (1, 3, 5)) for c in ("#a9adb5", BLUE))
    steps = [i / (n - 1) if n > 1 else 1.0 for i in range(n)]
    return ["#" + "".join(f"{round(a + (b - a) * t):02x}" for a, b in zip(start, end, strict=True)) for t in steps]
