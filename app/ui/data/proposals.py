"""Proposed questions: start a run, follow it, then accept, edit or reject its proposals one by one."""

from functools import partial

import streamlit as st

from app.ask import proposals
from app.ask.proposals import ProposalsView, ProposalView
from app.jobs import queue
from app.jobs.kinds import JobKind
from app.jobs.queue import JobView
from app.ui.errors import guard
from app.ui.job import WAIT_SECONDS, draw_live, draw_progress, explain_refusal
from app.ui.page import Frame
from app.ui.text import name_document, plain, shorten
from app.workbench.people import AnnotatorView
from app.workbench.workbench import Workbench
from as2core.messages import count

ABOUT = (
    "For a corpus without questions. Random sentences are turned into questions by grammar rules. A question is "
    f"proposed only if a search for it ranks its sentence among the first {proposals.MAX_RANK}. The questions use the "
    "words of their sentences: edit each one to read as a person would ask it, and reject those nobody would ask."
)

_DECISION = "_data_proposal_decision"  # of the session: corpus id, id and text of the last one, and if it was accepted
MAX_DECISION_CHARS = 100


def draw(frame: Frame) -> None:
    wb, corpus = frame.wb, frame.corpus
    if not corpus.sentences:
        st.info("This corpus has no sentences yet. Add documents under Corpora.", icon=":material/description:")
        return
    st.header("Propose questions", anchor=False)
    st.caption(ABOUT)
    job = queue.find_newest(wb, JobKind.PROPOSE, corpus.id)
    if job is not None and job.is_active:
        draw_live(wb, job, partial(_draw_running, person=frame.annotator), seconds=WAIT_SECONDS)
    else:
        _draw_start(frame, job)
    _draw_undo(frame)
    _draw_waiting(frame, proposals.list_waiting(wb, corpus.id))


def _draw_start(frame: Frame, job: JobView | None) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.number_input("How many", 1, proposals.MAX_QUESTIONS, proposals.DEFAULT_QUESTIONS, key="data_propose_wanted",
                        width=140)  # fmt: skip
        st.button("Propose", type="primary", icon=":material/lightbulb:", key="data_propose",
                  on_click=_start, args=(frame,))  # fmt: skip
    is_exhausted = job is not None and job.state == "done" and "sentences" in job.result  # it says why
    if frame.corpus.sentences <= proposals.MAX_COUNTED_SENTENCES and not is_exhausted:
        suitable = proposals.count_suitable_sentences(frame.wb, frame.corpus.id)
        st.caption(_describe_limit(suitable, frame.corpus.sentences, is_rest=job is not None))
    if job is None:
        return
    if job.state == "done":
        st.caption(_describe_run(job))
    elif job.error:
        st.error(plain(job.error), icon=":material/error:")


def _describe_limit(suitable: int, sentences: int, *, is_rest: bool) -> str:
    """`is_rest`: those with a proposal are not among the suitable ones."""
    share = f"At most {suitable:,}{' more' * is_rest}" if suitable else "No more" if is_rest else "None"
    return f"{share} of {count(sentences, 'sentence')} can be turned into a question."


def _describe_run(job: JobView) -> str:
    """What it did, and why it proposed fewer questions than it was to."""
    number, attempts, sentences = (int(job.result.get(name, 0)) for name in ("proposed", "tried", "sentences"))
    run = f"The last run tried {count(attempts, 'sentence')} and proposed {count(number, 'question')}."
    if attempts >= sentences:
        return run
    share = f"Only {attempts:,}" if attempts else "None"
    has = "have" if attempts > 1 else "has"
    return (
        f"{run} {share} of {count(sentences, 'sentence')} without a proposal {has} a form that can be turned into a "
        "question."
    )


def _draw_running(wb: Workbench, job: JobView, person: AnnotatorView) -> None:
    why = explain_refusal(job, person)
    with st.container(horizontal=True, vertical_alignment="center"):
        draw_progress(wb, job)
        st.button("Stop", key="data_propose_stop", icon=":material/stop_circle:", disabled=job.cancelling or bool(why),
                  help=why or "Keeps what was proposed so far", on_click=guard(queue.cancel), args=(wb, job.id),
                  kwargs={"by": person.id})  # fmt: skip


def _draw_undo(frame: Frame) -> None:
    """Of the last decision here: what was rejected is not proposed again, and what was accepted is a question."""
    corpus_id, proposal_id, text, is_acceptance = st.session_state.get(_DECISION, (None, None, "", False))
    with st.container(horizontal=True, vertical_alignment="center"):  # in every run, so that nothing below moves
        if corpus_id == frame.corpus.id:
            verb = "Accepted" if is_acceptance else "Rejected"
            st.caption(f"{verb}: {plain(shorten(text, MAX_DECISION_CHARS))}", width="content")
            what = "Takes the question and your label back" if is_acceptance else None
            st.button("Undo", key="data_proposal_undo", type="tertiary", icon=":material/undo:", help=what,
                      on_click=_undo, args=(frame, proposal_id, is_acceptance))  # fmt: skip


def _draw_waiting(frame: Frame, view: ProposalsView) -> None:
    counts = f"{view.waiting:,} waiting, {view.accepted_count:,} accepted, {view.rejected_count:,} rejected."
    if not view.page:
        if view.accepted_count or view.rejected_count:
            st.info(f"No proposals to review: {counts}", icon=":material/check:")
        return
    st.caption(f"{counts} An accepted proposal becomes a question, with its sentence labelled correct by you. Its "
               "other candidates appear in Label.")  # fmt: skip
    for proposal in view.page:
        _draw_proposal(frame, proposal)


def _draw_proposal(frame: Frame, proposal: ProposalView) -> None:
    key = f"data_proposal_{proposal.id}"
    why = frame.explain_refusal()
    with st.container(border=True, key=key):
        st.text_input("The question", value=proposal.text, key=f"{key}_text", max_chars=500, disabled=bool(why),
                      label_visibility="collapsed")  # fmt: skip
        st.markdown(plain(proposal.sentence))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{plain(name_document(proposal.title))}; ranked {proposal.place} in a search", width="stretch")
            st.button("Reject", key=f"{key}_reject", icon=":material/close:", disabled=bool(why), help=why,
                      on_click=_reject, args=(frame, proposal))  # fmt: skip
            st.button("Accept", key=f"{key}_accept", icon=":material/check:", type="primary", disabled=bool(why),
                      help=why, on_click=_accept, args=(frame, proposal))  # fmt: skip


@guard
def _start(frame: Frame) -> None:
    number = int(st.session_state["data_propose_wanted"])
    proposals.start(frame.wb, frame.corpus.id, number=number, by=frame.annotator.id)


@guard
def _accept(frame: Frame, proposal: ProposalView) -> None:
    text = st.session_state.get(f"data_proposal_{proposal.id}_text")
    proposals.accept(frame.wb, proposal.id, annotator_id=frame.annotator.id, text=text)
    st.session_state[_DECISION] = frame.corpus.id, proposal.id, text or proposal.text, True


@guard
def _reject(frame: Frame, proposal: ProposalView) -> None:
    proposals.reject(frame.wb, proposal.id, annotator_id=frame.annotator.id)
    st.session_state[_DECISION] = frame.corpus.id, proposal.id, proposal.text, False


@guard
def _undo(frame: Frame, proposal_id: int, is_acceptance: bool) -> None:
    del st.session_state[_DECISION]
    undo = proposals.undo_acceptance if is_acceptance else proposals.restore
    undo(frame.wb, proposal_id, annotator_id=frame.annotator.id)
