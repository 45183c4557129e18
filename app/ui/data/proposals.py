"""Proposed questions: start a run, follow it, then accept, edit or reject its proposals one by one."""

from __future__ import annotations

import streamlit as st

from app.ask import proposals
from app.ask.proposals import ProposalsView, ProposalView
from app.corpora.corpora import CorpusView
from app.jobs import queue
from app.jobs.queue import JobView
from app.ui.data import questions
from app.ui.errors import guarded
from app.ui.roles import barred
from app.ui.text import count, plain, titled
from app.workbench.people import AnnotatorView
from app.workbench.workbench import Workbench

POLL_SECONDS = 2.0
ABOUT = (
    "For a corpus without questions. Random sentences are turned into questions by grammar rules. A question is "
    f"proposed only if a search for it ranks its sentence among the first {proposals.MAX_RANK}. The questions use the "
    "words of their sentences: edit each one to read as a person would ask it, and reject those nobody would ask."
)


def draw(wb: Workbench, corpus: CorpusView, annotator: AnnotatorView) -> None:
    if not corpus.sentences:
        st.info("This corpus has no sentences yet. Add documents under Corpora.", icon=":material/description:")
        return
    questions.draw(wb, corpus, annotator)
    st.subheader("Propose questions", anchor=False)
    st.caption(ABOUT)
    job = queue.find_newest(wb, "propose", corpus.id)
    if job is not None and job.active:
        st.fragment(_draw_running, run_every=POLL_SECONDS)(wb, job.id, corpus.id)
    else:
        _draw_start(wb, corpus, job)
    _draw_waiting(wb, proposals.list_waiting(wb, corpus.id), annotator)


def _draw_start(wb: Workbench, corpus: CorpusView, job: JobView | None) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.number_input("How many", 1, proposals.MAX_WANTED, proposals.DEFAULT_WANTED, key="data_propose_wanted",
                        width=140)  # fmt: skip
        st.button("Propose", type="primary", icon=":material/lightbulb:", key="data_propose",
                  on_click=_start, args=(wb, corpus.id))  # fmt: skip
    if job is None:
        return
    if job.state == "done":
        proposed, tried = job.result.get("proposed", 0), job.result.get("tried", 0)
        st.caption(f"The last run tried {count(tried, 'sentence')} and proposed {count(proposed, 'question')}.")
    elif job.error:
        st.error(plain(job.error), icon=":material/error:")


def _draw_running(wb: Workbench, job_id: int, corpus_id: int) -> None:
    job = queue.find_newest(wb, "propose", corpus_id)
    if job is None or job.id != job_id or not job.active:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(min(1.0, job.progress), text=plain(job.message or "waiting for the worker"))
        st.button("Stop", key="data_propose_stop", icon=":material/stop_circle:", disabled=job.cancelling,
                  help="Keeps what was proposed so far", on_click=_stop, args=(wb, job_id))  # fmt: skip


def _draw_waiting(wb: Workbench, view: ProposalsView, annotator: AnnotatorView) -> None:
    counts = f"{view.waiting:,} waiting, {view.accepted:,} accepted, {view.rejected:,} rejected."
    if not view.listed:
        if view.accepted or view.rejected:
            st.info(f"No proposals to review: {counts}", icon=":material/check:")
        return
    st.caption(f"{counts} An accepted proposal becomes a question, with its sentence labelled correct by you. Its "
               "other candidates appear in Label.")  # fmt: skip
    for proposal in view.listed:
        _draw_proposal(wb, proposal, annotator)


def _draw_proposal(wb: Workbench, proposal: ProposalView, annotator: AnnotatorView) -> None:
    key = f"data_proposal_{proposal.id}"
    why = barred(annotator)
    with st.container(border=True, key=key):
        st.text_input("The question", value=proposal.text, key=f"{key}_text", max_chars=500, disabled=bool(why),
                      label_visibility="collapsed")  # fmt: skip
        st.markdown(plain(proposal.sentence))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{plain(titled(proposal.title))}; ranked {proposal.place} in a search", width="stretch")
            st.button("Reject", key=f"{key}_reject", icon=":material/close:", disabled=bool(why), help=why,
                      on_click=_reject, args=(wb, proposal.id, annotator.id))  # fmt: skip
            st.button("Accept", key=f"{key}_accept", icon=":material/check:", type="primary", disabled=bool(why),
                      help=why, on_click=_accept, args=(wb, proposal.id, annotator.id))  # fmt: skip


@guarded
def _start(wb: Workbench, corpus_id: int) -> None:
    proposals.start(wb, corpus_id, wanted=int(st.session_state["data_propose_wanted"]))


@guarded
def _stop(wb: Workbench, job_id: int) -> None:
    queue.cancel(wb, job_id)


@guarded
def _accept(wb: Workbench, proposal_id: int, annotator_id: int) -> None:
    text = st.session_state.get(f"data_proposal_{proposal_id}_text")
    proposals.accept(wb, proposal_id, annotator_id=annotator_id, text=text)


@guarded
def _reject(wb: Workbench, proposal_id: int, annotator_id: int) -> None:
    proposals.reject(wb, proposal_id, annotator_id=annotator_id)
