"""An evaluation as one HTML file that needs nothing else: outcomes in words, tables, and intervals drawn in SVG."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from as2core.evaluation.gate import Check
from as2core.evaluation.rankers import is_clear
from as2core.evaluation.training_record import merge_overlaps
from as2core.messages import HYPHEN, MINUS, count, format_p, format_signed
from as2core.metrics import LABEL_SHARE, MEANINGS, PairedTest, name_effect

WIDTH, PADDING = 260, 4  # pixels of an interval's drawing
MAX_OUTCOMES = 5  # pairs that are told of in words; of more, those of the ranker with the highest AP
COMMAND = "command"  # the fact that is a command line
STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:1200px;margin:2em auto;padding:0 1em;color:#1d2430}
h1,p,li,dd,code{overflow-wrap:anywhere}dl{display:grid;grid-template-columns:max-content 1fr;gap:.1em 1em}dd{margin:0}
.table{overflow-x:auto;margin:0 0 2em}table{border-collapse:collapse}
th,td{padding:.3em .8em;text-align:right;border-bottom:1px solid #d8dde5;vertical-align:bottom}
td{white-space:nowrap}th:first-child,td:first-child{text-align:left}.missed{color:#a3261b}.met{color:#1a6b3c}
@media screen and (prefers-color-scheme:dark){body{background:#14181f;color:#e4e8ee}td,th{border-color:#39414e}
.missed{color:#ff9d92}.met{color:#7fd6a2}}
@media print{body{font-size:9.5pt;margin:0;padding:0;max-width:none}h2,h3{break-after:avoid}
h2+p,.means{break-inside:avoid;break-after:avoid}li,tr{break-inside:avoid}.table{overflow:visible;margin-bottom:1em}
th{white-space:normal}td:first-child,.rankers td{white-space:normal;overflow-wrap:anywhere}
th,td{padding:.2em .4em}.pairs,.rankers{font-size:7.5pt}.pairs td:first-child,.rankers td:first-child{width:24%}}"""
Row = Sequence[object]
Tests = Mapping[tuple[str, str], Mapping[str, Mapping[str, Any]]]  # of each pair of rankers, by measure


@dataclass(frozen=True, slots=True)
class ReportContents:
    """`facts`: a name and a value each, of the data and of how the report was made; that of COMMAND is code. `rankers`
    and `tests` are named as in `as2 eval --json`; what a ranker's record lacks has no column. `unranked`: the means of
    the order in the data. `difference`: what the tests' sample sizes are for. `outcomes`: the pairs whose outcome is
    told, in words and under each measure; all where there are none. The others are at the end."""

    title: str
    facts: Sequence[tuple[str, str]]
    rankers: Sequence[Mapping[str, Any]]
    tests: Tests
    unranked: Mapping[str, float]
    difference: float
    notes: Sequence[str] = ()
    checks: Sequence[Check] = ()
    outcomes: Sequence[tuple[str, str]] = ()
    headline: str = ""


def write_report(contents: ReportContents) -> str:
    """The whole file. Every name is escaped."""
    tests, rankers = contents.tests, contents.rankers
    pairs, in_words = _order_pairs(contents)
    facts = "".join(f"<dt>{name}</dt><dd>{_format_fact(name, value)}</dd>" for name, value in contents.facts)
    parts = [f"<h1>{escape(contents.title)}</h1>", f"<dl>{facts}</dl>"]
    parts += [f'<p class="missed">{escape(note)}</p>' for note in merge_overlaps(contents.notes)]
    if tests:
        texts = [_describe_pair(pair, tests[pair]["AP"], "AP", len(tests)) for pair in in_words]
        headline = f"<p><strong>{escape(contents.headline)}</strong></p>" if contents.headline else ""
        parts += [f"<h2>Outcome</h2>{headline}<ul>", *(f"<li>{escape(text)}</li>" for text in texts), "</ul>"]
        if len(texts) < len(pairs):
            parts.append(f"<p>The other {count(len(pairs) - len(texts), 'pair')} of rankers: in the tables.</p>")
    if contents.checks:
        rows = [(c.requirement, _format(c.value), _mark(c)) for c in contents.checks]
        parts += ["<h2>Gate</h2>", _table(("requirement", "value", ""), rows)]
    measures = list_measures(rankers)
    for measure in measures:
        parts.append(f"<h2>{escape(measure)}</h2>")
        parts += [f"<p>{escape(MEANINGS[measure])}</p>"] if measure in MEANINGS else []
        parts += [_table_of_means(measure, rankers, contents.unranked.get(measure))]
        parts += [_table_of_pairs(measure, contents, pairs)]
    if rankers[0].get("slices"):
        parts += ["<h2>Slices</h2><p>P@1 and its 95 % interval</p>", _table_of_slices(rankers)]
    parts += ["<h2>Rankers</h2>", _table_of_rankers(rankers)]
    if others := [pair for pair in tests if pair not in pairs]:
        parts.append("<h2>Other pairs</h2>")
        parts += [f"<h3>{escape(m)}</h3>{_table_of_pairs(m, contents, others)}" for m in measures]
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
    head += f"<title>{escape(contents.title)}</title><style>{STYLE}</style>"
    return f'<!doctype html><html lang="en">{head}<main>{"".join(parts)}</main></html>\n'


def list_measures(rankers: Sequence[Mapping[str, Any]]) -> list[str]:
    """Those of MEANINGS, then others that were asked for; what not all rankers have is left out, and what is of the
    labels."""
    names = dict.fromkeys([*MEANINGS, *(name for r in rankers for name in r.get("intervals", ()))])
    return [m for m in names if all(m in r for r in rankers) and not m.startswith(LABEL_SHARE)]


def find_corrected_p(values: Mapping[str, Any]) -> float:
    """The p of a test's record, corrected for the other pairs where there are some."""
    return values["p"] if values["holm"] is None else values["holm"]


def _order_pairs(contents: ReportContents) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The pairs of which the outcome is told, first those of the ranker with the highest AP; and which of them are told
    of in words."""
    pairs = list(contents.outcomes or contents.tests)
    means = {r["ranker"]: float(r.get("AP", 0.0)) for r in contents.rankers}
    best = max((name for pair in pairs for name in pair), key=lambda name: means.get(name, 0.0), default="")
    pairs.sort(key=lambda pair: best not in pair)
    return pairs, pairs if len(pairs) <= MAX_OUTCOMES else [pair for pair in pairs if best in pair]


def _format_fact(name: str, value: str) -> str:
    return f"<code>{escape(value)}</code>" if name == COMMAND else escape(value)


class Markup(str):
    """HTML that is not escaped again."""


def _describe_pair(pair: tuple[str, str], values: Mapping[str, Any], measure: str, pairs: int) -> str:
    """Which is better, by how much, and whether that is more than chance. `pairs`: of the report, which p is corrected
    for unless the record has a family of its own."""
    test = PairedTest.from_record(values)
    a, b = pair
    counts = f"{a} is better on {count(test.wins, 'question')}, {b} on {test.losses:,}, {test.ties:,} are the same."
    if not test.changes:
        return f"{a} and {b} do not differ in {measure}: all {test.ties:,} questions are the same."
    corrected_p = find_corrected_p(values)
    p = f"p = {format_p(corrected_p)}".replace("= <", "< ").replace(" ", "\u00a0")
    family = values.get("family_size", pairs)
    corrected = f", corrected for {family} pairs" if family > 1 else ""
    change = f"is {abs(test.difference):.3f} {'higher' if test.difference >= 0 else 'lower'}"
    size = f"{measure} of {a} {change}"
    interval = f"95 %: {_format_difference(test.low)} to {_format_difference(test.high)}"
    if is_clear(test, corrected_p):
        verdict = "better" if test.difference > 0 else "worse"
        outcome = f"{a} is {verdict} than {b}: {measure} {change} ({interval}; {p}{corrected})."
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
    return _table(heads, rows, kind="means")


def _table_of_pairs(measure: str, contents: ReportContents, pairs: Sequence[tuple[str, str]]) -> str:
    """ "" for one ranker."""
    if not pairs:
        return ""
    heads = (
        "first minus second",
        "difference",
        "95 % interval",
        "questions better, worse, the same",
        "p",
        f"p corrected for {_describe_families(measure, contents.tests)} (Holm)",
        "effect size (standard deviations)",
        "difference shown in 80 of 100 cases",
        f"questions needed for {contents.difference:g}",
    )
    return _table(heads, [_list_cells(pair, contents.tests[pair][measure]) for pair in pairs], kind="pairs")


def _describe_families(measure: str, tests: Tests) -> str:
    """How many pairs each p was corrected for."""
    sizes = {by_measure[measure].get("family_size", len(tests)) for by_measure in tests.values()}
    return count(sizes.pop(), "pair") if len(sizes) == 1 else "the pairs of its family"


def _list_cells(pair: tuple[str, str], t: Mapping[str, Any]) -> Row:
    number = f"{t['effect'] or 0:.2f}".replace(HYPHEN, MINUS)
    effect = "" if t["effect"] is None else f"{number} ({name_effect(t['effect'])})"
    return (
        f"{pair[0]} minus {pair[1]}",
        _format_difference(t["difference"]),
        f"{_format_difference(t['low'])} to {_format_difference(t['high'])}",
        f"{t['wins']:,}, {t['losses']:,}, {t['ties']:,}",
        format_p(t["p"]),
        "" if t["holm"] is None else format_p(t["holm"]),
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
    columns = [column for column in COLUMNS if column.key in rankers[0]]
    rows = [[column.write(r) for column in columns] for r in rankers]
    return _table([column.head for column in columns], rows, kind="rankers")


@dataclass(frozen=True, slots=True)
class _Column:
    """Of the table of rankers: what the `key` of a record says. A report whose records lack the key has no such
    column."""

    key: str
    head: str
    write: Callable[[Mapping[str, Any]], object]


def _describe_cuts(ranker: Mapping[str, Any]) -> str:
    return "; ".join(f"{c['stage']}: {c['dropped']:,}, {c['correct']:,} of them correct" for c in ranker["cuts"])


def _format_seconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.4f}"


COLUMNS = (
    _Column("ranker", "ranker", lambda r: r["ranker"]),
    _Column("version", "version", lambda r: r["version"]),
    _Column("weights", "SHA-256 of its weights", lambda r: r["weights"] or "none"),
    _Column("Judged@10", "of the first ten are in the qrels", lambda r: _format(r["Judged@10"])),
    _Column("seconds", "seconds", lambda r: f"{r['seconds']:.1f}"),
    _Column("seconds_per_question", "seconds a question", lambda r: _format_seconds(r["seconds_per_question"])),
    _Column("relative_cost", "compute, of the whole model's", lambda r: _format(r["relative_cost"])),
    _Column("cuts", "dropped at", _describe_cuts),
)


def _table(heads: Sequence[str], rows: Sequence[Row], *, kind: str = "short") -> str:
    """In a box of its own, in which it scrolls on a narrow screen; on paper its head is on each page. `kind`: the class
    that its look on paper goes by."""
    head = "".join(f'<th scope="col">{escape(h)}</th>' for h in heads)
    body = "".join(f"<tr>{''.join(f'<td>{_escape(value)}</td>' for value in row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="{kind}"><div class="table" tabindex="0">{table}</div></div>'


def _escape(value: object) -> str:
    return value if isinstance(value, Markup) else escape(str(value))


def _format_difference(value: float) -> str:
    return format_signed(value, minus=MINUS)


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
