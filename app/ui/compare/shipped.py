"""The comparison that comes with the program, shown until another is opened."""

import streamlit as st

from app.compare import comparison, shipped_comparison
from app.compare.comparison import ComparisonView
from app.ui import url
from app.ui.errors import guarded
from app.workbench.workbench import Workbench


@st.cache_resource(ttl=600, show_spinner=False)
def find_shipped_comparison(_wb: Workbench, starter_dir: str) -> ComparisonView | None:
    return shipped_comparison.find_shipped_comparison(_wb)


def draw_note(wb: Workbench, *, by: int) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("Prepared with the program: the shipped rankers on the starter corpus's test questions.",
                   width="stretch")  # fmt: skip
        st.button("Compute it here", key="compare_again_here", type="tertiary", icon=":material/replay:",
                  on_click=_compute, args=(wb, by), help="Takes some minutes, in the background")  # fmt: skip


@guarded
def _compute(wb: Workbench, by: int) -> None:
    settings = shipped_comparison.SETTINGS
    url.put(job=comparison.start_compare(wb, settings.rankers, settings.data, settings.setting, by=by).id)
