"""The cascade picture: one line a candidate, its rank at every exit, ending where it was dropped.

x: retrieved, then the exits, each labelled with how many went in and stayed. y: rank on a reversed log axis, so that a
constant share dropped is a straight edge. Pale band: alive. Bar: the cut. Grey lines end in a tick where the candidate
was dropped. Green diamond: correct and returned; blue: returned; orange dashes ending in a cross: a correct answer lost.

The last exit drops nobody; its bar is where the answers shown end. At most `max_lines` grey lines are drawn (1,300 block
a browser for three seconds), ticks for all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from app.charts.labels import pushed_apart
from app.components.text import count, shorten
from app.components.theme import BLUE, GREEN, GREY, ORANGE, VIOLET
from as2core.cascade.trace import CascadeTrace

KINDS = ["correct, returned", "returned", "correct, lost", "dropped"]
INK = [GREEN, BLUE, ORANGE, GREY]
NARROW = 520  # pixels of plot under which the axis writes small and in two lines
CROSS = "M-1,-1L1,1M-1,1L1,-1"
LEGEND = alt.Legend(title=None, orient="top", offset=6, symbolSize=110, columnPadding=18)
TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """What is drawn. `lines`: cand, x (0 retrieved, then exits from 1), rank, stays, kind, text, fate.
    `cuts`: x, layer, entered, kept. `kinds`: one of KINDS a candidate."""

    lines: pd.DataFrame
    cuts: pd.DataFrame
    kinds: list[str]

    @property
    def lost(self) -> int:
        return self.kinds.count("correct, lost")


def picture(
    trace: CascadeTrace,
    *,
    texts: Sequence[str],
    retrieval_ranks: Sequence[int],
    correct: Collection[int] = (),
    returned: int = 5,
) -> Picture:
    """Turn a run into ranks: `correct` are candidate positions, the last exit's best `returned` count as returned."""
    rows = [(c, 0, int(r), True) for c, r in enumerate(retrieval_ranks)]
    cuts, fate = [], {}
    for i, e in enumerate(trace.exits, start=1):
        best_first = e.alive[np.argsort(-e.scores.astype(np.float64), kind="stable")]
        last = i == len(trace.exits)
        kept = min(returned, len(best_first)) if last else e.kept
        rows += [(int(c), i, place, place <= kept) for place, c in enumerate(best_first, start=1)]
        cuts.append((i, e.layer, len(best_first), kept))
        for place, c in enumerate(best_first, start=1):
            if place <= kept:
                fate[int(c)] = f"returned, rank {place}"
            else:
                fate[int(c)] = f"rank {place} at the end" if last else f"dropped after layer {e.layer}"
    gone = {c for c, _, _, stays in rows if not stays}
    kinds = [_kind(c in correct, c in gone) for c in range(trace.candidates)]
    lines = pd.DataFrame(rows, columns=["cand", "x", "rank", "stays"])
    lines["kind"] = [kinds[c] for c in lines["cand"]]
    lines["text"] = [shorten(texts[c], 110) for c in lines["cand"]]
    lines["fate"] = [fate[c] for c in lines["cand"]]
    return Picture(lines, pd.DataFrame(cuts, columns=["x", "layer", "entered", "kept"]), kinds)


def _kind(correct: bool, gone: bool) -> str:
    if correct:
        return "correct, lost" if gone else "correct, returned"
    return "dropped" if gone else "returned"


def describe(p: Picture) -> str:
    """The picture in words, for those who can't see it."""
    steps = "; ".join(f"layer {c.layer}: {c.entered:,} to {c.kept:,}" for c in p.cuts.itertuples())
    lost = f" Lost on the way: {count(p.lost, 'correct answer')}." if p.lost else ""
    return f"Rank of {count(len(p.kinds), 'candidate')} at each exit. {steps}.{lost} The table below has the same."


def cascade_chart(
    p: Picture, *, chosen: int | None = None, height: int = 420, max_lines: int = 300, seed: int = 0
) -> dict[str, Any]:
    """A Vega-Lite spec for `st.vega_lite_chart(None, spec, on_select=..., selection_mode="pick")`.

    The point selection `pick` carries the candidate's position as `cand`; `chosen` is drawn over the others in violet.
    Everything that a replay changes is in the spec's data sets, so the browser updates the drawing it has.
    """
    candidates, exits = len(p.kinds), len(p.cuts)
    dropped = [c for c, kind in enumerate(p.kinds) if kind == "dropped"]
    thin = candidates > max_lines
    if len(dropped) > max_lines:
        dropped = np.random.default_rng(seed).choice(dropped, max_lines, replace=False).tolist()
    low, high = 0.8, max(candidates, 2) * 1.12
    d, short = p.lines, ["cand", "x", "rank", "kind"]
    grey, told = d[d["cand"].isin(dropped)], d[d["kind"] != "dropped"]
    place = partial(pushed_apart, height=height, low=low, high=high)
    spec = dict(_template(tuple(p.cuts["layer"]), candidates, height, thin))
    spec["datasets"] = {
        "edge": _edge(p.cuts, candidates),
        "cuts": _flow(p.cuts),
        "grey": grey[short],
        "ends": d.loc[(d["kind"] == "dropped") & ~d["stays"], short],
        "told": told[short],
        "points": told.loc[told["stays"], short],
        "lost": _lost(told, exits, place),
        "labels": _labels(told, exits, place),
        "chosen": d.loc[d["cand"] == (-1 if chosen is None else chosen), short],
        "targets": pd.concat([grey, told])[[*short, "text", "fate"]],
    }
    return spec


def _edge(cuts: pd.DataFrame, candidates: int) -> pd.DataFrame:
    """The lower edge of who is alive."""
    return pd.DataFrame({"x": [0, *cuts["x"]], "rank": [float(candidates), *(cuts["kept"] + 0.5)], "top": 1.0})


def _flow(cuts: pd.DataFrame) -> pd.DataFrame:
    flow = [(f"{a:,} → {b:,}", f"{a:,}\n→ {b:,}") for a, b in zip(cuts["entered"], cuts["kept"], strict=True)]
    return cuts.assign(rank=cuts["kept"] + 0.5, flow=[f for f, _ in flow], narrow=[n for _, n in flow])


def _lost(told: pd.DataFrame, exits: int, place: Callable[[list[int]], list[float]]) -> pd.DataFrame:
    """Where correct answers left; at the last exit they were scored, but not among those returned."""
    ends = told[(told["kind"] == "correct, lost") & ~told["stays"]].copy()
    ends["label"] = [
        f"correct, but rank {r}" if at == exits else f"correct answer lost here, rank {r}"
        for at, r in zip(ends["x"], ends["rank"], strict=True)
    ]
    ends["y"] = 0.0
    for at in ends["x"].unique():
        ends.loc[ends["x"] == at, "y"] = place(ends.loc[ends["x"] == at, "rank"].tolist())
    return ends[["cand", "x", "rank", "kind", "label", "y"]]


def _labels(told: pd.DataFrame, exits: int, place: Callable[[list[int]], list[float]]) -> pd.DataFrame:
    """The returned sentences, with the ends of the lead from the line to the label."""
    ends = told[(told["x"] == exits) & told["stays"]].copy()
    ends["y"] = place(ends["rank"].tolist())
    ends["from"], ends["to"] = exits + 0.12, exits + 0.34
    ends["label"] = [("✓ " if k == KINDS[0] else "") + shorten(t, 70) for k, t in
                     zip(ends["kind"], ends["text"], strict=True)]  # fmt: skip
    return ends[["cand", "x", "rank", "kind", "label", "y", "from", "to"]]


@lru_cache(maxsize=64)
def _template(layers: tuple[int, ...], candidates: int, height: int, thin: bool) -> dict[str, Any]:
    """The drawing without its data: built and checked once, since that takes Altair a fifth of a second."""
    exits = len(layers)
    scale = alt.Scale(type="log", domain=[0.8, max(candidates, 2) * 1.12], reverse=True, nice=False)
    names = " : ".join(f"datum.value == {i} ? 'layer {n}'" for i, n in enumerate(layers, start=1))
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[-0.3, exits * 1.5], nice=False),
        axis=alt.Axis(values=list(range(exits + 1)), labelExpr=f"datum.value == 0 ? 'retrieved' : {names} : ''",
                      title=None, grid=False, domain=False, ticks=False, labelPadding=7, labelOverlap=False,
                      labelFlush=False, labelFontSize=alt.expr(f"width < {NARROW} ? 9 : 12")),
    )  # fmt: skip
    y = alt.Y(
        "rank:Q",
        scale=scale,
        axis=alt.Axis(values=[t for t in TICKS if t <= candidates], title="rank, 1 is best", format=",d",
                      gridOpacity=0.25, domain=False, ticks=False),
    )  # fmt: skip
    beside = alt.Y("y:Q", scale=scale)
    colour = alt.Color("kind:N", scale=alt.Scale(domain=KINDS, range=INK), legend=LEGEND)
    shapes = alt.Scale(domain=KINDS, range=["diamond", "circle", "diamond", "circle"])
    dash = alt.condition("datum.kind == 'correct, lost'", alt.value([7, 4]), alt.value([1, 0]))
    pick = alt.selection_point(
        name="pick", fields=["cand"], on="click", nearest=True, toggle=False, empty=False, clear=False
    )
    tip = [alt.Tooltip("text:N", title="candidate"), alt.Tooltip("rank:Q"), alt.Tooltip("fate:N")]
    cut_size = alt.expr(f"width / {exits * 3.6}")
    violet = alt.OverlayMarkDef(filled=True, size=80, color=VIOLET)
    chart = alt.layer(
        _on("edge").mark_area(opacity=0.1, color=BLUE, aria=False).encode(x, y, alt.Y2("top:Q")),
        _on("grey")
        .mark_line(strokeWidth=0.9, opacity=0.22 if thin else 0.4, color=GREY, interpolate="monotone", aria=False)
        .encode(x, y, detail="cand:N"),
        _on("ends")
        .mark_tick(orient="horizontal", thickness=1, size=7, opacity=0.3 if thin else 0.8, color=GREY, aria=False)
        .encode(x, y),
        _on("cuts").mark_tick(orient="horizontal", thickness=2.4, size=cut_size, color=GREY, opacity=1).encode(x, y),
        _on("cuts")
        .mark_text(color=GREY, baseline="top", lineBreak="\n", fontSize=alt.expr(f"width < {NARROW} ? 9 : 12"),
                   text=alt.expr(f"width < {NARROW} ? datum.narrow : datum.flow"))
        .encode(x, y=alt.value(height + 22)),
        _on("told")
        .mark_line(strokeWidth=2.6, interpolate="monotone")
        .encode(x, y, colour, detail="cand:N", strokeDash=dash),
        _on("points")
        .mark_point(filled=True, size=64, opacity=1)
        .encode(x, y, colour, shape=alt.Shape("kind:N", scale=shapes, legend=LEGEND)),
        _on("lost").mark_point(shape=CROSS, size=90, strokeWidth=3.2, opacity=1).encode(x, y, colour),
        _on("lost")
        .mark_text(align="left", dx=12, dy=11, fontSize=12, fontWeight=600)
        .encode(x, beside, colour, text="label:N"),
        _on("labels")
        .mark_rule(strokeWidth=1, opacity=0.7, aria=False)
        .encode(alt.X("from:Q"), alt.X2("to:Q"), y, alt.Y2("y:Q"), colour),
        _on("labels")
        .mark_text(align="left", dx=4, fontSize=12, fontWeight=600, limit=alt.expr("width * 0.27"))
        .encode(alt.X("to:Q"), beside, colour, text="label:N"),
        _on("chosen")
        .mark_line(strokeWidth=3.6, color=VIOLET, interpolate="monotone", point=violet)
        .encode(x, y),
        _on("targets").mark_circle(size=60, opacity=0.001, aria=False).encode(x, y, tooltip=tip).add_params(pick),
    )  # fmt: skip
    padding = {"left": 4, "top": 4, "right": 4, "bottom": 34}
    return chart.properties(height=height, width="container", padding=padding).configure_view(stroke=None).to_dict()


def _on(name: str) -> alt.Chart:
    return alt.Chart(alt.NamedData(name))
