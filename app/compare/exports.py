"""A comparison as files: its table and its values by question as CSV, all but these values as JSON, a report as HTML,
and a table for LaTeX. They are made of what is stored; nothing is computed again but the tests of an older comparison.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from app.compare.comparison import ComparisonView, RankerResult
from app.compare.pairs import WANTED_DIFFERENCE, PairedResult
from app.compare.sweeps import parse_ratio
from app.ranking.retrieval_order import RETRIEVAL, WORDS
from as2core.data.catalog import SETTINGS
from as2core.data.source import format_rows
from as2core.evaluation.gate import UNRANKED
from as2core.messages import count
from as2core.metrics import MEASURES
from as2core.sources.spreadsheet import defuse_formula
from as2core.terminal import to_json
from as2core.types import Question
from as2core.version import __version__

if TYPE_CHECKING:
    import pandas as pd

    from as2core.evaluation.html_report import ReportContents

ORDERS = {RETRIEVAL: "the order of retrieval", WORDS: "BM25's order", "": "the order in the data"}


def export_table(view: ComparisonView) -> str:
    """A row a ranker: of which questions and candidates, every metric with its interval and, where labels are missing,
    its bounds; compute, and seconds a question."""
    import pandas as pd

    candidates = sum(len(q.candidates) for q in view.by_id.values())
    questions = {
        "data": view.data,
        "setting": view.setting,
        "with_unlabelled": view.with_unlabelled,
        "questions": view.questions,
        "candidates": candidates,
    }
    rows: list[dict[str, object]] = []
    for r in view.distinct_results:
        row: dict[str, object] = {"ranker": r.ranker, **questions}
        for metric, figure in r.figures.items():
            row |= {metric: figure.value, f"{metric} low": figure.low, f"{metric} high": figure.high}
            if figure.least is not None:
                row |= {f"{metric} least": figure.least, f"{metric} most": figure.most}
        rows.append({**row, "compute": r.relative_cost, "seconds_per_question": r.seconds})
    return _to_csv(pd.DataFrame(rows))


def export_values(view: ComparisonView) -> str:
    """A row a question and ranker, with every metric."""
    return _to_csv(view.per_question)


def export_candidates(questions: Iterable[Question]) -> str:
    """A row a candidate, with the ids that a run has to have, and without labels."""
    columns = ("question_id", "candidate_id", "question", "candidate")
    rows = [(q.qid, c.id, q.text, c.text) for q in questions for c in q.candidates]
    return format_rows([columns, *(tuple(map(defuse_formula, row)) for row in rows)])


def export_json(view: ComparisonView) -> str:
    """The rankers, the tests of every metric and the notes, named as in `as2 eval --json`."""
    metrics = _list_metrics(view)
    document = {
        "data": view.data,
        "setting": view.setting,
        "questions": view.questions,
        "candidates": sum(len(q.candidates) for q in view.by_id.values()),
        "with_unlabelled": view.with_unlabelled,
        "data_digest": view.data_digest or None,
        "finished": view.finished and view.finished.isoformat(),
        "program": __version__,
        "rankers": _describe_rankers(view, metrics),
        "unranked": view.unranked or None,
        "unranked_order": (view.unranked_order or "data") if view.unranked else None,
        "comparisons": _list_comparisons(view, metrics),
        "notes": _list_notes(view),
    }
    return json.dumps(to_json(document), indent=2, ensure_ascii=False) + "\n"


def export_html(view: ComparisonView, *, headline: str = "") -> str:
    """A report to pass on or to print: the outcome in words, means with their intervals, tests, and costs. `headline`:
    that of the page."""
    from as2core.evaluation.html_report import write_report

    return write_report(_describe_contents(view, headline))


def export_latex(view: ComparisonView) -> str:
    """The means as a table for publications, with what is clearly better than what."""
    from as2core.evaluation.latex_table import write_latex

    return write_latex(_describe_contents(view))


def _describe_contents(view: ComparisonView, headline: str = "") -> ReportContents:
    from as2core.evaluation.html_report import ReportContents

    metrics = _list_metrics(view)
    facts = [("questions", f"{view.questions:,} of {view.data}, {SETTINGS[view.setting]} ({view.setting})")]
    if view.with_unlabelled:
        facts.append(("unlabelled", "sentences without a label count as incorrect"))
    if view.finished:
        facts.append(("date", view.finished.strftime("%Y-%m-%d %H:%M UTC")))
    if view.unranked:
        facts.append((UNRANKED, ORDERS[view.unranked_order]))
    facts.append(("program", f"as2core {__version__}"))
    rankers = _describe_rankers(view, metrics)
    tests = {(c["a"], c["b"]): {m: c[m] for m in metrics} for c in _list_comparisons(view, metrics)}
    title = f"{count(len(rankers), 'ranker')} on {view.data}"
    outcomes = [pair for pair in tests if not any(map(parse_ratio, pair))]  # and not only of a sweep
    return ReportContents(
        title,
        facts,
        rankers,
        tests,
        view.unranked,
        WANTED_DIFFERENCE,
        _list_notes(view),
        outcomes=outcomes,
        headline=headline,
    )


def _list_metrics(view: ComparisonView) -> list[str]:
    return [m for m in MEASURES if all(m in r.figures for r in view.results)]


def _list_notes(view: ComparisonView) -> list[str]:
    return [*filter(None, [view.warning]), *view.notes]


def _describe_rankers(view: ComparisonView, metrics: list[str]) -> list[dict[str, object]]:
    return [
        {"questions": view.questions, **_describe_ranker(r, metrics, view.ranker_digests)}
        for r in view.distinct_results
    ]


def _describe_ranker(r: RankerResult, metrics: list[str], digests: Mapping[str, str]) -> dict[str, object]:
    bounds = {m: (r.figures[m].least, r.figures[m].most) for m in metrics if r.figures[m].least is not None}
    return {
        "ranker": r.ranker,
        "digest": digests.get(r.ranker),
        **{m: r.figures[m].value for m in metrics},
        "intervals": {m: (r.figures[m].low, r.figures[m].high) for m in metrics},
        **({"bounds": bounds} if bounds else {}),
        "seconds_per_question": r.seconds,
        "relative_cost": r.relative_cost,
        "cuts": [asdict(cut) for cut in r.cuts],
    }


def _list_comparisons(view: ComparisonView, metrics: list[str]) -> list[dict[str, Any]]:
    """A pair with the tests of every metric; the pairs that have them all."""
    tests = {m: {frozenset((p.a, p.b)): p for p in view.list_distinct_pairs(m)} for m in metrics}
    comparisons: list[dict[str, Any]] = []
    for pair in tests[metrics[0]].values():
        sides = frozenset((pair.a, pair.b))
        if all(sides in tests[m] for m in metrics):
            by_metric = {m: _describe_test(tests[m][sides], first=pair.a) for m in metrics}
            comparisons.append({"a": pair.a, "b": pair.b, **by_metric})
    return comparisons


def _describe_test(pair: PairedResult, *, first: str) -> dict[str, object]:
    """The test with the values of `first` minus those of the other."""
    test = asdict(pair.test)
    if pair.a != first:
        test |= {"difference": 0.0 - pair.test.difference, "low": 0.0 - pair.test.high, "high": 0.0 - pair.test.low,
                 "wins": pair.test.losses, "losses": pair.test.wins}  # fmt: skip
    effect = pair.effect if pair.effect is None or pair.a == first else -pair.effect
    others = {
        "holm": pair.holm,
        "family_size": pair.family_size,
        "effect": effect,
        "detectable": pair.detectable,
        "sample_size": pair.sample_size,
    }
    return {**test, **others}


def _to_csv(frame: pd.DataFrame) -> str:
    """Texts that a spreadsheet would take for a formula are defused; a column without any value is empty."""
    texts = frame.select_dtypes(exclude="number").columns
    cells = {c: ["" if v is None else defuse_formula(str(v)) for v in frame[c]] for c in texts}
    return frame.assign(**cells).to_csv(index=False)
