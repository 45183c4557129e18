"""Proposed questions: ask for some, watch them come, then accept, correct or reject one after the other."""

from __future__ import annotations

import streamlit as st

from app.components import data_typed
from app.components.errors import guarded
from app.components.roles import barred
from app.components.text import count, plain, titled
from app.services import Workbench, proposing
from app.services.proposal_views import ProposalsView, ProposalView
from app.services.views import AnnotatorView, CorpusView, JobView

POLL = 2.0
ABOUT = (
    "For a corpus nobody has asked yet. Sentences drawn at random are turned into questions by rule, where that can be "
    "done; one is kept only if asking it brings its sentence back among the first three. They use their sentence's own "
    "words: read each one, say it as a person would who has not read the sentence, and reject what nobody would ask."
)


def draw(wb: Workbench, corpus: CorpusView, annotator: AnnotatorView) -> None:
    if not corpus.sentences:
        st.info("There are no sentences to ask about yet: add documents under Corpora.", icon=":material/description:")
        return
    data_typed.draw(wb, corpus, annotator)
    st.subheader("Propose questions", anchor=False)
    st.caption(ABOUT)
    job = proposing.newest_job(wb, corpus.id)
    if job is not None and job.active:
        st.fragment(_running, run_every=POLL)(wb, job.id, corpus.id)
    else:
        _ask(wb, corpus, job)
    _decide(wb, proposing.waiting(wb, corpus.id), annotator)


def _ask(wb: Workbench, corpus: CorpusView, job: JobView | None) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.number_input("How many", 1, proposing.MOST, proposing.WANTED, key="data_propose_wanted", width=140)
        st.button("Propose", type="primary", icon=":material/lightbulb:", key="data_propose",
                  on_click=_start, args=(wb, corpus.id))  # fmt: skip
    if job is None:
        return
    if job.state == "done":
        found, tried = job.result.get("proposed", 0), job.result.get("tried", 0)
        st.caption(f"The last run tried {count(tried, 'sentence')} and kept {count(found, 'question')}.")
    elif job.error:
        st.error(plain(job.error), icon=":material/error:")


def _running(wb: Workbench, job_id: int, corpus_id: int) -> None:
    job = proposing.newest_job(wb, corpus_id)
    if job is None or job.id != job_id or not job.active:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(min(1.0, job.progress), text=plain(job.message or "waiting for the worker"))
        st.button("Stop", key="data_propose_stop", icon=":material/stop_circle:", disabled=job.cancelling,
                  help="What was found so far stays", on_click=_stop, args=(wb, job_id))  # fmt: skip


def _decide(wb: Workbench, held: ProposalsView, annotator: AnnotatorView) -> None:
    told = f"{held.waiting:,} waiting, {held.accepted:,} accepted, {held.rejected:,} rejected."
    if not held.shown:
        if held.accepted or held.rejected:
            st.info(f"Nothing waits for you: {told}", icon=":material/check:")
        return
    st.caption(f"{told} Accepting makes it a question, with its sentence labelled correct by you; what else is found "
               "for it comes to Label.")  # fmt: skip
    for proposal in held.shown:
        _one(wb, proposal, annotator)


def _one(wb: Workbench, proposal: ProposalView, annotator: AnnotatorView) -> None:
    key = f"data_proposal_{proposal.id}"
    why = barred(annotator)
    with st.container(border=True, key=key):
        st.text_input("The question", value=proposal.text, key=f"{key}_text", max_chars=500, disabled=bool(why),
                      label_visibility="collapsed")  # fmt: skip
        st.markdown(plain(proposal.sentence))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{plain(titled(proposal.title))}; found again at place {proposal.place}", width="stretch")
            st.button("Reject", key=f"{key}_reject", icon=":material/close:", disabled=bool(why), help=why,
                      on_click=_reject, args=(wb, proposal.id, annotator.id))  # fmt: skip
            st.button("Accept", key=f"{key}_accept", icon=":material/check:", type="primary", disabled=bool(why),
                      help=why, on_click=_accept, args=(wb, proposal.id, annotator.id))  # fmt: skip


@guarded
def _start(wb: Workbench, corpus_id: int) -> None:
    proposing.start(wb, corpus_id, wanted=int(st.session_state["data_propose_wanted"]))


@guarded
def _stop(wb: Workbench, job_id: int) -> None:
    proposing.cancel(wb, job_id)


@guarded
def _accept(wb: Workbench, proposal_id: int, annotator_id: int) -> None:
    text = st.session_state.get(f"data_proposal_{proposal_id}_text")
    proposing.accept(wb, proposal_id, annotator_id=annotator_id, text=text)


@guarded
def _reject(wb: Workbench, proposal_id: int, annotator_id: int) -> None:
    proposing.reject(wb, proposal_id, annotator_id=annotator_id)
