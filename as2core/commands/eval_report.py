"""What a report and a LaTeX table of `as2 eval` say (`html_report` and `latex_table` of as2core.evaluation)."""

from __future__ import annotations

from datetime import datetime

from as2core.commands.eval_result import EvalResult, Source, count_measured_questions
from as2core.evaluation.html_report import COMMAND, ReportContents
from as2core.messages import count
from as2core.version import __version__


def describe_result(result: EvalResult, command: str, now: datetime) -> ReportContents:
    """`command` is the command line that makes it again."""
    return ReportContents(
        f"{', '.join(result.results)} on {result.source.data}",
        _describe_source(result, command, now),
        result.describe_rankers(),
        result.tests,
        result.unranked,
        result.difference,
        result.notes,
        result.checks,
    )


def _describe_source(result: EvalResult, command: str, now: datetime) -> list[tuple[str, str]]:
    from as2core.data.catalog import SETTINGS

    source = result.source
    rows: list[tuple[str, str]] = [
        ("questions", f"{_count_questions(result)} of {source.data}, {SETTINGS[source.setting]} ({source.setting})"),
        _describe_reading(source),
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
        (COMMAND, command),
    ]
    return rows


def _describe_reading(source: Source) -> tuple[str, str]:
    if source.titles is None:
        return (
            "documents",
            "those that a run has, by their ids; what the qrels lack counts as not relevant, as in trec_eval",
        )
    titles = "read after their documents' titles, where there are any" if source.titles else "without titles"
    return "sentences", titles


def _count_questions(result: EvalResult) -> str:
    """Also of how many the means are, where some have no label."""
    number, with_label = len(result.questions), count_measured_questions(next(iter(result.results.values())))
    return f"{number:,}" if with_label == number else f"{number:,}, {with_label:,} with a label,"
