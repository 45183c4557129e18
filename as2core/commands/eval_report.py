"""What a report of `as2 eval` says (as2core.html_report)."""

from __future__ import annotations

from datetime import datetime
from html import escape

from as2core.commands.eval_result import EvalResult
from as2core.html_report import Markup, ReportContents
from as2core.text import count
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


def _describe_source(result: EvalResult, command: str, now: datetime) -> list[tuple[str, object]]:
    from as2core.data.catalog import SETTINGS

    source = result.source
    rows: list[tuple[str, object]] = [
        ("questions", f"{len(result.questions):,} of {source.data}, {SETTINGS[source.setting]} ({source.setting})"),
        ("sentences", "read after their documents' titles, where there are any" if source.titles else "without titles"),
    ]
    if source.synonyms:
        rows.append(("synonyms", source.synonyms))
    if source.omissions:
        rows.append(("left out", f"{count(source.omissions, 'line')} of the data that cannot be read"))
    rows += [
        ("date", now.strftime("%Y-%m-%d %H:%M UTC")),
        ("program", f"as2core {__version__}"),
        ("command", Markup(f"<code>{escape(command)}</code>")),
    ]
    return rows
