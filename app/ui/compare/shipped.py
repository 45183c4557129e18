"""The comparison that comes with the program: shown on its own corpus until another is opened, elsewhere on request."""

from collections.abc import Sequence

import streamlit as st

from app.compare import comparison_job, shipped_comparison
from app.compare.comparison import ComparisonSettings, ComparisonView
from app.corpora.corpora import CORPUS_PREFIX, STARTER
from app.jobs.queue import JobView
from app.ui import url
from app.ui.errors import guard
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
            _draw_opening()


def draw_way(wb: Workbench, corpus_name: str) -> None:
    """Below a result: the way to the comparison that comes with the program, where that does not open by itself."""
    if corpus_name != STARTER and find_shipped_comparison(wb, str(wb.settings.starter_dir)) is not None:
        _draw_opening()


def _draw_opening() -> None:
    st.button("Open the prepared one of the starter corpus", key="compare_prepared", type="tertiary",
              icon=":material/stacked_line_chart:", on_click=url.put,
              kwargs={"prepared": 1, "job": None, "q": None})  # fmt: skip


def list_active(jobs: Sequence[JobView], corpus_name: str) -> tuple[list[JobView], list[JobView]]:
    """The comparisons under way: those that this corpus shows, and those on the labels of other corpora."""
    active, own = [j for j in jobs if j.is_active], f"{CORPUS_PREFIX}{corpus_name}"
    others = [j for j in active if ComparisonSettings.of(j).data.startswith(CORPUS_PREFIX)]
    others = [j for j in others if ComparisonSettings.of(j).data != own]
    return [j for j in active if j not in others], others


def find_newest(jobs: Sequence[JobView], corpus_name: str) -> JobView | None:
    """The newest result on a corpus's labels, to open by itself; None where the address has another wish, and on the
    starter corpus, which has the one that comes with the program. `jobs`: newest first."""
    if corpus_name == STARTER or url.get("job") or url.get("prepared") or url.get("rankers"):
        return None
    data = f"{CORPUS_PREFIX}{corpus_name}"
    return next((j for j in jobs if j.state == "done" and ComparisonSettings.of(j).data == data), None)


def draw_note(wb: Workbench, corpus_name: str, *, by: int) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("Prepared with the program: the shipped rankers on the starter corpus's test questions.",
                   width="stretch")  # fmt: skip
        st.button("Compute it here", key="compare_again_here", type="tertiary", icon=":material/replay:",
                  on_click=_compute, args=(wb, by), help="Takes some minutes, in the background")  # fmt: skip
        if corpus_name != STARTER:
            st.button("Close", key="compare_prepared_close", type="tertiary", icon=":material/close:",
                      on_click=url.put,
                      kwargs={"prepared": None, "q": None, "metric": None})  # fmt: skip


@guard
def _compute(wb: Workbench, by: int) -> None:
    settings = shipped_comparison.SETTINGS
    job = comparison_job.start_compare(wb, settings.rankers, settings.data, settings.setting, by=by)
    url.put(job=job.id, prepared=None)
