"""A job as it goes: redrawn while it runs, and once more, with the whole page, when it ends. And a retrain's panel."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress

import streamlit as st

from app.adapt.retrain_job import finish_without_copies, is_ending_check, is_skippable
from app.adapt.settings import RetrainSettings
from app.jobs import queue
from app.jobs.queue import JobView
from app.ui import url
from app.ui.charts.spec import make_spec
from app.ui.charts.training import Event, build_dev_chart, build_loss_chart
from app.ui.errors import guard
from app.ui.signin import fragment
from app.ui.text import capitalize, escape, plain
from app.ui.wording import describe_state, describe_wait, format_event, is_paused, name_state
from app.workbench.people import AnnotatorView
from app.workbench.workbench import Workbench
from as2core.errors import As2Error

POLL_SECONDS, WAIT_SECONDS = 1.0, 2.0
MAX_LOG_LINES = 8
TITLES = {
    "queued": "Retraining: queued",
    "paused": "Retraining: paused",
    "running": "Retraining",
    "done": "Training curves",
    "failed": "The retrain failed",
    "cancelled": "The retrain was cancelled",
    "lost": "The retrain was interrupted",
}
Panel = Callable[[Workbench, JobView], None]
NOT_YOURS = "Viewers can control only jobs that they started themselves."


def load_job_of_link(wb: Workbench, kind: str, missing: str) -> JobView | None:
    """The job of this kind that the address names. If it names another or none that exists, `missing` says so."""
    number = url.get("job")
    if number:
        with suppress(As2Error):
            if re.fullmatch("[0-9]{1,9}", number) and (job := queue.load_job(wb, int(number))).kind == kind:
                return job
        st.caption(missing)
    return None


def draw_live(wb: Workbench, job: JobView, panel: Panel, *, seconds: float = POLL_SECONDS) -> None:
    """Draw a job's panel again and again while the job is active."""

    def draw() -> None:
        current = queue.load_job(wb, job.id)
        # ended, run again (a click in here redraws the panel alone), has a result, or its corpus was deleted
        states = [(j.is_active, bool(j.result), j.corpus_id) for j in (current, job)]
        if states[0] != states[1]:
            st.rerun()
        panel(wb, current)

    fragment(run_every=seconds if job.is_active else None)(draw)()


def draw_progress(wb: Workbench, job: JobView) -> None:
    """The panel of a job that has nothing else to show."""
    _draw_share(job, job.message or "waiting for the worker")


def draw_bar(job: JobView, start: str) -> None:
    """How far a job is, in a panel that shows more of it. `start`: until the job itself says what it does."""
    _draw_share(job, "Stopping …" if job.cancelling else capitalize(job.message or start))


def _draw_share(job: JobView, message: str) -> None:
    st.progress(min(1.0, max(0.0, job.progress)), text=plain(message))


def draw_retrain(wb: Workbench, job: JobView, person: AnnotatorView, *, corpus: str = "") -> None:
    """`corpus`: the name of the job's, where it is another than the page's."""
    title = _title(job, corpus)
    if job.state == "done":
        with st.expander(title, icon=":material/show_chart:", key="adapt_training"):
            _draw_curves(job)
        return
    with st.container(border=True, key="adapt_job"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{title}**", width="stretch")
            if job.is_active:
                _draw_controls(wb, job, person)
            else:
                draw_cancel_or_retry(wb, job, "adapt", person)
        if job.is_active:
            _draw_share(job, _describe_progress(job))
        if job.state != "running" and not job.paused:
            st.caption(describe_state(job))
        draw_wait_and_error(wb, job)
        if job.state in ("failed", "lost") and job.error and job.log:
            st.caption(f"The full error log is in {plain(job.log)}.")
        _draw_curves(job)


def _draw_controls(wb: Workbench, job: JobView, person: AnnotatorView) -> None:
    """Of an active retrain. What took minutes is not cancelled by one click."""
    why, by = explain_refusal(job, person), {"by": person.id}
    is_off = job.cancelling or bool(why)
    if is_skippable(job):
        st.button("Finish without the check", key="adapt_finish", icon=":material/skip_next:", disabled=is_off,
                  on_click=guard(finish_without_copies), args=(wb, job.id), kwargs=by,
                  help=why or "The version is trained, and measured on the held-out questions: the comparison is then "
                  "on those alone.")  # fmt: skip
    st.button("Resume" if job.paused else "Pause", key=f"adapt_pause__{'off' if job.paused else 'on'}",
              disabled=is_off,
              icon=":material/play_arrow:" if job.paused else ":material/pause:",
              on_click=guard(queue.resume if job.paused else queue.pause), args=(wb, job.id), kwargs=by,
              help=why or ("It resumes where it stopped." if job.paused else
              "It keeps its progress and makes room for other jobs."))  # fmt: skip
    with st.popover("Cancel", key="adapt_cancel", icon=":material/stop_circle:", disabled=is_off, help=why):
        st.markdown("No version will be made. You can run it again later: it resumes where it stopped.")
        st.button("Cancel the retrain", key="adapt_cancel_confirm", type="primary", on_click=guard(queue.cancel),
                  args=(wb, job.id), kwargs=by)  # fmt: skip


def draw_wait_and_error(wb: Workbench, job: JobView) -> None:
    """What a queued job waits for; why another failed."""
    if why := describe_wait(wb, job):
        st.caption(why)
    if job.state in ("failed", "lost") and job.error:
        st.error(plain(job.error), icon=":material/error:")


def _title(job: JobView, corpus: str) -> str:
    attempt = f", attempt {job.attempt}" if job.attempt > 1 else ""
    settings, where = RetrainSettings.from_json(job.settings), f", corpus {plain(corpus)}" if corpus else ""
    how = ", started automatically" if settings.automatic else ""  # nobody here has clicked for it
    return f"{TITLES[name_state(job)]} ({settings.kind}, job {job.id}{how}{attempt}{where})"


def _describe_progress(job: JobView) -> str:
    if is_paused(job):
        return "Paused. Press Resume to continue."
    if job.state == "queued":
        return "Queued …"
    if job.cancelling:
        return describe_state(job)
    if is_ending_check(job):
        return "Ending the check …"
    return capitalize(job.message or describe_state(job))


def _draw_curves(job: JobView) -> None:
    events = keep_latest_by_step(job.events)
    loss, dev = make_spec(build_loss_chart, events), make_spec(build_dev_chart, events)
    if loss is not None or dev is not None:
        left, right = st.columns(2, gap="medium")
        if loss is not None:
            alt = "Training loss by step, with its running mean"
            left.vega_lite_chart(spec=loss, width="stretch", key=f"adapt_loss_{job.id}", alt=alt)
        if dev is not None:
            alt = "Mean average precision on the dev questions by step, a line an exit"
            right.vega_lite_chart(spec=dev, width="stretch", key=f"adapt_dev_{job.id}", alt=alt)
    if lines := [line for line in map(format_event, job.events) if line]:
        log = "\n".join(lines[-MAX_LOG_LINES:])
        st.html(f'<p class="as2-log" data-testid="as2-log">{escape(log)}</p>')


def keep_latest_by_step(events: Sequence[Event]) -> list[Event]:
    """The events in the order of their steps. A resumed run repeats steps: the later event counts."""
    newest = {(e.get("kind"), e.get("step")): e for e in events if e.get("kind") in ("start", "step", "eval")}
    return sorted(newest.values(), key=lambda e: e.get("step", 0))


def explain_refusal(job: JobView, person: AnnotatorView) -> str | None:
    """Why this person may not cancel, pause or repeat the job, as the text of a disabled button; None if they may."""
    return None if queue.may_control(job, person) else NOT_YOURS


def draw_cancel_or_retry(wb: Workbench, job: JobView, key: str, person: AnnotatorView) -> None:
    """The button that cancels an active job, or runs another again; `key` is the panel's."""
    why = explain_refusal(job, person)
    if job.is_active:
        st.button("Cancel", key=f"{key}_cancel", icon=":material/stop_circle:", disabled=job.cancelling or bool(why),
                  help=why, on_click=guard(queue.cancel), args=(wb, job.id), kwargs={"by": person.id})  # fmt: skip
    else:
        st.button("Run again", key=f"{key}_again", icon=":material/replay:", type="primary", disabled=bool(why),
                  help=why, on_click=_retry, args=(wb, job.id, person.id))  # fmt: skip


@guard
def _retry(wb: Workbench, job_id: int, by: int) -> None:
    retry_once(wb, job_id, by=by)
    url.set_place(job=str(job_id))


def retry_once(wb: Workbench, job_id: int, *, by: int) -> None:
    """As `queue.retry`; the second click of two finds the job under way."""
    if not queue.load_job(wb, job_id).is_active:
        queue.retry(wb, job_id, by=by)
