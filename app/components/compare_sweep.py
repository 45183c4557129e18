"""The drop-ratio sweep: one cascade at several ratios, as the curve of what each saves and costs.

A sweep is part of a comparison when its rankers include several specs as `spec(cascade, ratio)` makes them; `parted`
takes them out, so that the other pictures keep to what was chosen by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from app.components.text import percent
from app.components.theme import BLUE
from as2core.cost import pareto

RATIOS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
Rows = list[Mapping[str, Any]]


def spec(cascade: str, ratio: float) -> str:
    return f"{cascade}:drop_ratio={ratio:g}"


def at_ratio(ranker: str) -> tuple[str, float] | None:
    """The cascade and the ratio of a sweep's ranker; None for any other."""
    found = re.fullmatch(r"(.+):drop_ratio=(\d*\.?\d+)", ranker)
    return (found[1], float(found[2])) if found else None


def parted(rows: Sequence[Mapping[str, Any]]) -> tuple[Rows, dict[str, Rows]]:
    """(rows chosen by name, rows of each swept cascade); a single ratio is no sweep and stays with the others."""
    swept: dict[str, Rows] = {}
    for r in rows:
        if at := at_ratio(r["ranker"]):
            swept.setdefault(at[0], []).append(r)
    swept = {cascade: of_one for cascade, of_one in swept.items() if len(of_one) > 1}
    return [r for r in rows if not any(r in of_one for of_one in swept.values())], swept


def sweep_chart(swept: Sequence[Mapping[str, Any]], *, metric: str) -> alt.LayerChart:
    """The metric against compute, a labelled point a ratio, with its interval as a band. A ratio that another beats in
    both is pale."""
    frame = pd.DataFrame(
        {
            "ratio": [_ratio(r) for r in swept],
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
        f"Dropping {percent(_ratio(best))} at each exit saves {percent(saved)} of the compute "
        f"and changes {metric} by {best[metric] - full[metric]:+.3f}."
    )


def _ratio(row: Mapping[str, Any]) -> float:
    at = at_ratio(row["ranker"])
    return at[1] if at else 0.0
