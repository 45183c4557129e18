"""A running comparison: redrawn every second; the whole page is redrawn when it ends."""

from __future__ import annotations

import streamlit as st

from app.compare.comparison import ComparisonSettings
from app.jobs import queue
from app.jobs.queue import JobView
from app.ui.job import POLL_SECONDS, draw_cancel_or_retry
from app.ui.text import plain
from app.ui.wording import describe_wait
from app.workbench.workbench import Workbench

OUTCOMES = {
    "failed": "The comparison failed. Nothing else was changed.",
    "cancelled": "You stopped it. Finished rankers are stored and will not run again.",
    "lost": "The worker was interrupted. Run it again: finished rankers are stored.",
}


def draw(wb: Workbench, job: JobView) -> None:
    """The panel of a comparison that has no result yet."""
    st.fragment(_panel, run_every=POLL_SECONDS if job.active else None)(wb, job.id, job.active)


def _panel(wb: Workbench, job_id: int, was_active: bool) -> None:
    job = queue.load_job(wb, job_id)
    if was_active != job.active:  # ended, or run again: a click in here redraws the panel alone
        st.rerun()
    with st.container(border=True, key="compare_job"):
        if job.active:
            doing = "Stopping …" if job.cancelling else job.message or "Comparing"
            st.progress(min(1.0, max(0.0, job.progress)), text=plain(doing[:1].upper() + doing[1:]))
        st.caption(_describe(job))
        if why := describe_wait(wb, job):
            st.caption(why)
        if job.state in OUTCOMES:
            st.markdown(OUTCOMES[job.state])
        if job.error and job.state in ("failed", "lost"):
            st.error(plain(job.error), icon=":material/error:")
        draw_cancel_or_retry(wb, job, "compare")


def _describe(job: JobView) -> str:
    s = ComparisonSettings.of(job)
    limit = f", {s.limit} of its questions" if s.limit else ""
    return plain(f"{', '.join(s.rankers)} on {s.data} ({s.setting}{limit})")
