"""Values with their intervals: rankers side by side, before and after, and the differences question by question."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import altair as alt
import pandas as pd
from altair.typing import ChartType

from app.compare.comparison import RankerResult
from app.ui.text import format_signed
from app.ui.theme import BLUE, GREEN, GREY, ORANGE, PADDING
from as2core.evaluation.rankers import Outcome

ROW_HEIGHT = 30  # pixels a line of a dot plot
COLOURS = {Outcome.BETTER: GREEN, Outcome.WORSE: ORANGE, Outcome.UNCLEAR: BLUE}


def build_interval_chart(results: Sequence[RankerResult], *, metric: str = "AP") -> ChartType:
    """A dot a ranker with the 95 % interval of its metric. Best first, and in the accent."""
    by_value = sorted(results, key=lambda r: -r.figures[metric].value)
    frame = pd.DataFrame([{"ranker": r.ranker, **asdict(r.figures[metric])} for r in by_value])
    frame["best"] = frame.index == 0
    names = frame["ranker"].tolist()
    y = alt.Y("ranker:N", sort=names, title=None, axis=alt.Axis(domain=False, ticks=False, labelLimit=160))
    x = alt.X("value:Q", title=metric, scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(format=".2f"))
    colour = alt.condition("datum.best", alt.value(BLUE), alt.value(GREY))
    tip = [
        "ranker:N",
        alt.Tooltip("value:Q", title=metric, format=".3f"),
        alt.Tooltip("low:Q", title="low (95 %)", format=".3f"),
        alt.Tooltip("high:Q", title="high (95 %)", format=".3f"),
    ]
    base = alt.Chart(frame)
    bar = base.mark_rule(strokeWidth=2).encode(alt.X("low:Q"), y, alt.X2("high:Q"), color=colour, tooltip=tip)
    dot = base.mark_point(filled=True, size=90, opacity=1).encode(x, y, color=colour, tooltip=tip)
    number = base.mark_text(dy=-11, fontSize=11, color=GREY).encode(x, y, text=alt.Text("value:Q", format=".3f"))
    return alt.layer(bar, dot, number).properties(
        height=max(60, ROW_HEIGHT * len(names) + 20), width="container", padding=PADDING
    )


@dataclass(frozen=True, slots=True)
class Change:
    """A value before and after; `low`, `high`: the interval of `after`."""

    name: str
    before: float
    after: float
    low: float | None = None
    high: float | None = None


def build_before_after_chart(rows: Sequence[Change], outcome: Outcome) -> ChartType:
    """A line a row, all in the colour of the outcome, whatever a single row did."""
    frame = pd.DataFrame([asdict(r) for r in rows])
    frame["difference"] = frame["after"] - frame["before"]
    frame["change"] = [format_signed(d) for d in frame["difference"]]
    y = alt.Y("name:N", sort=frame["name"].tolist(), title=None, axis=alt.Axis(domain=False, ticks=False))
    scale = alt.Scale(zero=False, nice=True, padding=16)
    within = "datum.value > 1.001 ? '' : datum.label"  # the room on the right is for the numbers
    x = alt.X("after:Q", title=None, scale=scale, axis=alt.Axis(format=".2f", tickCount=6, labelExpr=within))
    colour = alt.value(COLOURS[outcome])
    ends = ("low", "high") if frame["low"].notna().any() else ()  # without any, a bar would have no extent
    tip = ["name:N", *(alt.Tooltip(f"{c}:Q", format=".3f") for c in ("before", "after", *ends))]
    base = alt.Chart(frame)
    spread = base.mark_rule(strokeWidth=7, opacity=0.22).encode(alt.X("low:Q"), y, alt.X2("high:Q"), color=colour)
    way = base.mark_rule(strokeWidth=2.4).encode(alt.X("before:Q"), y, alt.X2("after:Q"), color=colour)
    was = base.mark_point(filled=True, size=70, color=GREY, opacity=1).encode(alt.X("before:Q"), y, tooltip=tip)
    now = base.mark_point(filled=True, size=100, opacity=1).encode(x, y, color=colour, tooltip=tip)
    numbers = base.mark_text(dy=-12, fontSize=11).encode(x, y, text="change:N", color=colour)
    layers = (way, was, now, numbers)
    return alt.layer(*([spread] if ends else []), *layers).properties(
        height=max(70, 38 * len(frame) + 24), width="container", padding=PADDING
    )


def build_difference_chart(frame: pd.DataFrame, *, metric: str = "AP") -> ChartType:
    """A bar a question, sorted: how far the second ranker is above (green) or below (orange) the first.

    `frame`: columns `question` (text) and `difference`.
    """
    data = frame.sort_values("difference", ascending=False).reset_index(drop=True)
    data["place"] = data.index + 1
    return (
        alt.Chart(data)
        .mark_bar()
        .encode(
            alt.X("place:O", title="questions, most gained first", axis=alt.Axis(labels=False, ticks=False)),
            alt.Y("difference:Q", title=f"difference in {metric}", axis=alt.Axis(format="+.2~f")),
            color=alt.condition("datum.difference >= 0", alt.value(GREEN), alt.value(ORANGE)),
            tooltip=[alt.Tooltip("question:N"), alt.Tooltip("difference:Q", format="+.3f")],
        )
        .properties(height=200, width="container")
    )
