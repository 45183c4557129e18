"""The drop-ratio sweep: one cascade at several ratios, as the curve of what each saves and costs.

A sweep is part of a comparison when its rankers include specs as `spec(ratio)` makes them; `parted` takes them out, so
that the other pictures keep to what was chosen by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from app.components.text import percent
from app.components.theme import BLUE
from as2core.cost import pareto

RATIOS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
_BEFORE = "cascade:drop_ratio="


def spec(ratio: float) -> str:
    return f"{_BEFORE}{ratio:g}"


def ratio_of(ranker: str) -> float | None:
    """The ratio of a sweep's ranker; None for any other."""
    if not ranker.startswith(_BEFORE):
        return None
    try:
        return float(ranker.removeprefix(_BEFORE))
    except ValueError:
        return None


def parted(rows: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """(rows chosen by name, rows of the sweep); a single ratio is no sweep and stays with the others."""
    swept = [r for r in rows if ratio_of(r["ranker"]) is not None]
    if len(swept) < 2:
        return list(rows), []
    return [r for r in rows if ratio_of(r["ranker"]) is None], swept


def sweep_chart(swept: Sequence[Mapping[str, Any]], *, metric: str) -> alt.LayerChart:
    """The metric against compute, a labelled point a ratio, with its interval as a band. A ratio that another beats in
    both is pale."""
    frame = pd.DataFrame(
        {
            "ratio": [ratio_of(r["ranker"]) for r in swept],
            "compute": [r["relative_cost"] for r in swept],
            "value": [r[metric] for r in swept],
            "low": [r.get(f"{metric} low") for r in swept],
            "high": [r.get(f"{metric} high") for r in swept],
        }
    ).sort_values("ratio")
    frame["front"] = pareto(list(zip(frame["compute"], frame["value"], strict=True)))
    frame["told"] = [percent(r) for r in frame["ratio"]]
    x = alt.X(
        "compute:Q", title="compute, as a share of the whole model", scale=alt.Scale(zero=False, nice=True, padding=20),
        axis=alt.Axis(format=".0%", grid=False),
    )  # fmt: skip
    y = alt.Y("value:Q", title=metric, scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(format=".2f"))
    tip = [alt.Tooltip("told:N", title="dropped at each exit"), alt.Tooltip("compute:Q", format=".0%")]
    tip += [alt.Tooltip(f"{c}:Q", format=".3f") for c in ("value", "low", "high")]
    base = alt.Chart(frame)
    band = base.mark_area(opacity=0.12, color=BLUE, aria=False).encode(x, alt.Y("low:Q"), alt.Y2("high:Q"))
    line = base.mark_line(strokeWidth=2.2, color=BLUE, aria=False).encode(x, y, order="ratio:Q")
    shown = alt.Opacity("front:N", scale=alt.Scale(domain=[True, False], range=[1.0, 0.3]), legend=None)
    dots = base.mark_point(filled=True, size=85, color=BLUE).encode(x, y, shown, tooltip=tip)
    names = base.mark_text(dy=-13, fontSize=12, color=BLUE).encode(x, y, text="told:N")
    return alt.layer(band, line, dots, names).properties(height=300, width="container")


def in_words(swept: Sequence[Mapping[str, Any]], *, metric: str) -> str:
    """What the sweep allows: the cheapest ratio that costs at most a hundredth of the metric."""
    full = max(swept, key=lambda r: r["relative_cost"])
    allowed = [r for r in swept if r[metric] >= full[metric] - 0.01]
    best = min(allowed, key=lambda r: r["relative_cost"])
    saved = 1 - best["relative_cost"] / full["relative_cost"]
    if best is full or saved < 0.005:
        return f"No ratio tried saves compute without losing more than 0.01 {metric}."
    return (
        f"Dropping {percent(ratio_of(best['ranker']))} at each exit saves {percent(saved)} of the compute "
        f"and changes {metric} by {best[metric] - full[metric]:+.3f}."
    )
