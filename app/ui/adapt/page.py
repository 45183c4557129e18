"""The page Adapt: the card of a version or of a retrain, the labels, the form, the jobs, and the versions."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

import streamlit as st

from app.adapt.readiness import Readiness, check_readiness
from app.adapt.report import RetrainReport, find_hidden_labels
from app.adapt.settings import RetrainSettings
from app.corpora.corpora import name_corpus
from app.jobs import queue
from app.jobs.kinds import JobKind
from app.jobs.queue import JobView
from app.labels.consensus import mark_outcomes
from app.ui import errors, url
from app.ui.adapt import decision, example, jobs, prepared, readiness, schedule, selection, synonym_link, versions
from app.ui.adapt.card import card
from app.ui.job import draw_live, draw_retrain, load_job_of_link
from app.ui.page import Frame
from app.ui.scripts import scroll_to
from app.ui.text import plain
from app.versions import registry
from app.versions.registry import VersionView
from app.workbench.workbench import Workbench
from as2core.errors import As2Error

_CSS = Path(__file__).with_name("adapt.css")
WATCHED = "_as2_adapt_watched"  # of the session: the id of the retrain that ran beside a version's card


def draw(frame: Frame) -> None:
    st.html(_CSS)
    all_versions = registry.list_versions(frame.wb, kind=None)
    under_way = queue.list_active(frame.wb, JobKind.RETRAIN)
    schedule.draw_waiting(frame, all_versions)
    recent = _draw_front(frame, under_way)
    _draw_form(frame, all_versions, under_way)
    schedule.draw_rule(frame)
    jobs.draw_list(frame, recent)
    st.header("Versions", anchor=False)
    versions.draw_list(frame, all_versions)
    versions.draw_dialogs(frame, all_versions)


def _draw_front(frame: Frame, under_way: Sequence[JobView]) -> list[JobView]:
    """The version or the job of the address, else a retrain that is active. Returns the corpus's recent jobs."""
    wb, corpus_id = frame.wb, frame.corpus.id
    active = next((job for job in reversed(under_way) if job.corpus_id == corpus_id), None)
    job = load_job_of_link(wb, "retrain", "The retrain in this link does not exist here.") or active
    recent, version = queue.list_recent(wb, corpus_id), url.get("version")
    newest = queue.find_newest(wb, JobKind.RETRAIN, corpus_id)
    jobs.draw_failure(recent, newest, current=None if version else job)
    if version:
        _draw_active(frame, active)
        _draw_version(frame, version)
    elif job is not None:
        url.put(job=job.id)
        _draw_job(frame, job)
    return recent


def _draw_form(frame: Frame, all_versions: Sequence[VersionView], under_way: Sequence[JobView]) -> None:
    """The labels, and the start of a retrain from them."""
    settings = readiness.read_settings(frame, all_versions)
    settings = replace(settings, epochs=None, learning_rate=None, note="")  # which do not matter here
    mark = mark_outcomes(frame.wb, frame.corpus.id)
    view = _check_readiness(frame.wb, frame.corpus.id, mark, settings)
    st.header("Labels", anchor=False)
    prepared.draw(frame)
    readiness.draw_labels(view)
    synonym_link.draw(frame)
    selection.draw(frame.corpus.id, view.by_annotator)
    readiness.draw_start(frame, view, all_versions, under_way)


@st.cache_data(ttl=60, show_spinner=False)  # a spinner that comes and goes would close the expander below
def _check_readiness(_wb: Workbench, corpus_id: int, mark: tuple[object, ...], settings: RetrainSettings) -> Readiness:
    """Dividing thousands of labels takes seconds. A change of the labels, which the `mark` tells of, is seen at once,
    others, such as of what was ranked, in a minute."""
    return check_readiness(_wb, corpus_id, settings)


def _draw_active(frame: Frame, active: JobView | None) -> None:
    """Above a version's card: the retrain that runs, and once it is done, the way to its own card."""
    wb = frame.wb
    if active is not None:
        st.session_state[WATCHED] = active.id
        draw_live(wb, active, partial(draw_retrain, person=frame.annotator))
    elif WATCHED in st.session_state:
        job = queue.load_job(wb, st.session_state[WATCHED])
        if job.state == "done" and job.corpus_id == frame.corpus.id:
            jobs.draw_end(job)


def _draw_version(frame: Frame, name: str) -> None:
    wb = frame.wb
    with st.container(border=True, key="adapt_card"):
        try:
            version, content = registry.get_version(wb, name), registry.load_card(wb, name)
            st.header(plain(version.name), anchor=False)
            decide = partial(decision.draw_decision, frame, version)
            find_example = partial(example.find_example, wb, frame.corpus.id)
            card.draw_card(content, find_hidden_labels(wb, frame.annotator.id), decide, find_example)
        except registry.UnknownVersion:
            st.warning(
                f"There is no version called “{plain(name)}” here: it was renamed or deleted, or the link is from "
                "another workbench. Open the card of another one under **Versions** below.",
                icon=":material/search_off:",
            )
        except As2Error as error:
            errors.show(error)
    _draw_dismiss("version")
    _follow_click()


def _follow_click() -> bool:
    """Bring what the last click on a version was about into sight: the list of versions is far below the card, and on a
    phone the card is longer than the screen. Whether there was one."""
    part, clicks = st.session_state.get(versions.SIGHT, ("", 0))
    if part:
        block: Literal["start", "center"] = "start" if part == versions.CARD else "center"
        scroll_to(f".st-key-{part}", f"click {clicks}", block=block)
    return bool(part)


def _draw_job(frame: Frame, job: JobView) -> None:
    wb, corpus = frame.wb, _name_corpus(frame, job)
    if job.state == "done":
        report = RetrainReport.from_json(job.result)
        version = next((v for v in registry.list_versions(wb, kind=None) if v.name == report.version), None)
        with st.container(border=True, key="adapt_card"):
            if corpus:
                st.caption(f"Retrained from the labels of the corpus {plain(corpus)}")
            decide = (lambda: None) if version is None else partial(decision.draw_decision, frame, version)
            find_example = partial(example.find_example, wb, frame.corpus.id)
            card.draw(report, find_hidden_labels(wb, frame.annotator.id), decide, find_example)
    draw_live(wb, job, partial(draw_retrain, person=frame.annotator, corpus=corpus))
    if not job.is_active:
        _draw_dismiss("job")
    if not _follow_click() and st.session_state.get(readiness.STARTED) == job.id:  # by a button below the fold
        place = ".st-key-adapt_card" if job.state == "done" else ".st-key-adapt_job"
        scroll_to(place, f"job {job.id} {place}", block="start")


def _name_corpus(frame: Frame, job: JobView) -> str:
    """Of a retrain that a link opens from another corpus; "" for one of the page's corpus, or of a deleted one."""
    return name_corpus(frame.wb, job.corpus_id) if job.corpus_id not in (None, frame.corpus.id) else ""


def _draw_dismiss(name: str) -> None:
    """The button that takes what is shown out of the address."""
    st.button("Dismiss", key="adapt_away", type="tertiary", on_click=url.put, kwargs={name: None})
