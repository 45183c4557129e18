"""The drop-ratio sweep: one cascade at several ratios, as the curve of what each saves and costs.

A comparison has a sweep when several of its rankers are `make_spec(cascade, ratio)`; `split_sweeps` takes these out, so
that the other pictures show only what was chosen by name.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict

import altair as alt
import pandas as pd
from altair.typing import ChartType

from app.compare.comparison import RankerResult
from app.compare.sweeps import find_sweep_rankers, parse_ratio
from app.ui.text import format_percent
from app.ui.theme import BLUE, PADDING
from as2core.cost import pareto

HEIGHT_PX, NARROW_WIDTH_PX = 300, 340  # of the plot; a wider one has more room
LABEL_PX, LINE_PX = 38, 15  # between two labels beside, and above, each other
MAX_LOSS = 0.01  # of the metric, that a ratio may cost to be recommended
MIN_CHANGE = 0.0005  # that three digits show
Results = list[RankerResult]


def split_sweeps(results: Sequence[RankerResult]) -> tuple[Results, dict[str, Results]]:
    """(rankers chosen by name, those of each swept cascade); a single ratio is no sweep and stays with the others."""
    in_sweeps, sweeps = find_sweep_rankers([r.ranker for r in results]), dict[str, Results]()
    for r in results:
        if r.ranker in in_sweeps and (ratio := parse_ratio(r.ranker)):
            sweeps.setdefault(ratio[0], []).append(r)
    return [r for r in results if r.ranker not in in_sweeps], sweeps


def build_sweep_chart(sweep: Sequence[RankerResult], *, metric: str, defaults: Collection[str] = ()) -> ChartType:
    """The metric against compute, a labelled point a ratio, with its interval as a band. A ratio that another beats in
    both is pale. `defaults`: the rankers whose ratio is their cascade's own."""
    rows = [
        {"ratio": _ratio(r), "compute": r.relative_cost, **asdict(r.figures[metric])}
        | {"label": format_percent(_ratio(r)), "note": "default" if r.ranker in defaults else ""}
        for r in sweep
    ]
    frame = pd.DataFrame(rows).sort_values("ratio")
    frame["name"] = thin_labels(frame)
    frame["front"] = pareto(list(zip(frame["compute"], frame["value"], strict=True)))
    x = alt.X(
        "compute:Q", title="compute, as a share of the whole model", scale=alt.Scale(zero=False, nice=True, padding=20),
        axis=alt.Axis(format=".0%", grid=False),
    )  # fmt: skip
    y = alt.Y("value:Q", title=metric, scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(format=".2f"))
    tip = [alt.Tooltip("label:N", title="dropped at each exit"), alt.Tooltip("compute:Q", format=".0%")]
    tip += [alt.Tooltip(f"{c}:Q", format=".3f") for c in ("value", "low", "high")]
    base = alt.Chart(frame)
    band = base.mark_area(opacity=0.12, color=BLUE, aria=False).encode(x, alt.Y("low:Q"), alt.Y2("high:Q"))
    line = base.mark_line(strokeWidth=2.2, color=BLUE, aria=False).encode(x, y, order="ratio:Q")
    opacity = alt.Opacity("front:N", scale=alt.Scale(domain=[True, False], range=[1.0, 0.3]), legend=None)
    dots = base.mark_point(filled=True, size=85, color=BLUE).encode(x, y, opacity, tooltip=tip)
    names = base.mark_text(dy=-13, fontSize=12, color=BLUE).encode(x, y, text="name:N")
    notes = base.mark_text(dy=16, fontSize=12, color=BLUE).encode(x, y, text="note:N")  # above, two would overlap
    return alt.layer(band, line, dots, names, notes).properties(height=HEIGHT_PX, width="container", padding=PADDING)


def thin_labels(points: pd.DataFrame) -> list[str]:
    """The labels of a chart of a narrow window, "" for one that would touch another. The defaults and both ends of the
    sweep come first, then those that drop least; a point without a label has it in its tooltip."""
    across = NARROW_WIDTH_PX / ((points["compute"].max() - points["compute"].min()) or 1.0)
    up = HEIGHT_PX / ((points["high"].max() - points["low"].min()) or 1.0)
    at = [(x * across, y * up) for x, y in zip(points["compute"], points["value"], strict=True)]
    ends = (0, len(at) - 1)
    first_ones = sorted(range(len(at)), key=lambda i: (not points["note"].iloc[i], i not in ends, i))
    places: list[int] = []
    for i in first_ones:
        if all(abs(at[i][0] - at[j][0]) >= LABEL_PX or abs(at[i][1] - at[j][1]) >= LINE_PX for j in places):
            places.append(i)
    return [label if i in places else "" for i, label in enumerate(points["label"])]


def describe_sweep(sweep: Sequence[RankerResult], *, metric: str) -> str:
    """The cheapest ratio that costs at most a hundredth of the metric, in a sentence."""
    full = max(sweep, key=_compute)
    within_loss = [r for r in sweep if r.figures[metric].value >= full.figures[metric].value - MAX_LOSS]
    best = min(within_loss, key=_compute)
    saving = 1 - _compute(best)  # as on Ask: of one whole model's compute
    if best is full or saving < 0.005:
        return f"None of these shares saves compute without losing more than {MAX_LOSS} {metric}."
    change = best.figures[metric].value - full.figures[metric].value
    effect = f"raises {metric} by {change:.3f}" if change > 0 else f"costs {-change:.3f} of {metric}"
    if abs(change) < MIN_CHANGE:
        effect = f"does not change {metric}"
    return (
        f"Dropping {format_percent(_ratio(best))} at each exit saves {format_percent(saving)} of the compute "
        f"and {effect}."
    )


def _compute(result: RankerResult) -> float:
    return result.relative_cost or 0.0


def _ratio(result: RankerResult) -> float:
    ratio = parse_ratio(result.ranker)
    return ratio[1] if ratio else 0.0
