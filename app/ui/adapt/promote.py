"""The promotion of a version: its gates, the click, and the job that measures them first."""

from functools import partial

import streamlit as st

from app.compare import gates, promotions
from app.jobs.queue import JobView
from app.ui.errors import catch_errors
from app.ui.job import draw_bar, draw_cancel_or_retry, draw_live, draw_wait_and_error
from app.ui.page import Frame, announce
from app.ui.text import plain
from app.versions.registry import VersionView
from app.workbench.people import AnnotatorView
from app.workbench.workbench import Workbench
from as2core.evaluation.gate import GateFailed

MISSED = "_adapt_gate_missed"  # of the session: the version that missed a gate when it was to be promoted


def promote(frame: Frame, version: VersionView, reason: str, *, choice: str) -> JobView | None:
    """If it passes its gates, or despite them where that was chosen in the checkbox `choice`. Gives the job that
    measures the gates first, None if it is promoted. Raises GateFailed, after which the choice is offered."""
    name = version.name
    ignores = bool(st.session_state.get(choice)) and has_missed(frame.wb, version)
    try:
        job = promotions.start_promotion(frame.wb, name, reason.strip(), by=frame.annotator.id, ignores_gates=ignores)
    except GateFailed:
        st.session_state[MISSED] = name
        raise
    st.session_state.pop(MISSED, None)
    announce(f"{name} is in use." if job is None else f"The gates of {name} are measured first.")
    return job


def has_missed(wb: Workbench, version: VersionView) -> bool:
    """Whether its last promotion failed by a gate: here, or in a job. One that was in use passes none again."""
    if version.state in gates.NOT_CHECKED:
        return False
    job = promotions.find_promotion(wb, version.name)
    return st.session_state.get(MISSED) == version.name or bool(job and job.result.get("miss"))


def draw_job(frame: Frame, version: VersionView) -> bool:
    """The job that measures the gates as it goes, or what came of it. Whether it is still under way."""
    job = promotions.find_promotion(frame.wb, version.name)
    if job is None:
        return False
    if job.is_active:
        draw_live(frame.wb, job, partial(_draw_progress, person=frame.annotator))
    elif has_missed(frame.wb, version) and job.result.get("miss"):
        st.error(plain(job.result["miss"]), icon=":material/block:")
    elif job.state in ("failed", "lost"):
        st.error(f"{plain(version.name)} was not promoted: {plain(job.error)}", icon=":material/error:")
    return job.is_active


def _draw_progress(wb: Workbench, job: JobView, person: AnnotatorView) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="adapt_promotion"):
        draw_bar(job, "Measuring the gates")
        if job.is_active:
            draw_cancel_or_retry(wb, job, "adapt_promotion", person)
    name = plain(job.settings["version"])
    st.caption(f"{name} is promoted as soon as it passes its gates. You can leave this page.")
    draw_wait_and_error(wb, job)


def name_gates(frame: Frame, version: VersionView) -> None:
    """Which gates a promotion checks."""
    if version.state not in gates.NOT_CHECKED:
        with catch_errors():
            if names := list(gates.list_gates(frame.wb, version.kind)):
                st.caption(f"Conditions to meet first (gates): {plain(', '.join(names))}. Those not measured yet are "
                           "measured in the background, and the version is then promoted.")  # fmt: skip


def offer_exception(frame: Frame, version: VersionView, choice: str) -> None:
    """After a miss: to promote it all the same."""
    if has_missed(frame.wb, version):
        st.checkbox("Promote it although it misses a condition", key=choice, help="Takes a reason.")
