"""The files of a comparison, made when they are asked for."""

from functools import partial

import streamlit as st

from app.compare import exports
from app.compare.comparison import ComparisonView

FILES = (  # title, what makes it, file name, type, what it holds
    ("Table as CSV", exports.export_table, "comparison.csv", "text/csv",
     "A row a ranker: every metric with its interval, compute and seconds"),
    ("Values by question as CSV", exports.export_values, "comparison-questions.csv", "text/csv",
     "A row a question and ranker, with every metric"),
    ("All results as JSON", exports.export_json, "comparison.json", "application/json",
     "Means, intervals, paired tests of every metric, dropped candidates and notes, named as in as2 eval with --json"),
)  # fmt: skip


def draw(view: ComparisonView) -> None:
    """`view`: with the rankers' full names."""
    with st.popover("Download", icon=":material/download:", type="tertiary", key="compare_downloads"):
        for title, export, file_name, mime, explanation in FILES:
            st.download_button(title, partial(export, view), file_name, mime, key=f"compare_get_{file_name}",
                               help=explanation, on_click="ignore", icon=":material/download:",
                               width="stretch")  # fmt: skip
