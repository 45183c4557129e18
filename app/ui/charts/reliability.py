"""Calibration: in each tenth of confidence, how often a candidate was correct."""

from collections.abc import Sequence
from dataclasses import asdict

import altair as alt
import pandas as pd
from altair.typing import ChartType

from app.ui.theme import BLUE, GREY, PADDING
from app.versions.evaluations import ReliabilityBin


def build_reliability_chart(before: Sequence[ReliabilityBin], after: Sequence[ReliabilityBin]) -> ChartType | None:
    """The diagonal is what perfect probabilities give. None without any point."""
    rows = [{**asdict(r), "when": when} for when, curve in (("before", before), ("after", after)) for r in curve]
    if not rows:
        return None
    frame = pd.DataFrame(rows)
    scale = alt.Scale(domain=[0, 1])
    x = alt.X("confidence:Q", title="probability", scale=scale, axis=alt.Axis(format=".1f", grid=False))
    y = alt.Y("frequency:Q", title="share correct", scale=scale, axis=alt.Axis(format=".1f"))
    colours = alt.Scale(domain=["before", "after"], range=[GREY, BLUE])
    colour = alt.Color("when:N", scale=colours, legend=alt.Legend(title=None, orient="top"))
    shares = [alt.Tooltip(f"{field}:Q", format=".2f") for field in ("confidence", "frequency")]
    tip = ["when:N", *shares, alt.Tooltip("candidates:Q", format=",d")]
    diagonal = alt.Chart(pd.DataFrame({"confidence": [0, 1], "frequency": [0, 1]}))
    base = alt.Chart(frame)
    size = alt.Size("candidates:Q", legend=None, scale=alt.Scale(range=[30, 220]))
    return alt.layer(
        diagonal.mark_line(strokeDash=[4, 4], strokeWidth=1, color=GREY).encode(x, y),
        base.mark_line(strokeWidth=1.6).encode(x, y, colour),
        base.mark_point(filled=True, opacity=0.9).encode(x, y, colour, size, tooltip=tip),
    ).properties(height=240, width="container", padding=PADDING)
