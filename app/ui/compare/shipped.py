"""The comparison that comes with the program: shown on its own corpus until another is opened, elsewhere on request."""

from collections.abc import Sequence

import streamlit as st

from app.compare import comparison, shipped_comparison
from app.compare.comparison import CORPUS_PREFIX, ComparisonSettings, ComparisonView
from app.corpora.corpora import STARTER
from app.jobs.queue import JobView
from app.ui import url
from app.ui.errors import guarded
from app.ui.text import plain
from app.workbench.workbench import Workbench


@st.cache_resource(ttl=600, show_spinner=False)
def find_shipped_comparison(_wb: Workbench, starter_dir: str) -> ComparisonView | None:
    return shipped_comparison.find_shipped_comparison(_wb)


def is_open(corpus_name: str) -> bool:
    """Whether it is to be shown on this corpus."""
    return corpus_name == STARTER or url.get("prepared") == "1"


def draw_absence(corpus_name: str, jobs: Sequence[JobView], *, has_shipped: bool) -> None:
    """That no comparison is on the page, and the way to the one that comes with the program."""
    data = f"{CORPUS_PREFIX}{corpus_name}"
    has_own = any(job.state == "done" and ComparisonSettings.of(job).data == data for job in jobs)
    with st.container(horizontal=True, vertical_alignment="center", key="compare_absent"):
        st.markdown(
            f"The comparisons on the labels of {plain(corpus_name)} are under **Earlier comparisons**."
            if has_own
            else f"There is no comparison on the labels of {plain(corpus_name)} yet.",
            width="stretch",
        )
        if has_shipped:
            st.button("Open the prepared one of the starter corpus", key="compare_prepared", type="tertiary",
                      icon=":material/stacked_line_chart:", on_click=url.put, kwargs={"prepared": 1})  # fmt: skip


def draw_note(wb: Workbench, corpus_name: str, *, by: int) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("Prepared with the program: the shipped rankers on the starter corpus's test questions.",
                   width="stretch")  # fmt: skip
        st.button("Compute it here", key="compare_again_here", type="tertiary", icon=":material/replay:",
                  on_click=_compute, args=(wb, by), help="Takes some minutes, in the background")  # fmt: skip
        if corpus_name != STARTER:
            st.button("Close", key="compare_prepared_close", type="tertiary", icon=":material/close:",
                      on_click=url.put, kwargs={"prepared": None})  # fmt: skip


@guarded
def _compute(wb: Workbench, by: int) -> None:
    settings = shipped_comparison.SETTINGS
    job = comparison.start_compare(wb, settings.rankers, settings.data, settings.setting, by=by)
    url.put(job=job.id, prepared=None)
