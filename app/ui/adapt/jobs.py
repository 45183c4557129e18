"""The corpus's recent jobs, and a line at the top of the page if the last retrain failed."""

from collections.abc import Sequence
from datetime import datetime

import streamlit as st

from app.compare.deciding import DecisionRequest
from app.jobs.kinds import JobKind
from app.jobs.queue import JobView
from app.labels.queues import DECIDE
from app.ui import navigation, url
from app.ui.errors import guard
from app.ui.job import explain_refusal, retry_once
from app.ui.page import Frame
from app.ui.text import format_time, plain
from app.ui.wording import JOB_KINDS, name_state

STATES = {  # others as they are
    "lost": "its worker was interrupted",
}


def draw_failure(recent: Sequence[JobView], newest: JobView | None, *, current: JobView | None) -> None:
    """One line if the newest retrain failed, unless an older one was run again and is done since, or it is the one on
    the page."""
    if newest is None or newest.state not in ("failed", "lost") or (current and current.id == newest.id):
        return
    if any(j.kind == JobKind.RETRAIN and j.state == "done" and _when(j) > _when(newest) for j in recent):
        return
    what = "failed" if newest.state == "failed" else "was interrupted"
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="adapt_lost"):
        st.markdown(f":material/error: The last retrain {what} ({format_time(_when(newest))}).", width="stretch")
        st.button("Open", key="adapt_lost_open", on_click=url.put, kwargs={"job": newest.id, "version": None})


def draw_end(job: JobView) -> None:
    """One line for a retrain that was done while a version's card was open."""
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="adapt_ended"):
        st.markdown(f":material/check_circle: The retrain (job {job.id}) is done.", width="stretch")
        st.button("Open", key="adapt_ended_open", on_click=url.put, kwargs={"job": job.id, "version": None})


def draw_list(frame: Frame, recent: Sequence[JobView]) -> None:
    """Newest first. A retrain and a decision can be opened; a failed job of another kind can be run again from here."""
    if not recent:
        return
    with st.expander("Jobs", icon=":material/list:", key="adapt_jobs"):
        for job in recent:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(_line(job), width="stretch")
                if job.kind == JobKind.RETRAIN:
                    address = {"job": job.id, "version": None}
                    st.button("Open", key=f"adapt_jobs_open_{job.id}", on_click=url.put, kwargs=address)
                elif job.kind == JobKind.DECIDE and (job.is_active or job.state == "done"):
                    navigation.to("label", "Open", queue=DECIDE, job=str(job.id))
                elif job.state in ("failed", "cancelled", "lost"):
                    why = explain_refusal(job, frame.annotator)
                    st.button("Run again", key=f"adapt_jobs_again_{job.id}", disabled=bool(why), help=why,
                              on_click=guard(retry_once), args=(frame.wb, job.id),
                              kwargs={"by": frame.annotator.id})  # fmt: skip


def _line(job: JobView) -> str:
    state = STATES.get(job.state, name_state(job))
    why = f": {plain(job.error)}" if job.error and job.state in ("failed", "lost") else ""
    kind = JOB_KINDS.get(job.kind, job.kind)
    if job.kind == JobKind.DECIDE:
        request = DecisionRequest.of(job)
        kind += f": {plain(request.a)} or {plain(request.b)}"
    return f"**{kind}**, job {job.id}, {format_time(_when(job))}: {state}{why}"


def _when(job: JobView) -> datetime:
    return job.finished or job.started or job.created
