"""Slope picture: where several rankers put the candidates of one question.

One line a candidate, one upright a ranker; correct ones green with diamonds, the best of any ranker (or those that
moved most between two) blue with dots, the others grey. Ranks run downwards on a log axis, as in the cascade picture.
"""

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd
from altair.typing import ChartType

from app.ui.charts.labels import spread_labels
from app.ui.text import shorten
from app.ui.theme import BLUE, GREEN, GREY

HEIGHT_PX = 420
MAX_LINES = 300
MAX_MOVES = 5  # in colour
MIN_MOVE = 2  # ranks; less is no move worth a colour
CORRECT, OTHER = "correct", "other"
BEST, MOVE = "among the best", "moved most"


def build_slope_chart(ranks: pd.DataFrame, rankers: Sequence[str], *, best: int = 5) -> ChartType:
    """`ranks`: a row a candidate, columns `candidate` (text), `label` (1, 0 or None) and one rank column a ranker.

    A candidate among the `best` first of any ranker is drawn in blue; of the others at most `MAX_LINES`, the highest
    first. Draw it at the width of the page.
    """
    rankers = list(rankers)
    wide = ranks.reset_index(drop=True)
    wide["top"] = wide[rankers].min(axis=1)
    wide["kind"] = np.select([wide["label"] == 1, wide["top"] <= best], [CORRECT, BEST], OTHER)
    others = wide[wide["kind"] == OTHER].nsmallest(MAX_LINES, "top")
    return _draw(pd.concat([wide[wide["kind"] != OTHER], others]), rankers, BEST)


def build_move_chart(ranks: pd.DataFrame, rankers: tuple[str, str], *, highest: int) -> ChartType:
    """As `build_slope_chart`, of two rankers: the candidates among the `highest` of either and the correct ones, in
    blue those that moved most."""
    first, second = rankers
    wide = ranks[(ranks[[first, second]].min(axis=1) <= highest) | (ranks["label"] == 1)].reset_index(drop=True)
    move = (wide[first] - wide[second]).abs().where(wide["label"] != 1, 0)
    largest = move[move >= MIN_MOVE].nlargest(MAX_MOVES)
    wide["kind"] = np.select([wide["label"] == 1, wide.index.isin(largest.index)], [CORRECT, MOVE], OTHER)
    return _draw(wide, list(rankers), MOVE, has_dots=True)


def _draw(wide: pd.DataFrame, rankers: list[str], highlight: str, *, has_dots: bool = False) -> ChartType:
    """`wide` with a column `kind`: correct, `highlight` or other. With `has_dots`, the others can be pointed at, too:
    not for hundreds. Ranks are drawn from columns named by their place, because a ranker's name may have characters
    that mean something in a field."""
    kinds = [CORRECT, highlight, OTHER]
    places = [f"rank{i}" for i in range(len(rankers))]
    wide = wide.rename(columns=dict(zip(rankers, places, strict=True)))
    wide["text"] = [shorten(t, 160) for t in wide["candidate"]]
    wide = wide.rename_axis("cand").reset_index()
    long = wide.melt(["cand", "kind", "text"], places, "place", "rank").merge(wide[["cand", *places]], on="cand")
    long["x"] = long["place"].map(places.index)
    low, high = 0.8, max(float(wide[places].max().max()), 2) * 1.12
    x, y = _axes(rankers, low, high)
    legend = alt.Legend(title=None, orient="top")  # of colour and shape: two that differ are merged with a warning
    colour = alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=[GREEN, BLUE, GREY]), legend=legend)
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=["diamond", "circle", "circle"]), legend=legend)
    tip = [
        alt.Tooltip("text:N", title="candidate"),
        *(alt.Tooltip(f"{place}:Q", title=f"rank by {name}") for place, name in zip(places, rankers, strict=True)),
        "kind:N",
    ]
    base = alt.Chart(long)
    highlights = base.transform_filter(f"datum.kind != '{OTHER}'")
    others = base.transform_filter(f"datum.kind == '{OTHER}'")
    background: ChartType = others.mark_line(strokeWidth=0.9, opacity=0.3, color=GREY, aria=False).encode(
        x, y, detail="cand:N"
    )
    dots = others.mark_point(filled=True, size=36, opacity=0.7, color=GREY, aria=False)
    if has_dots:
        background = alt.layer(background, dots.encode(x, y, tooltip=tip))
    lines = highlights.mark_line(strokeWidth=2.6).encode(x, y, colour, detail="cand:N", tooltip=tip)
    points = highlights.mark_point(filled=True, size=60, opacity=1).encode(x, y, colour, shape=shape, tooltip=tip)
    labels = _labels(long, len(rankers) - 1, low, high, colour)
    return alt.layer(background, lines, points, labels).properties(height=HEIGHT_PX, width="container")


def _axes(rankers: list[str], low: float, high: float) -> tuple[alt.X, alt.Y]:
    names = " ".join(f"datum.value == {i} ? {name!r} :" for i, name in enumerate(rankers)) + " ''"
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[-0.15, (len(rankers) - 1) * 1.55 + 0.3], nice=False),
        axis=alt.Axis(values=list(range(len(rankers))), labelExpr=names, title=None, grid=True, domain=False,
                      ticks=False, labelOverlap=False, labelLimit=120),
    )  # fmt: skip
    y = alt.Y(
        "rank:Q",
        scale=alt.Scale(type="log", domain=[low, high], reverse=True, nice=False),
        axis=alt.Axis(values=[v for v in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if v <= high],
                      title="rank (log scale, 1 = best)", gridOpacity=0.25, format=",d", domain=False, ticks=False),
    )  # fmt: skip
    return x, y


def _labels(long: pd.DataFrame, last: int, low: float, high: float, colour: alt.Color) -> ChartType:
    """The coloured candidates' texts, right of the last ranker."""
    at_end = long[(long["x"] == last) & (long["kind"] != OTHER)].copy()
    at_end["y"] = spread_labels(at_end["rank"].tolist(), height=HEIGHT_PX, low=low, high=high)
    at_end["short"] = [("✓ " if k == CORRECT else "") + shorten(t, 60) for k, t in
                       zip(at_end["kind"], at_end["text"], strict=True)]  # fmt: skip
    return (
        alt.Chart(at_end)
        .mark_text(align="left", dx=10, fontSize=12, limit=alt.expr("width * 0.32"))
        .encode(alt.X("x:Q"), alt.Y("y:Q"), colour, text="short:N")
    )
