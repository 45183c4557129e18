"""In the place of an item when a queue is empty: why it is, and the background job that fills it.

Queues offer what a model has ranked. Questions that came with labels or a file were never ranked; a button starts the
job that ranks some.
"""

from dataclasses import dataclass

import streamlit as st

from app.adapt import readiness
from app.ask import stored_questions
from app.jobs import queue
from app.jobs.kinds import JobKind
from app.jobs.queue import JobView
from app.labels import leasing, progress, seats
from app.labels.queues import QUEUES, TOPS, UNLABELLED
from app.ranking import next_question, score_job
from app.ui import navigation, url
from app.ui.data.question_list import add_leftovers
from app.ui.errors import guard
from app.ui.job import WAIT_SECONDS, draw_cancel_or_retry, draw_progress
from app.ui.label.desk import DESK_KEY, Desk
from app.ui.label.list_desk import ListDesk
from app.ui.label.shortcuts import LIST
from app.ui.landing import shipped
from app.ui.page import Frame
from app.ui.signin import fragment
from app.ui.text import escape, plain
from app.workbench.workbench import Workbench
from as2core.messages import count
from as2core.types import CORRECT, INCORRECT

RANK_FIRST = (
    "Queues offer ranked candidates. One press ranks questions of this corpus in the background, and "
    "the first appear here as soon as they are ranked."
)
MESSAGE = '[data-testid="as2-finished"]'  # as a CSS selector


def draw(frame: Frame, desk: Desk | ListDesk) -> None:
    wb, corpus = frame.wb, frame.corpus
    if not stored_questions.count_queued(wb, corpus.id):
        _draw_without_questions(frame)
        return
    if not corpus.sentences:
        _draw_message("The corpus has no documents", "Its questions have candidates again when documents are added.")
        with st.container(horizontal=True, horizontal_alignment="center"):
            navigation.to("data", "Add documents", view="corpora")
        return
    if QUEUES[desk.seat.queue].is_review:
        _draw_message("Nothing to review", _explain_empty_review(wb, desk))
        return
    job = queue.find_newest(wb, JobKind.SCORE, corpus.id)
    if job is None or not job.is_active:
        _draw_narrow(frame, desk) if desk.seat.questions else _draw_finished(frame, desk, job)
        return
    fragment(run_every=WAIT_SECONDS)(_wait)(wb, job.id)
    with st.container(horizontal=True, horizontal_alignment="center"):
        draw_cancel_or_retry(wb, job, "label_rank", frame.annotator)


def draw_ranking(frame: Frame) -> None:
    """Beside an item: how far the job is that ranks more questions meanwhile."""
    job = queue.find_newest(frame.wb, JobKind.SCORE, frame.corpus.id)
    if job is None or not job.is_active:
        return
    with st.container(key="label_ranking"):
        st.markdown("**Ranking more questions**")
        fragment(run_every=WAIT_SECONDS)(_follow)(frame.wb, job.id)
        draw_cancel_or_retry(frame.wb, job, "label_rank", frame.annotator)


def _follow(wb: Workbench, job_id: int) -> None:
    """When it ends, the page stays as it is: somebody may be typing in it."""
    job = queue.load_job(wb, job_id)
    if job.is_active:
        draw_progress(wb, job)
    else:
        st.caption("It has ended. What it ranked is in the queues.")


def _draw_without_questions(frame: Frame) -> None:
    corpus = frame.corpus
    if shipped.is_being_read(frame.wb, corpus.name):
        _draw_message("The corpus is being read", "Its questions appear here in a moment.")
        shipped.await_reading(frame.wb, corpus.name)
        return
    if failure := shipped.explain_failure(frame.wb, corpus.name):
        _draw_message("Nothing to label yet", escape(failure))
        with st.container(horizontal=True, horizontal_alignment="center"):
            navigation.to("data", "Open Corpora", view="corpora")
        return
    if not corpus.sentences:
        _draw_message("Nothing to label yet", "Add documents first, then questions that they are to answer.")
        with st.container(horizontal=True, horizontal_alignment="center"):
            navigation.to("data", "Add documents", view="corpora")
            navigation.to("data", "Add questions", view="questions")
        return
    _draw_ways(frame, stored_questions.list_leftovers(frame.wb, corpus.id))


def _draw_ways(frame: Frame, leftovers: tuple[int, ...]) -> None:
    """How questions come into the queue. `leftovers`: those that were typed on Ask."""
    advice = "Under Data, Questions, you can add questions that were asked on Ask. " if frame.corpus.questions else ""
    first = f"{_describe_adding(leftovers)}, type" if leftovers else f"{advice}Type"
    _draw_message(
        "Nothing to label yet",
        f"No question is in the label queues. {first}, paste or upload your own, label an answer on Ask, or accept "
        "questions proposed from the sentences. Their candidates then appear here.",
    )
    with st.container(horizontal=True, horizontal_alignment="center", vertical_alignment="center"):
        if leftovers:
            _draw_adding(frame, leftovers)
        navigation.to("ask", "Ask a question")
        navigation.to("data", "Add other questions" if leftovers else "Add questions", view="questions")
        navigation.to("data", "Propose questions", view="proposals")


def _draw_adding(frame: Frame, leftovers: tuple[int, ...]) -> None:
    why = frame.explain_refusal("change questions")
    st.button(_describe_adding(leftovers), key="label_add_asked", type="primary", icon=":material/playlist_add:",
              disabled=bool(why), help=why, on_click=add_leftovers, args=(frame, leftovers))  # fmt: skip


def _describe_adding(leftovers: tuple[int, ...]) -> str:
    return f"Add the {count(len(leftovers), 'question')} asked on Ask"


def _wait(wb: Workbench, job_id: int) -> None:
    """Until the job ends, check whether it has brought something; then the whole page is drawn again."""
    job = queue.load_job(wb, job_id)
    desk = st.session_state[DESK_KEY].draw_next(wb)
    if desk.item is not None or not job.is_active:
        st.session_state[DESK_KEY] = desk.next_turn()
        st.rerun()
    _draw_message("Filling the queues", "New questions are being ranked. They appear here once they are ready.")
    draw_progress(wb, job)


def _explain_empty_review(wb: Workbench, desk: Desk | ListDesk) -> str:
    """What is left is in front of others, or was skipped; the queue is empty otherwise."""
    review = QUEUES[desk.seat.queue]
    skips = "" if review.keeps_pairs else _describe_skips(desk)  # what was labelled there is passed over, too
    return f"{_describe_others(wb, desk)}{skips}".strip() or review.when_empty


def _describe_others(wb: Workbench, desk: Desk | ListDesk) -> str:
    """What of the queue is in front of others; "" if nothing is."""
    elsewhere = seats.count_at_other_desks(wb, desk.seat)
    if not elsewhere:
        return ""
    others = f"{count(elsewhere, 'sentence is', 'sentences are')} open at another desk, and free again when it moves on"
    same = " Another browser under your name is another desk, too." if desk.seat.holder else ""
    return f"{others}, or after {leasing.LEASE.seconds // 60} minutes.{same}"


def _draw_narrow(frame: Frame, desk: Desk | ListDesk) -> None:
    """Where the queue has only some questions."""
    questions = desk.seat.questions
    unranked = next_question.count_unranked(frame.wb, desk.seat)
    why = "Their ranked candidates have labels, or somebody else is labelling them."
    if unranked:
        why = f"{count(unranked, 'of them is', 'of them are')} not ranked yet. Rank them to see their candidates here."
    _draw_message("Nothing to label in these questions", f"{why}{_describe_skips(desk)}")
    if unranked:
        with st.container(horizontal=True, horizontal_alignment="center"):
            st.button("Rank these questions", key="label_rank_these", icon=":material/playlist_add:",
                      on_click=guard(score_job.start_scoring), args=(frame.wb, frame.corpus.id, len(questions)),
                      kwargs={"questions": questions, "by": frame.annotator.id, "once": True})  # fmt: skip


def _draw_finished(frame: Frame, desk: Desk | ListDesk, job: JobView | None) -> None:
    queue_kind, others = QUEUES[desk.seat.queue], _describe_others(frame.wb, desk)
    is_complete = not next_question.has_unranked(frame.wb, desk.seat)
    is_over = is_complete and not others
    is_all_labelled = is_over and queue_kind.name == UNLABELLED
    gaps = _list_gaps(frame, desk) if is_all_labelled else ()
    leftovers = stored_questions.list_leftovers(frame.wb, frame.corpus.id) if is_all_labelled else ()
    if job is None and not is_complete:
        _draw_message("Rank the questions first", f"{RANK_FIRST}{_describe_skips(desk)}")
    else:
        title = "This queue is finished" if is_over else "Nothing in this queue is free now"
        state = "Every question is ranked." if is_complete else _describe_unranked(job)
        why = f"{others or 'Nothing is left for you here.'} {state} Other queues are above."
        if is_over:
            why = queue_kind.when_empty or why
        why += "".join(f" {gap.describe()}" for gap in gaps)
        _draw_message(title, f"{why}{_describe_skips(desk)}")
    if job is not None and job.error and not is_complete:
        st.error(plain(job.error), icon=":material/error:")
    with st.container(horizontal=True, horizontal_alignment="center", vertical_alignment="center"):
        if not is_complete:
            st.button("Rank more questions" if job else "Rank questions", key="label_rank_more", type="primary",
                      icon=":material/playlist_add:", on_click=guard(score_job.start_scoring),
                      args=(frame.wb, frame.corpus.id), kwargs={"by": frame.annotator.id, "once": True})  # fmt: skip
        if leftovers:
            _draw_adding(frame, leftovers)
        for gap in gaps:
            st.button(gap.action, key=f"label_{gap.kind}_only", icon=":material/arrow_forward:", help=gap.reason,
                      on_click=url.set_place,
                      kwargs={"queue": TOPS, "mode": LIST, "only": url.format_numbers(gap.questions)})  # fmt: skip
        navigation.to("adapt", "Adapt the ranker")
        navigation.to("ask", "Ask a question")


def _list_gaps(frame: Frame, desk: Desk | ListDesk) -> tuple["_Gap", ...]:
    """Questions without an incorrect label matter only until a first retrain has questions to measure on."""
    wb, gaps = frame.wb, []
    if not readiness.measure_distance(wb, frame.corpus.id).is_enough:
        reason = "A retrain compares before and after on questions that have labels of both kinds."
        action = "Label their incorrect sentences"
        gaps.append(_Gap(CORRECT, progress.list_one_sided(wb, desk.seat, CORRECT), action, reason))
    reason = "A retrain learns nothing from a question until a sentence of it is labelled correct."
    action = "Look for their answers"
    gaps.append(_Gap(INCORRECT, progress.list_one_sided(wb, desk.seat, INCORRECT), action, reason))
    return tuple(gap for gap in gaps if gap.questions)


@dataclass(frozen=True, slots=True)
class _Gap:
    """Questions with labels of one kind only, and what to do about it."""

    kind: str
    questions: tuple[int, ...]
    action: str
    reason: str

    def describe(self) -> str:
        at_least = "At least " if len(self.questions) == progress.MAX_ONE_SIDED else ""
        have = count(len(self.questions), "question has", "questions have")
        needs = ", and a first retrain needs some with an incorrect one, too" if self.kind == CORRECT else ""
        return f"{at_least}{have} {self.kind} labels only{needs}."


def _describe_unranked(job: JobView | None) -> str:
    """Where some questions are not ranked, after this job."""
    state = job.state if job is not None else ""
    ends = {
        "cancelled": "Ranking was cancelled. What is ranked already stays.",
        "done": "Some questions are not ranked yet.",
    }
    return ends.get(state, "The job that fills the queues did not finish.")


def _describe_skips(desk: Desk | ListDesk) -> str:
    skips = desk.count_skips()
    return f" You skipped {count(skips, 'item')}. Press → to see them again." if skips else ""


def _draw_message(title: str, text: str) -> None:
    """`text` is not escaped."""
    st.html(f'<div class="as2-item as2-done" data-testid="as2-finished"><h2>{title}</h2><p>{text}</p></div>')
