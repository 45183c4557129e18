"""What is chosen on the page Label: the queue, the mode, the rankers to pool, the questions that it is narrowed to."""

from dataclasses import dataclass

import streamlit as st

from app.jobs.queue import JobView
from app.labels import seats
from app.labels.guidelines import GuidelineView, read_guidelines
from app.labels.queues import DECIDE, QUEUES, can_narrow
from app.labels.seats import Seat
from app.ui import signin, url
from app.ui.label import decide
from app.ui.label.desk import Display
from app.ui.label.shortcuts import LIST, ONE
from app.ui.navigation import PLACES
from app.ui.page import Frame
from as2core.messages import count

SCORES, OFF = "_label_scores", "off"  # whether scores are visible, of the session; and how the address says that not
_LAST_KEY = "_label_last"  # of the session
MODES = {LIST: "Whole list", ONE: "One sentence"}


@dataclass(frozen=True, slots=True)
class LabelPage:
    """One drawing of the page. `pool`: rankers whose first candidates are offered. `only`: the questions that the queue
    is narrowed to, empty for all. `job`: of the decision. `holder`: as in `Seat`. `why_closed`: why this person may
    not label, None if they may."""

    frame: Frame
    queue: str
    mode: str
    pool: tuple[str, ...]
    only: tuple[int, ...]
    job: JobView | None
    guidelines: GuidelineView
    holder: str
    scores_visible: bool
    why_closed: str | None

    @property
    def is_deciding(self) -> bool:
        return self.queue == DECIDE

    @property
    def description(self) -> str:
        return decide.DESCRIPTION if self.is_deciding else QUEUES[self.queue].description

    @property
    def done_job_id(self) -> int | None:
        return self.job.id if self.job is not None and self.job.state == "done" else None

    @property
    def seat(self) -> Seat:
        corpus_id, annotator_id = self.frame.corpus.id, self.frame.annotator.id
        return Seat(corpus_id, annotator_id, self.queue, self.holder, self.pool, self.only)

    @property
    def display(self) -> Display:
        return Display(self.scores_visible, self.guidelines.version)


def choose(frame: Frame) -> LabelPage:
    """Draw the choices at the top."""
    _return_to_last()
    holder = signin.name_desk(frame.annotator)
    scores_visible = url.follow("scores", SCORES, lambda text: text != OFF)
    why_closed = frame.explain_refusal()
    with st.container(horizontal=True, key="label_choice"):
        place = st.container(width="content")  # the mode stands first, but a decision has one only
        entries = {**{q.name: q.menu_entry for q in QUEUES.values()}, DECIDE: decide.MENU_ENTRY}
        queue = url.choose("label", "queue", "Queue", entries)
        pool = _choose_pool(frame) if queue != DECIDE and QUEUES[queue].is_pooled else ()
    mode = ONE
    if queue != DECIDE:
        with place:
            mode = url.choose("label", "mode", "Mode", MODES)
    st.session_state[_LAST_KEY] = {name: url.get(name) for name in ("queue", "mode")}
    job = decide.find_job(frame) if queue == DECIDE else None
    only = url.get_numbers("only") if can_narrow(queue) else ()
    guidelines = read_guidelines(frame.wb, frame.corpus.id)
    return LabelPage(frame, queue, mode, pool, only, job, guidelines, holder, scores_visible, why_closed)


def _return_to_last() -> None:
    """Queue and mode as the page was left in this session, where the address that it is opened with names no place."""
    if not url.is_written("queue") and not url.get_present(*PLACES["label"], "question"):
        url.put(**st.session_state.get(_LAST_KEY, {}))


def _choose_pool(frame: Frame) -> tuple[str, ...]:
    versions = seats.list_pool(frame.wb, frame.corpus.id)
    default = [n for n in url.get("pool").split(",") if n in versions]
    pool = st.multiselect("Rankers to pool", versions, default=default, key="label_pool", placeholder="Newest ranking",
                         help="Offers the first ten candidates of each, as an evaluation needs them labelled. "
                         "Without a choice: the order of the newest ranking")  # fmt: skip
    url.put(pool=",".join(pool))
    return tuple(pool)


def draw_narrowing(page: LabelPage) -> None:
    if page.only:
        with st.container(horizontal=True, vertical_alignment="center"):
            text = f":material/filter_alt: Only {count(len(page.only), 'chosen question')}."
            st.markdown(text, width="content")
            st.button("Show all questions", key="label_all", type="tertiary", on_click=url.put, kwargs={"only": None})
