"""The queue "Decide A or B": two rankers are chosen, candidates come one by one, and the conclusion follows each label,
also the labels that others give meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import Self

import streamlit as st

from app.compare import deciding
from app.compare.deciding import DecisionCourse, DecisionRequest
from app.compare.rankers import describe_destinations, find_mistakes, list_choices
from app.jobs import queue as jobs
from app.jobs.kinds import JobKind
from app.jobs.queue import JobView
from app.labels import leasing
from app.labels.queues import DECIDE, Assignment
from app.labels.seats import Seat
from app.ui import errors, url
from app.ui.compare.ranker_choice import draw_suggestions
from app.ui.errors import guard
from app.ui.job import draw_cancel_or_retry, draw_live, draw_progress, draw_wait_and_error, load_job_of_link
from app.ui.label.desk import DESK_KEY, Desk, Display, Pair
from app.ui.page import Frame
from app.ui.signin import fragment
from app.ui.text import escape, plain, render_notes
from app.workbench.workbench import Workbench
from as2core.deciding.text import describe_others
from as2core.errors import As2Error
from as2core.evaluation.training_record import merge_overlaps
from as2core.messages import MINUS

MENU_ENTRY = "Decide A or B: which of two rankers is better"
DESCRIPTION = "Which of two rankers is better on your questions? Candidates whose labels can change the conclusion."
SIDES, DEFAULTS = ("a", "b"), ("cascade", "bm25")
WATCH_SECONDS = 5.0  # between looks at what others labelled
MEASURE_CAPTIONS = {
    "P@1": "Is the first candidate correct? Needs the fewest labels.",
    "RR": "How high is the first correct candidate? Needs some more.",
    "AP": "How high are all correct candidates? Needs a large part of each list.",
}


@dataclass(frozen=True, slots=True)
class DecideDesk(Desk):
    """`course`: None until two rankers have ranked the questions."""

    course: DecisionCourse | None = None

    @classmethod
    def open(cls, wb: Workbench, seat: Seat, job: JobView | None) -> Self:
        is_ready = job is not None and job.state == "done"
        return cls(seat, course=deciding.open_decision(wb, job.id) if job and is_ready else None).draw_next(wb)

    @property
    def job_id(self) -> int | None:
        return None if self.course is None else self.course.job_id

    def draw_next(self, wb: Workbench) -> Self:
        """With the pair in turn, or the next one that nobody else has; without any where others have them all."""
        course = None if self.course is None else deciding.follow(wb, self.course)
        for ahead in () if course is None else deciding.list_ahead(wb, course):
            assert ahead.pair is not None  # or it would not be listed
            assignment = Assignment(DECIDE, chance=ahead.chance if ahead is course else None)
            item = leasing.open_item(
                wb, *ahead.pair, self.seat.annotator_id, holder=self.seat.holder, assignment=assignment
            )
            if not item.is_locked:
                leasing.leave(wb, self.seat, but=ahead.pair)
                item = replace(item, why=ahead.why, why_unscored=DESCRIPTION)
                return replace(self, course=course, item=item, trail=self.trail.add(ahead.pair, assignment))
        return replace(self, course=course, item=None, trail=self.trail.go_to_end())

    def refresh(self, wb: Workbench) -> Self:
        """With what others did since: their labels count, and another item comes if this one is not wanted now."""
        if self.course is None:
            return self
        desk = replace(self, course=deciding.follow(wb, self.course))
        return desk if desk.is_wanted(desk.course) else desk.draw_next(wb)

    def is_wanted(self, course: DecisionCourse | None) -> bool:
        """Whether the item can stay in front. One's own label that is shown again can."""
        if self.item is None or course is None:
            return False
        if self.trail.is_in_past or self.item.label is not None:
            return True
        is_labelled = any(pair == self.pair for pair, _ in course.steps)
        return course.is_open and not is_labelled and not self.item.is_locked

    def give(self, wb: Workbench, label: str, display: Display) -> Self:
        if self.item is None:
            return self
        self._store(wb, self.item, label, display)
        return self.follow(self.draw_next, wb)

    def forward(self, wb: Workbench) -> Self:
        """What is drawn now. It is not skipped: the estimate would be of other questions."""
        return self.draw_next(wb)

    def skip_question(self, wb: Workbench) -> Self:
        return self

    def _show(self, wb: Workbench, key: Pair, assignment: Assignment | None) -> Self:
        desk = Desk._show(self, wb, key, assignment)  # a dataclass with slots has no super()
        if self.course is None:
            return desk
        course, item = deciding.follow(wb, self.course), desk.item
        if item is not None and (ranks := course.describe_ranks(key)):
            item = replace(item, why=f"{ranks}.", why_unscored=DESCRIPTION)
        return replace(desk, course=course, item=item)


def find_job(frame: Frame) -> JobView | None:
    """The decision that the address names, else the open one that this session labels for, else the corpus's newest;
    None for a new one."""
    if url.get("job") == "new":
        return None
    job = load_job_of_link(frame.wb, JobKind.DECIDE, "The decision in this link does not exist here.")
    if job is None and not (url.get("a") or url.get("b")):
        desk = st.session_state.get(DESK_KEY)
        if (
            isinstance(desk, DecideDesk)
            and desk.course
            and desk.course.is_open
            and desk.seat.corpus_id == frame.corpus.id
        ):
            return jobs.load_job(frame.wb, desk.course.job_id)
        job = jobs.find_newest(frame.wb, JobKind.DECIDE, frame.corpus.id)
    return job if job is not None and job.corpus_id == frame.corpus.id else None


def draw_conclusion(wb: Workbench, desk: DecideDesk, job: JobView) -> None:
    """What is known so far, also by others' labels; the whole page is drawn again where its item is not wanted now."""
    if (course := desk.course) is None:
        return
    if notes := merge_overlaps(job.result.get("notes", ())):
        st.info(render_notes(notes), icon=":material/info:")
    looks = count()

    def draw() -> None:
        now = deciding.follow(wb, course)
        if next(looks) and not desk.is_wanted(now):
            st.rerun()
        others = describe_others(now.decision.estimate_for_others(), MINUS)
        more = f'<p data-testid="as2-decision-others">{escape(others)}</p>' if others else ""
        st.html(
            f'<div class="as2-item" data-testid="as2-decision"><h2>{escape(now.conclusion)}</h2>'
            f"<p>{escape(now.evidence)}</p>{more}</div>"
        )

    fragment(run_every=WATCH_SECONDS if course.is_open else None)(draw)()


def draw_waiting(frame: Frame, desk: DecideDesk, job: JobView | None) -> None:
    """In the place of an item: the form, the progress of the job, or that it is decided."""
    if job is None:
        _draw_form(frame)
    elif job.is_active:
        draw_live(frame.wb, job, draw_progress)
        draw_cancel_or_retry(frame.wb, job, "label_decide", frame.annotator)
    elif job.state != "done":
        draw_wait_and_error(frame.wb, job)
        draw_cancel_or_retry(frame.wb, job, "label_decide", frame.annotator)
    elif desk.course is not None and desk.course.is_open:
        st.markdown(
            "Others are labelling the candidates that the conclusion depends on. "
            "The next one will appear here by itself."
        )
    else:
        st.markdown("There is a conclusion, and nothing more to label for it.")
    if job is not None and not job.is_active:
        st.button("Decide between others", key="label_decide_new", on_click=url.put, kwargs={"job": "new"})


def _draw_form(frame: Frame) -> None:
    names = list_choices(frame.wb)
    columns, defaults = dict(zip(SIDES, st.columns(2), strict=True)), dict(zip(SIDES, DEFAULTS, strict=True))
    for side, column in columns.items():
        with column:
            _choose(side, names, url.get(side) or defaults[side])
    rankers = {side: st.session_state[_name_key(side)] for side in SIDES}
    mistakes = find_mistakes(frame.wb, list(rankers.values()), by_admin=frame.is_admin)
    for side, name in rankers.items():
        if name in mistakes:
            with columns[side]:
                _draw_mistake(frame.wb, side, name, mistakes[name])
    if warning := describe_destinations(list(rankers.values())):
        st.warning(plain(warning), icon=":material/upload:")
    measure = st.radio(
        "Measure", list(MEASURE_CAPTIONS), captions=list(MEASURE_CAPTIONS.values()), key="label_decide_measure"
    )
    st.number_input("Smallest difference that matters", 0.0, 0.5, 0.02, step=0.01, key="label_decide_tolerance",
                    help="Rankers that differ by less are equally good: 0.02 of P@1 is 2 of 100 questions")  # fmt: skip
    why, are_different = frame.explain_refusal(), len(set(rankers.values())) == len(SIDES)
    st.button("Start", type="primary", icon=":material/balance:", key="label_decide_start", help=why,
              disabled=bool(why) or bool(mistakes) or not are_different, on_click=_start,
              args=(frame, measure))  # fmt: skip
    if not are_different:
        st.caption("Choose two different rankers.")
    st.caption("Both rank the questions of the label queues first, in the background. Then you label what can decide; "
               "labels that are there already count.")  # fmt: skip


def _choose(side: str, names: list[str], default: str) -> None:
    """`side`: a or b. Its label has the ranker's name: of two fields that are called A and B, a screen reader tells
    neither."""
    names, key = names if default in names else [default, *names], _name_key(side)
    name = st.session_state.get(key) or default
    st.selectbox(f"Ranker {side.upper()}: {plain(name)}", names, names.index(default), key=key, accept_new_options=True)


def _name_key(side: str) -> str:
    return f"label_decide_{side}"


def _draw_mistake(wb: Workbench, side: str, name: str, mistake: As2Error) -> None:
    """Below the field: why what was typed cannot be one of the two, and the nearest that can."""
    errors.show(mistake)
    key = _name_key(side)

    def use(spec: str) -> None:
        st.session_state[key] = spec

    with st.container(horizontal=True, key=f"{key}_mistake"):
        draw_suggestions(wb, name, others=(), key=f"{key}_use", use=use)


@guard
def _start(frame: Frame, measure: str) -> None:
    form = st.session_state
    request = DecisionRequest(
        form[_name_key("a")], form[_name_key("b")], measure, tolerance=round(form["label_decide_tolerance"], 4)
    )
    job = deciding.start_decision(frame.wb, frame.corpus.id, request, by=frame.annotator.id)
    url.put(job=job.id, a=None, b=None)
