"""A scatter as SVG, for docs: accuracy against cost, without a plotting library. Mid-tones read on light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

from as2core.cascade.tune import Point, Tuning

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM, LEGEND = 720, 420, 64, 24, 40, 52, 18
RATIOS = (0.3, 0.4, 0.5)  # of the Cascade Transformer's tables
INK, BLUE, ORANGE, GREEN, GREY = "#7d8590", "#3b82c4", "#d97b29", "#3f9a5f", "#9aa3ad"


@dataclass(frozen=True, slots=True)
class Series:
    """`points` are (x, y). `line` joins them; `size` is a dot's radius; `labels` are written above their points."""

    name: str
    points: Sequence[tuple[float, float]]
    colour: str = BLUE
    size: float = 4.0
    line: bool = False
    labels: Sequence[str] = ()


def scatter(series: Sequence[Series], *, title: str, x_title: str, y_title: str, log: bool = False) -> str:
    """An SVG document; the title is its text alternative. Later series are drawn over earlier ones;
    `log`: both axes in powers of ten."""
    axes = zip(*(p for s in series for p in s.points), strict=True)
    x_ticks, y_ticks = ((powers if log else ticks)(min(values), max(values)) for values in axes)
    names = _legend([s.name for s in series])
    top = TOP + names[-1][1]

    def share(value: float, of: Sequence[float]) -> float:
        value, low, high = (log10(v) if log else v for v in (value, of[0], of[-1]))
        return (value - low) / (high - low)

    def across(x: float) -> float:
        return LEFT + share(x, x_ticks) * (WIDTH - LEFT - RIGHT)

    def down(y: float) -> float:
        return HEIGHT - BOTTOM - share(y, y_ticks) * (HEIGHT - top - BOTTOM)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" font-size="12" '
        f'font-family="system-ui, sans-serif" fill="{INK}">',
        f"<title>{escape(title)}</title>",
        f'<text x="{LEFT}" y="20" font-size="14">{escape(title)}</text>',
    ]
    for y in y_ticks:
        out.append(f'<path d="M{LEFT} {down(y):.1f}H{WIDTH - RIGHT}" stroke="{INK}" stroke-opacity="0.25"/>')
        out.append(_text(LEFT - 8, f"{down(y) + 4:.1f}", f"{y:g}", "end"))
    out += [_text(f"{across(x):.1f}", HEIGHT - BOTTOM + 18, f"{x:g}", "middle") for x in x_ticks]
    out.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x_title, "middle"))
    middle = (top + HEIGHT - BOTTOM) / 2
    out.append(f'<text transform="translate(16 {middle}) rotate(-90)" text-anchor="middle">{escape(y_title)}</text>')
    for s, (x, y) in zip(series, names, strict=True):
        dots = [(across(px), down(py)) for px, py in s.points]
        if s.line:
            path = "L".join(f"{px:.1f} {py:.1f}" for px, py in dots)
            out.append(f'<path d="M{path}" fill="none" stroke="{s.colour}" stroke-width="2"/>')
        out += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="{s.size:g}" fill="{s.colour}"/>' for px, py in dots]
        labels = zip(dots, s.labels, strict=False)
        out += [_text(f"{px:.1f}", f"{py - 10:.1f}", name, "middle", s.colour) for (px, py), name in labels]
        out.append(f'<circle cx="{x + 5}" cy="{33 + y}" r="4" fill="{s.colour}"/>')
        out.append(f'<text x="{x + 14}" y="{37 + y}">{escape(s.name)}</text>')
    return "\n".join([*out, "</svg>", ""])


def _text(x: float | str, y: float | str, text: str, anchor: str, colour: str = "") -> str:
    fill = f' fill="{colour}"' if colour else ""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}"{fill}>{escape(text)}</text>'


def _legend(names: Sequence[str]) -> list[tuple[int, int]]:
    """The place of each name, (across, down) from the first row's."""
    places: list[tuple[int, int]] = []
    x = down = 0
    for name in names:
        width = 30 + 7 * len(name)
        if places and LEFT + x + width > WIDTH - RIGHT:
            x, down = 0, down + LEGEND
        places.append((LEFT + x, down))
        x += width
    return places


def one_ratio(tuning: Tuning) -> list[Point]:
    """The schedules with one of the paper's ratios at all exits."""
    return [p for p in tuning.points if p.ratios[0] in RATIOS and len(set(p.ratios)) == 1]


def draw_tuning(tuning: Tuning, best: Point) -> str:
    """All schedules, the front, the selected one, and those with one ratio at all exits (the paper's Figure 2)."""
    same, full = one_ratio(tuning), tuning.full
    series = [
        Series("schedules", [(p.cost, p.value) for p in tuning.points], GREY, 2.0),
        Series("front", [(p.cost, p.value) for p in tuning.front], BLUE, 3.0, line=True),
        Series("one ratio", [(p.cost, p.value) for p in same], GREEN, 5.0, labels=[f"{p.ratios[0]:g}" for p in same]),
        Series("chosen", [(best.cost, best.value)], ORANGE, 6.0),
        Series("nobody dropped", [(full.cost, full.value)], INK, 5.0),
    ]
    title = f"{len(tuning.points):,} drop schedules replayed on {tuning.questions} questions"
    x_title = "cost, as a share of the monolithic model's FLOPs"
    return scatter(series, title=title, x_title=x_title, y_title=tuning.measure)


def ticks(low: float, high: float, about: int = 6) -> list[float]:
    """Round numbers from at most `low` to at least `high`, some `about` of them."""
    span = (high - low) or abs(high) or 1.0
    rough = span / about
    unit = 10.0 ** floor(log10(rough))
    step = next(m * unit for m in (1, 2, 2.5, 5, 10) if m * unit >= rough)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, max(last, first + 1) + 1)]


def powers(low: float, high: float) -> list[float]:
    """Those of ten from at most `low` to at least `high`, both above 0."""
    first, last = floor(log10(low) + 1e-9), ceil(log10(high) - 1e-9)
    return [10.0**i for i in range(first, max(last, first + 1) + 1)]
