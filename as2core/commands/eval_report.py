"""An evaluation as one HTML file that needs nothing else: outcomes in words, tables, and intervals drawn in SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from html import escape
from typing import Any

from as2core.commands.eval_result import EvalResult, count_measured_questions
from as2core.evaluation import PairedTest, is_clear
from as2core.gate import Check
from as2core.metrics import MEASURES, name_effect
from as2core.text import count, format_p
from as2core.version import __version__

WIDTH, PADDING = 260, 4  # pixels of an interval's drawing
STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:1200px;margin:2em auto;padding:0 1em;color:#1d2430}
h1,p,li,dd,code{overflow-wrap:anywhere}dl{display:grid;grid-template-columns:max-content 1fr;gap:.1em 1em}dd{margin:0}
.table{overflow-x:auto;margin:0 0 2em}table{border-collapse:collapse}
th,td{padding:.3em .8em;text-align:right;border-bottom:1px solid #d8dde5;vertical-align:bottom}
td{white-space:nowrap}th:first-child,td:first-child{text-align:left}.missed{color:#a3261b}.met{color:#1a6b3c}
@media(prefers-color-scheme:dark){body{background:#14181f;color:#e4e8ee}td,th{border-color:#39414e}
.missed{color:#ff9d92}.met{color:#7fd6a2}}"""
NAMES = {
    "AP": "average precision: how high all correct sentences rank",
    "RR": "reciprocal rank: how high the first correct sentence ranks",
    "P@1": "share of questions whose first sentence is correct",
    "nDCG@10": "how good the first ten are",
}
Row = Sequence[object]


def write_report(result: EvalResult, command: str, now: datetime) -> str:
    """`command` is the command line that makes it again. Every name is escaped."""
    title = f"{', '.join(result.results)} on {result.source.data}"
    rankers = result.describe_rankers()
    parts = [f"<h1>{escape(title)}</h1>", _describe_source(result, command, now)]
    parts += [f'<p class="missed">{escape(note)}</p>' for note in result.notes]
    if result.tests:
        outcomes = (_describe_pair(pair, tests, "AP", len(result.tests)) for pair, tests in result.tests.items())
        parts += ["<h2>Outcome</h2><ul>", *(f"<li>{escape(text)}</li>" for text in outcomes), "</ul>"]
    if result.checks:
        rows = [(c.requirement, _format(c.value), _mark(c)) for c in result.checks]
        parts += ["<h2>Gate</h2>", _table(("requirement", "value", ""), rows)]
    for measure in MEASURES:
        parts += [f"<h2>{escape(measure)}</h2><p>{escape(NAMES[measure])}</p>"]
        parts += [_table_of_means(measure, rankers, result.unranked.get(measure)), _table_of_pairs(measure, result)]
    if result.slices:
        parts += ["<h2>Slices</h2><p>P@1 and its 95 % interval</p>", _table_of_slices(rankers)]
    parts += ["<h2>Rankers</h2>", _table_of_rankers(rankers)]
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
    head += f"<title>{escape(title)}</title><style>{STYLE}</style>"
    return f'<!doctype html><html lang="en">{head}{"".join(parts)}</html>\n'


class Markup(str):
    """HTML that is not escaped again."""


def _describe_source(result: EvalResult, command: str, now: datetime) -> str:
    from as2core.data.catalog import SETTINGS

    source = result.source
    rows: list[tuple[str, object]] = [
        ("questions", f"{_count_questions(result)} of {source.data}, {SETTINGS[source.setting]} ({source.setting})"),
        ("sentences", "read after their documents' titles, where there are any" if source.titles else "without titles"),
    ]
    if unlabelled := result.unlabelled_candidates:
        rows.append(("no label", f"{count(unlabelled, 'candidate')}, counted as not correct"))
    if source.synonyms:
        rows.append(("synonyms", source.synonyms))
    if source.omissions:
        rows.append(("left out", f"{count(source.omissions, 'line')} of the data that cannot be read"))
    rows += [
        ("date", now.strftime("%Y-%m-%d %H:%M UTC")),
        ("program", f"as2core {__version__}"),
        ("command", Markup(f"<code>{escape(command)}</code>")),
    ]
    return f"<dl>{''.join(f'<dt>{name}</dt><dd>{_escape(value)}</dd>' for name, value in rows)}</dl>"


def _count_questions(result: EvalResult) -> str:
    """Also of how many the means are, where some have no label."""
    number, with_label = len(result.questions), count_measured_questions(next(iter(result.results.values())))
    return f"{number:,}" if with_label == number else f"{number:,}, {with_label:,} with a label,"


def _describe_pair(pair: tuple[str, str], tests: Mapping[str, Mapping[str, Any]], measure: str, pairs: int) -> str:
    """Which is better, by how much, and whether that is more than chance."""
    values = tests[measure]
    test = PairedTest(**{name: values[name] for name in PairedTest.__dataclass_fields__})
    a, b = pair
    counts = f"{a} is better on {count(test.wins, 'question')}, {b} on {test.losses:,}, {test.ties:,} are the same."
    if not test.changes:
        return f"{a} and {b} do not differ in {measure}: all {test.ties:,} questions are the same."
    p = f"p = {format_p(values['holm'])}".replace("= <", "< ")
    corrected = f", corrected for {pairs} pairs" if pairs > 1 else ""
    size = f"{measure} is {abs(test.difference):.3f} {'higher' if test.difference >= 0 else 'lower'}"
    interval = f"95 %: {test.low:+.3f} to {test.high:+.3f}"
    if is_clear(test, values["holm"]):
        outcome = (
            f"{a} is {'better' if test.difference > 0 else 'worse'} than {b}: {size} ({interval}; {p}{corrected})."
        )
    elif test.has_few_changes:
        outcome = f"Too few questions changed to tell {a} and {b} apart: {size} ({p}{corrected})."
    else:
        outcome = (
            f"No clear difference between {a} and {b}: {size} ({interval}), which could be chance ({p}{corrected})."
        )
    return f"{outcome} {counts}"


def _table_of_means(measure: str, rankers: Sequence[Mapping[str, Any]], unranked: float | None) -> str:
    has_bounds = any(measure in r.get("bounds", ()) for r in rankers)
    rows: list[Row] = []
    for r in rankers:
        low, high = r["intervals"][measure]
        mean = float(r[measure])
        bounds = (" to ".join(map(_format, r["bounds"][measure])),) if has_bounds else ()
        rows.append((r["ranker"], _format(mean), _format(low), _format(high), *bounds, _draw(mean, low, high)))
    if unranked is not None:
        rows.append(("no reranking", _format(unranked), "", "", *([""] if has_bounds else ()), ""))
    heads = ("ranker", "mean", "from", "to", *(["with all labels"] if has_bounds else ()), "95 % interval")
    return _table(heads, rows)


def _table_of_pairs(measure: str, result: EvalResult) -> str:
    """ "" for one ranker."""
    if not result.tests:
        return ""
    heads = (
        "first minus second",
        "difference",
        "95 % interval",
        "questions better, worse, the same",
        "p",
        f"p corrected for {count(len(result.tests), 'pair')} (Holm)",
        "effect size (standard deviations)",
        "difference shown in 80 of 100 cases",
        f"questions needed for {result.difference:g}",
    )
    return _table(heads, [_list_cells(pair, tests[measure]) for pair, tests in result.tests.items()])


def _list_cells(pair: tuple[str, str], t: Mapping[str, Any]) -> Row:
    effect = "" if t["effect"] is None else f"{t['effect']:.2f} ({name_effect(t['effect'])})"
    return (
        f"{pair[0]} minus {pair[1]}",
        f"{t['difference']:+.3f}",
        f"{t['low']:+.3f} to {t['high']:+.3f}",
        f"{t['wins']:,}, {t['losses']:,}, {t['ties']:,}",
        format_p(t["p"]),
        format_p(t["holm"]),
        effect,
        _format(t["detectable"]),
        _format(t["sample_size"]),
    )


def _table_of_slices(rankers: Sequence[Mapping[str, Any]]) -> str:
    """In the first ranker's order."""
    by_name = [{f"{s['group']}: {s['name']}": s for s in r["slices"]} for r in rankers]
    rows = [
        (
            name,
            f"{first['questions']:,}",
            *(f"{s[name]['share']:.3f} ({s[name]['low']:.3f} to {s[name]['high']:.3f})" for s in by_name),
        )
        for name, first in by_name[0].items()
    ]
    return _table(("slice", "questions", *(r["ranker"] for r in rankers)), rows)


def _table_of_rankers(rankers: Sequence[Mapping[str, Any]]) -> str:
    """What each is, and what it cost: enough to find the same one again."""
    rows = [
        (
            r["ranker"],
            r["version"],
            r["weights"] or "none",
            f"{r['seconds']:.1f}",
            _format(r["relative_cost"]),
            "; ".join(f"{c['stage']}: {c['dropped']:,}, {c['correct']:,} of them correct" for c in r["cuts"]),
        )
        for r in rankers
    ]
    heads = ("ranker", "version", "SHA-256 of its weights", "seconds", "compute, of the whole model's", "dropped at")
    return _table(heads, rows)


def _table(heads: Sequence[str], rows: Sequence[Row]) -> str:
    """In a box of its own, in which it scrolls on a narrow screen."""
    head = "".join(f"<th>{escape(h)}</th>" for h in heads)
    body = "".join(f"<tr>{''.join(f'<td>{_escape(value)}</td>' for value in row)}</tr>" for row in rows)
    return f'<div class="table" tabindex="0"><table><tr>{head}</tr>{body}</table></div>'


def _escape(value: object) -> str:
    return value if isinstance(value, Markup) else escape(str(value))


def _format(value: object) -> str:
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else f"{value:,}"


def _mark(check: Check) -> Markup:
    return Markup(f'<span class="{"met" if check.is_met else "missed"}">{escape(check.describe())}</span>')


def _draw(mean: float, low: float, high: float) -> Markup:
    """Between 0 and 1."""
    x0, x, x1 = (PADDING + value * (WIDTH - 2 * PADDING) for value in (low, mean, high))
    return Markup(
        f'<svg width="{WIDTH}" height="14" role="img" aria-label="{low:.3f} to {high:.3f}">'
        f'<line x1="{PADDING}" x2="{WIDTH - PADDING}" y1="7" y2="7" stroke="currentColor" opacity=".2"/>'
        f'<line x1="{x0:.1f}" x2="{x1:.1f}" y1="7" y2="7" stroke="currentColor" stroke-width="3"/>'
        f'<circle cx="{x:.1f}" cy="7" r="4" fill="currentColor"/></svg>'
    )
