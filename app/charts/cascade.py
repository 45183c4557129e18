"""The cascade picture: one line a candidate, its rank at every exit, ending where it was dropped.

x: retrieved, then the exits, each with how many went in and stayed. y: rank, downwards on a log axis, so a constant
share dropped is a straight edge. Pale band: alive. Bar: the cut. Grey lines end in a tick where the candidate was
dropped. Green diamond: correct and returned; blue: returned; orange dashes with a cross: a correct answer lost there.

The last exit drops nobody; its bar is where the answers shown end. At most `max_lines` grey lines are drawn, for 1,300
block a browser for three seconds; the ticks are drawn for all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any
from urllib.parse import quote

import altair as alt
import numpy as np
import pandas as pd

from app.charts.labels import pushed_apart
from app.components.text import count, shorten
from app.components.theme import BLUE, GREEN, GREY, ORANGE, VIOLET
from as2core.cascade.trace import CascadeTrace

KINDS = ["correct, returned", "returned", "correct, lost", "dropped"]
INK = [GREEN, BLUE, ORANGE, GREY]
LOW = 0.8  # the upper end of the rank axis
FOOT = 46  # pixels under the ranks for the columns' names
NARROW = 520  # pixels of plot under which the feet are written small and in two lines
CROSS = "M-1,-1L1,1M-1,1L1,-1"
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


def legend_html() -> str:
    """What the marks mean, as markup for `st.html`: it wraps where a legend inside the drawing would be cut off."""
    marks = {
        KINDS[
            0
        ]: f'<path d="M0 7h26" stroke="{GREEN}" stroke-width="2.6"/><path d="M13 2l5 5-5 5-5-5z" fill="{GREEN}"/>',
        KINDS[
            1
        ]: f'<path d="M0 7h26" stroke="{BLUE}" stroke-width="2.6"/><circle cx="13" cy="7" r="4.2" fill="{BLUE}"/>',
        KINDS[2]: f'<path d="M0 7h17" stroke="{ORANGE}" stroke-width="2.6" stroke-dasharray="6 3.5"/>'
        f'<path d="M17 3l8 8m0-8l-8 8" stroke="{ORANGE}" stroke-width="2.8"/>',
        KINDS[3]: f'<path d="M0 7h26M26 3v8" stroke="{GREY}" stroke-width="1.2" fill="none"/>',
        "the cut": f'<path d="M2 7h22" stroke="{GREY}" stroke-width="3"/>',
        "still alive": f'<path d="M0 1h26v12h-26z" fill="{BLUE}" opacity=".16"/>',
    }
    items = "".join(
        f'<li><img src="{_image(mark)}" width="27" height="14" alt="">{n}</li>' for n, mark in marks.items()
    )
    return f'<ul class="as2-marks" aria-label="What the marks mean">{items}</ul>'


def _image(mark: str) -> str:
    """Drawn marks as an image: `st.html` removes inline SVG."""
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 27 14">{mark}</svg>'
    return f"data:image/svg+xml,{quote(svg)}"


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
    d, short = p.lines, ["cand", "x", "rank", "kind"]
    grey, told = d[d["cand"].isin(dropped)], d[d["kind"] != "dropped"]
    place = partial(pushed_apart, height=height - FOOT, low=LOW, high=_high(candidates))
    spec = dict(_template(tuple(p.cuts["layer"]), candidates, height, thin))
    spec["datasets"] = {
        "edge": _edge(p.cuts, candidates),
        "cuts": p.cuts.assign(rank=p.cuts["kept"] + 0.5),
        "feet": _feet(p.cuts),
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


def _feet(cuts: pd.DataFrame) -> pd.DataFrame:
    """What stands under each column: its name, and who went in and stayed, in one line and in two."""
    flow = [f"{a:,} → {b:,}" for a, b in zip(cuts["entered"], cuts["kept"], strict=True)]
    return pd.DataFrame(
        {
            "x": [0, *cuts["x"]],
            "name": ["retrieved", *(f"layer {n}" for n in cuts["layer"])],
            "flow": ["", *flow],
            "narrow": ["", *(f.replace(" ", "\n", 1) for f in flow)],
        }
    )


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
    # the feet of the columns are marks under the ranks' range, for an axis label can't change without a new drawing
    scale = alt.Scale(type="log", domain=[LOW, _high(candidates)], range=[0, alt.expr(f"height - {FOOT}")], nice=False)
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[-0.3, exits * 1.5], nice=False),
        axis=alt.Axis(labels=False, ticks=False, domain=False, grid=False, title=None),
    )
    y = alt.Y(
        "rank:Q",
        scale=scale,
        axis=alt.Axis(values=[t for t in TICKS if t <= candidates], title="rank, 1 is best", format=",d",
                      gridOpacity=0.25, domain=False, ticks=False),
    )  # fmt: skip
    beside = alt.Y("y:Q", scale=scale)
    colour = alt.Color("kind:N", scale=alt.Scale(domain=KINDS, range=INK), legend=None)
    shapes = alt.Scale(domain=KINDS, range=["diamond", "circle", "diamond", "circle"])
    dash = alt.condition("datum.kind == 'correct, lost'", alt.value([7, 4]), alt.value([1, 0]))
    pick = alt.selection_point(
        name="pick", fields=["cand"], on="click", nearest=True, toggle=False, empty=False, clear=False
    )
    tip = [alt.Tooltip("text:N", title="candidate"), alt.Tooltip("rank:Q"), alt.Tooltip("fate:N")]
    narrow = f"width < {NARROW}"
    foot = {"color": GREY, "baseline": "top", "fontSize": alt.expr(f"{narrow} ? 9 : 12"), "aria": False}
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
        _on("feet").mark_text(**foot).encode(x, y=alt.value(alt.expr("height - 34")), text="name:N"),
        _on("feet")
        .mark_text(opacity=alt.expr(f"{narrow} ? 0 : 1"), **foot)
        .encode(x, y=alt.value(alt.expr("height - 18")), text="flow:N"),
        _on("feet")
        .mark_text(opacity=alt.expr(f"{narrow} ? 1 : 0"), lineBreak="\n", **foot)
        .encode(x, y=alt.value(alt.expr("height - 20")), text="narrow:N"),
        _on("told")
        .mark_line(strokeWidth=2.6, interpolate="monotone")
        .encode(x, y, colour, detail="cand:N", strokeDash=dash),
        _on("points")
        .mark_point(filled=True, size=64, opacity=1)
        .encode(x, y, colour, shape=alt.Shape("kind:N", scale=shapes, legend=None)),
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
    return chart.properties(height=height, width="container").configure_view(stroke=None).to_dict()


def _high(candidates: int) -> float:
    """The lower end of the rank axis."""
    return max(candidates, 2) * 1.12


def _on(name: str) -> alt.Chart:
    return alt.Chart(alt.NamedData(name))
