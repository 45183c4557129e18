"""A retrain as it goes: redrawn every second while it runs, and once more, with the whole page, when it ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from app.charts.training import dev_curve, loss_curve
from app.components.adapt_words import log_line, seconds_in_words, state_in_words, waits_for
from app.components.errors import guarded
from app.components.text import escaped, plain
from app.services import Workbench, adapting
from app.services.views import JobView

POLL = 1.0
LINES = 8


def draw(wb: Workbench, job: JobView) -> None:
    """The panel of one job."""
    st.fragment(_panel, run_every=POLL if job.active else None)(wb, job.id, job.active)


def _panel(wb: Workbench, job_id: int, was_active: bool) -> None:
    job = adapting.job(wb, job_id)
    if was_active != job.active:  # ended, or run again: a click in here redraws the panel alone
        st.rerun()
    if job.state == "done":
        with st.expander(_title(job), icon=":material/show_chart:", key="adapt_training"):
            _curves(job)
        return
    with st.container(border=True, key="adapt_job"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{_title(job)}**", width="stretch")
            if job.active:
                st.button("Go on" if job.paused else "Pause", key="adapt_pause", disabled=job.cancelling,
                          icon=":material/play_arrow:" if job.paused else ":material/pause:",
                          on_click=_go_on if job.paused else _pause, args=(wb, job.id),
                          help="It goes on where it stopped." if job.paused else
                          "It keeps what it has done and makes room for other work.")  # fmt: skip
            cancel_or_again(wb, job, "adapt")
        if job.active:
            st.progress(min(1.0, max(0.0, job.progress)), text=plain(_where(job)))
        if job.state != "running" and not job.paused:
            st.caption(state_in_words(job))
        if why := waits_for(wb, job):
            st.caption(why)
        if job.state in ("failed", "lost") and job.error:
            st.error(plain(job.error), icon=":material/error:")
            if job.log:
                st.caption(f"The full account is in {plain(job.log)}.")
        _curves(job)


def _title(job: JobView) -> str:
    told = {
        "queued": "Retraining: queued",
        "running": "Retraining",
        "done": "How the training went",
        "failed": "The retrain failed",
        "cancelled": "The retrain was cancelled",
        "lost": "The retrain was lost",
    }[job.state]
    attempt = f", taken up {job.attempt} times" if job.attempt > 1 else ""
    return f"{told} ({job.settings.get('kind', 'cascade')}, job {job.id}{attempt})"


def _where(job: JobView) -> str:
    if job.paused and not job.cancelling:
        return "Paused: it waits for you to let it go on"
    if job.state == "queued":
        return "Queued …"
    if job.cancelling:
        return state_in_words(job)
    doing = job.message or state_in_words(job)
    parts = [doing[:1].upper() + doing[1:]]
    left = next((e["seconds_left"] for e in reversed(job.events) if e.get("seconds_left") is not None), 0)
    if left and not any(e.get("kind") == "end" for e in job.events):
        parts.append(f"about {seconds_in_words(left)} of training left")
    return " · ".join(parts)


def _curves(job: JobView) -> None:
    events = once_a_step(job.events)
    loss, dev = loss_curve(events), dev_curve(events)
    if loss is not None or dev is not None:
        left, right = st.columns(2, gap="medium")
        if loss is not None:
            left.altair_chart(loss, width="stretch", key=f"adapt_loss_{job.id}",
                              alt="Training loss by step, with its running mean")  # fmt: skip
        if dev is not None:
            right.altair_chart(dev, width="stretch", key=f"adapt_dev_{job.id}",
                               alt="Mean average precision on the dev questions by step, a line an exit")  # fmt: skip
    lines = [line for line in map(log_line, job.events) if line]
    if lines:
        st.html(f'<p class="as2-log" data-testid="as2-log">{escaped(chr(10).join(lines[-LINES:]))}</p>')


def once_a_step(events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The events in the order of their steps. A run taken up again repeats steps: the later word counts."""
    newest = {(e.get("kind"), e.get("step")): e for e in events if e.get("kind") in ("start", "step", "eval")}
    return sorted(newest.values(), key=lambda e: e.get("step", 0))


def cancel_or_again(wb: Workbench, job: JobView, key: str) -> None:
    """The button that ends a job under way, or runs another again; `key` is the panel's."""
    if job.active:
        st.button("Cancel", key=f"{key}_cancel", icon=":material/stop_circle:", disabled=job.cancelling,
                  on_click=_cancel, args=(wb, job.id))  # fmt: skip
    else:
        st.button("Run again", key=f"{key}_again", icon=":material/replay:", type="primary", on_click=_again,
                  args=(wb, job.id))  # fmt: skip


@guarded
def _cancel(wb: Workbench, job_id: int) -> None:
    adapting.cancel(wb, job_id)


@guarded
def _pause(wb: Workbench, job_id: int) -> None:
    adapting.pause(wb, job_id)


@guarded
def _go_on(wb: Workbench, job_id: int) -> None:
    adapting.resume(wb, job_id)


@guarded
def _again(wb: Workbench, job_id: int) -> None:
    st.query_params["job"] = str(adapting.retry(wb, job_id).id)
