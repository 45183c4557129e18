"""The files of a comparison, made when they are asked for."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from app.compare import exports
from app.compare.comparison import ComparisonView
from app.ui.compare.headline import describe_headline
from as2core.sources.spreadsheet import mark_utf_8

REPORT_METRIC = "AP"  # of the outcome in words


def _export_html(view: ComparisonView) -> str:
    return exports.export_html(view, headline=describe_headline(view, REPORT_METRIC))


FILES = (  # title, what makes it, file name, type, what it holds
    ("Table as CSV", exports.export_table, "comparison.csv", "text/csv",
     "A row a ranker: on which questions, every metric with its interval, compute, and seconds a question"),
    ("Values by question as CSV", exports.export_values, "comparison-questions.csv", "text/csv",
     "A row a question and ranker, with every metric"),
    ("Report as HTML", _export_html, "comparison.html", "text/html",
     "One file to pass on or to print: which ranker is better, means with their intervals, and tests"),
    ("Table for LaTeX", exports.export_latex, "comparison.tex", "text/x-tex",
     "A row a ranker, as in publications: the best means in bold, and letters for what is clearly better than what"),
    ("All results as JSON", exports.export_json, "comparison.json", "application/json",
     "Means, intervals, paired tests of every metric, dropped candidates and notes, named as in as2 eval with --json"),
)  # fmt: skip


def draw(view: ComparisonView) -> None:
    """`view`: with the rankers' full names."""
    with st.popover("Download", icon=":material/download:", type="tertiary", key="compare_downloads"):
        for title, export, file_name, mime, explanation in FILES:
            make = partial(_make, export, view, mime)
            st.download_button(title, make, file_name, mime, key=f"compare_get_{file_name}", help=explanation,
                               on_click="ignore", icon=":material/download:", width="stretch")  # fmt: skip


def _make(export: Callable[[ComparisonView], str], view: ComparisonView, mime: str) -> bytes:
    content = export(view).encode()
    return mark_utf_8(content) if mime == "text/csv" else content
