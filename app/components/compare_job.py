"""A comparison under way: redrawn every second, and with the whole page when it ends."""

from __future__ import annotations

import streamlit as st

from app.components.adapt_job import POLL, cancel_or_again
from app.components.adapt_words import waits_for
from app.components.text import plain
from app.services import Workbench, adapting
from app.services.views import JobView

TOLD = {
    "failed": "The comparison failed; nothing else was touched.",
    "cancelled": "You stopped it. Rankers that were done are remembered and won't be run again.",
    "lost": "Its worker went away in the middle. Run it again: rankers that were done are remembered.",
}


def draw(wb: Workbench, job: JobView) -> None:
    """The panel of a comparison that has no result yet."""
    st.fragment(_panel, run_every=POLL if job.active else None)(wb, job.id, job.active)


def _panel(wb: Workbench, job_id: int, was_active: bool) -> None:
    job = adapting.job(wb, job_id)
    if was_active != job.active:  # ended, or run again: a click in here redraws the panel alone
        st.rerun()
    with st.container(border=True, key="compare_job"):
        if job.active:
            doing = "Stopping …" if job.cancelling else job.message or "Comparing"
            st.progress(min(1.0, max(0.0, job.progress)), text=plain(doing[:1].upper() + doing[1:]))
        st.caption(_of_what(job))
        if why := waits_for(wb, job):
            st.caption(why)
        if job.state in TOLD:
            st.markdown(TOLD[job.state])
        if job.error and job.state in ("failed", "lost"):
            st.error(plain(job.error), icon=":material/error:")
        cancel_or_again(wb, job, "compare")


def _of_what(job: JobView) -> str:
    s = job.settings
    few = f", {s['limit']} of its questions" if s.get("limit") else ""
    return plain(f"{', '.join(s['rankers'])}, on {s['data']} ({s['setting']}{few})")
