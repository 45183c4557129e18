"""The marks of the cascade chart: the drawing without its data, and its legend."""

from functools import lru_cache
from urllib.parse import quote

import altair as alt

from app.ui.theme import BLUE, GREEN, GREY, ORANGE, VIOLET

RIGHT, RETURNED, LOST, DROPPED = KINDS = ("correct, returned", "returned", "correct, dropped", "dropped")
MIN_RANK = 0.8  # the upper end of the rank axis
HEIGHT_PIXELS = 420
FOOT_PIXELS = 46  # under the ranks, for the columns' names
NARROW = "width < 520"  # pixels of plot width: then the names are small and in two lines
CROSS = "M-1,-1L1,1M-1,1L1,-1"
TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


def max_rank(candidates: int) -> float:
    """The lower end of the rank axis."""
    return max(candidates, 2) * 1.12


def render_legend() -> str:
    """What the marks mean, as markup for `st.html`: it wraps where a legend inside the drawing would be cut off."""
    marks = {
        RIGHT: f'<path d="M0 7h26" stroke="{GREEN}" stroke-width="2.6"/><path d="M13 2l5 5-5 5-5-5z" fill="{GREEN}"/>',
        RETURNED: f'<path d="M0 7h26" stroke="{BLUE}" stroke-width="2.6"/><circle cx="13" cy="7" r="4" fill="{BLUE}"/>',
        "correct, dropped or not shown": f'<path d="M0 7h17" stroke="{ORANGE}" stroke-width="2.6" '
        'stroke-dasharray="6 3.5"/>'
        f'<path d="M17 3l8 8m0-8l-8 8" stroke="{ORANGE}" stroke-width="2.8"/>',
        "dropped or not shown": f'<path d="M0 7h26M26 3v8" stroke="{GREY}" fill="none"/>',
        "the cut": f'<path d="M2 7h22" stroke="{GREY}" stroke-width="3"/>',
        "remaining": f'<path d="M0 1h26v12h-26z" fill="{BLUE}" opacity=".16"/>',
    }
    items = "".join(
        f'<li><img src="{_render_image(mark)}" width="27" height="14" alt="">{n}</li>' for n, mark in marks.items()
    )
    return f'<ul class="as2-marks" aria-label="What the marks mean">{items}</ul>'


def _render_image(mark: str) -> str:
    """Drawn marks as an image: `st.html` removes inline SVG."""
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 27 14">{mark}</svg>'
    return f"data:image/svg+xml,{quote(svg)}"


@lru_cache(maxsize=64)
def make_template(titles: tuple[str, ...], candidates: int, thin: bool) -> dict[str, object]:
    """The drawing without its data: built and checked once, since that takes Altair a fifth of a second."""
    exits = len(titles)
    # the feet of the columns are marks under the ranks' range, for an axis label can't change without a new drawing
    scale = alt.Scale(
        type="log", domain=[MIN_RANK, max_rank(candidates)], range=[0, alt.expr(f"height - {FOOT_PIXELS}")], nice=False
    )
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
    colour = alt.Color("kind:N", scale=alt.Scale(domain=list(KINDS), range=[GREEN, BLUE, ORANGE, GREY]), legend=None)
    shapes = alt.Scale(domain=list(KINDS), range=["diamond", "circle", "diamond", "circle"])
    dash = alt.condition("datum.kind == 'correct, dropped'", alt.value([7, 4]), alt.value([1, 0]))
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
        _foot(x, "name:N", height=34),
        _foot(x, "flow:N", height=18, opacity=alt.expr(f"{NARROW} ? 0 : 1")),
        _foot(x, "narrow:N", height=20, opacity=alt.expr(f"{NARROW} ? 1 : 0")),
        _on("highlighted")
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
        _on("chosen").mark_line(strokeWidth=3.6, color=VIOLET, interpolate="monotone", point=violet).encode(x, y),
        _on("targets").mark_circle(size=60, opacity=0.001, aria=False).encode(x, y, tooltip=tip).add_params(pick),
    )  # fmt: skip
    return chart.properties(height=HEIGHT_PIXELS, width="container").configure_view(stroke=None).to_dict()


def _foot(x: alt.X, field: str, *, height: int, opacity: alt.ExprRef | float = 1) -> alt.Chart:
    """A line of text below every column, `height` pixels above the foot of the chart."""
    size = alt.expr(f"{NARROW} ? 9 : 12")
    text = _on("feet").mark_text(color=GREY, baseline="top", fontSize=size, opacity=opacity, lineBreak="\n", aria=False)
    return text.encode(x, y=alt.value(alt.expr(f"height - {height}")), text=field)


def _on(name: str) -> alt.Chart:
    return alt.Chart(alt.NamedData(name))
