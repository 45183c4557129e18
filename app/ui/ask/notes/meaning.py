"""How far search by meaning is, above an answer that was found while vectors are computed.

What polls is a fragment beside that of the result, never around or in it (decision 0014); it draws the page again when
the answer can be found anew.
"""

import streamlit as st

from app.ask.asking import Answer
from app.corpora import indexing
from app.jobs import queue
from app.jobs.kinds import JobKind
from app.jobs.remaining import find_remaining
from app.ranking import retrieval
from app.ui.ask import result
from app.ui.errors import guard
from app.ui.job import WAIT_SECONDS
from app.ui.page import Frame
from app.ui.signin import fragment
from app.ui.wording import describe_vectors, describe_wait
from app.workbench.workbench import Workbench


def draw_meaning_state(frame: Frame, answer: Answer) -> None:
    """Nothing where all passages have their vectors and the answer was found with them."""
    with st.container(key="as2-meaning"):  # in every run, so that nothing below moves to another place
        state = retrieval.measure_meaning(frame.wb, frame.corpus.id)
        if answer.awaits_vectors and state.is_used:
            _draw_again()
        elif not state.is_complete:
            _poll(frame.wb, frame.corpus.id, state.is_used)


def _draw_again() -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(
            ":material/check: Search by meaning is ready. This answer was found by its words alone.", width="content"
        )
        st.button("Search again", key="as2_again", icon=":material/refresh:", on_click=result.search_again)


@fragment(run_every=WAIT_SECONDS)
def _poll(wb: Workbench, corpus_id: int, was_used: bool) -> None:
    state = retrieval.measure_meaning(wb, corpus_id)
    if state.is_used != was_used or state.is_complete:
        st.rerun()
    jobs = queue.list_active(wb, JobKind.EMBED, corpus_id)
    remaining = find_remaining(jobs[0].message) if jobs else ""
    st.progress(state.done / max(1, state.total), text=describe_vectors(state.done, state.total, remaining))
    if not jobs:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption("No job is preparing the rest.", width="content")
            st.button("Prepare it now", key="as2_prepare", type="tertiary",
                      on_click=guard(indexing.request_vectors), args=(wb, corpus_id))  # fmt: skip
    elif why := describe_wait(wb, jobs[0]):
        st.caption(why)
