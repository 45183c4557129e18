"""Agreement by day: a point with its interval, the grey line at 0 being chance."""

from collections.abc import Sequence

import altair as alt
import pandas as pd
from altair.typing import ChartType

from app.ui.theme import BLUE, GREY


def build_agreement_chart(points: Sequence[tuple[str, float, float | None, float | None, int]]) -> ChartType:
    """`points`: (day as YYYY-MM-DD, alpha, low, high, pairs)."""
    frame = pd.DataFrame(points, columns=["day", "alpha", "low", "high", "pairs"]).astype({"low": float, "high": float})
    x = alt.X("day:O", title=None, axis=alt.Axis(labelAngle=0, labelOverlap=True))
    scale = alt.Scale(domain=[min(0.0, float(frame[["alpha", "low"]].min().min())), 1.0])
    tooltip = ["day", alt.Tooltip("alpha", format=".2f"), "pairs"]
    base = alt.Chart(frame)
    return alt.layer(
        alt.Chart(pd.DataFrame({"alpha": [0.0]})).mark_rule(color=GREY, strokeDash=[3, 3]).encode(y="alpha:Q"),
        base.transform_filter("isValid(datum.low)")
        .mark_rule(color=BLUE, opacity=0.5, strokeWidth=3)
        .encode(x=x, y=alt.Y("low:Q", scale=scale, title="alpha"), y2="high:Q"),
        base.mark_line(color=BLUE, point=alt.OverlayMarkDef(size=60, filled=True, color=BLUE)).encode(
            x=x, y=alt.Y("alpha:Q", scale=scale, title="alpha"), tooltip=tooltip
        ),
    ).properties(height=220)
