"""An evaluation as one HTML file that needs nothing else: tables, and intervals drawn in SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from as2core.gate import Check
from as2core.metrics import MEASURES

WIDTH, PADDING = 260, 4  # pixels of an interval's drawing
STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;color:#1d2430}
table{border-collapse:collapse;margin:0 0 2em}th,td{padding:.3em .8em;text-align:right;border-bottom:1px solid #d8dde5}
th:first-child,td:first-child{text-align:left}.missed{color:#a3261b}.met{color:#1a6b3c}
@media(prefers-color-scheme:dark){body{background:#14181f;color:#e4e8ee}td,th{border-color:#39414e}
.missed{color:#ff9d92}.met{color:#7fd6a2}}"""
Row = Sequence[object]


def write_report(
    source: Mapping[str, object],
    rankers: Sequence[Mapping[str, object]],
    unranked: Mapping[str, float],
    comparisons: Sequence[Mapping[str, object]],
    checks: Sequence[Check],
) -> str:
    """`rankers` and `comparisons` as in the command's JSON; `unranked` is empty where the data has no order. Every name
    is escaped."""
    about = ", ".join(f"{name}: {value}" for name, value in source.items())
    parts = [f"<h1>Evaluation</h1><p>{escape(about)}</p>"]
    if checks:
        rows = [(c.requirement, _format(c.value), _mark(c.is_met)) for c in checks]
        parts += ["<h2>Gate</h2>", _table(("requirement", "value", ""), rows)]
    for measure in MEASURES:
        table = _table_of_measure(measure, rankers, unranked.get(measure), comparisons)
        parts += [f"<h2>{escape(measure)}</h2>", table]
    return f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Evaluation</title><style>{STYLE}</style>' + (
        "".join(parts) + "</html>\n"
    )


class Markup(str):
    """HTML that is not escaped again."""


def _table_of_measure(
    measure: str,
    rankers: Sequence[Mapping[str, object]],
    unranked: float | None,
    comparisons: Sequence[Mapping[str, object]],
) -> str:
    rows: list[Row] = []
    for r in rankers:
        low, high = r["intervals"][measure]  # type: ignore[index]
        mean = float(r[measure])  # type: ignore[arg-type]
        rows.append((r["ranker"], _format(mean), _format(low), _format(high), _draw(mean, low, high)))
    if unranked is not None:
        rows.append(("no reranking", _format(unranked), "", "", ""))
    html = _table(("ranker", "mean", "low", "high", "95 % interval"), rows)
    columns = ("difference", "low", "high", "p", "holm", "effect", "detectable", "sample_size")
    tests = [(f"{c['a']} minus {c['b']}", *(_format(c[measure][name]) for name in columns)) for c in comparisons]  # type: ignore[index]
    return html + (_table(("pair", *columns), tests) if tests else "")


def _table(heads: Sequence[str], rows: Sequence[Row]) -> str:
    def cell(value: object) -> str:
        return f"<td>{value if isinstance(value, Markup) else escape(str(value))}</td>"

    head = "".join(f"<th>{escape(h)}</th>" for h in heads)
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _format(value: object) -> str:
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def _mark(is_met: bool) -> Markup:
    return Markup('<span class="met">met</span>' if is_met else '<span class="missed">missed</span>')


def _draw(mean: float, low: float, high: float) -> Markup:
    """Between 0 and 1."""
    x0, x, x1 = (PADDING + value * (WIDTH - 2 * PADDING) for value in (low, mean, high))
    return Markup(
        f'<svg width="{WIDTH}" height="14" role="img" aria-label="{low:.3f} to {high:.3f}">'
        f'<line x1="{PADDING}" x2="{WIDTH - PADDING}" y1="7" y2="7" stroke="currentColor" opacity=".2"/>'
        f'<line x1="{x0:.1f}" x2="{x1:.1f}" y1="7" y2="7" stroke="currentColor" stroke-width="3"/>'
        f'<circle cx="{x:.1f}" cy="7" r="4" fill="currentColor"/></svg>'
    )
