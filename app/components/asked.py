"""The question at hand and what was found for it: kept in the session, started from the address.

The generative scores are computed by a thread of their own, so that the answer is on the page first and the slider
stays quick meanwhile; `await_generative` brings them in when they are there.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import streamlit as st

from app.components import url
from app.components.page import Frame
from app.components.text import capital, plain
from app.services import asking
from app.services.views import AskView
from as2core.types import Progress

LONGEST_LINK = 1500  # characters of a question that still go into the address


@dataclass(frozen=True, slots=True)
class Result:
    """An answered question and the generative scores on their way, by candidate position."""

    asked: AskView
    generative: Future[np.ndarray]

    @property
    def generative_scores(self) -> np.ndarray | None:
        """None while they are being computed, or if that failed."""
        done = self.generative.done() and not self.generative.cancelled()
        return self.generative.result() if done and self.generative.exception() is None else None


@st.cache_resource(show_spinner=False)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="generative")


def question() -> str:
    """The question at hand: the session's; the address's at first, and when the browser went back or forward to it."""
    state, address = st.session_state, url.get("q")
    submitted = state.pop("_as2_submitted", False)  # it outranks an address from before
    if "_as2_question" not in state:
        state["_as2_question"] = address
    elif url.moved("q") and not submitted:
        put_question(address)
        new_box()
    return state["_as2_question"]


def box_key() -> str:
    """The key of the text field: another one when the question came from elsewhere, since a field that exists keeps
    what is typed in it."""
    return f"as2_question_{st.session_state.get('_as2_box', 0)}"


def new_box() -> None:
    st.session_state["_as2_box"] = st.session_state.get("_as2_box", 0) + 1


def submit(text: str) -> None:
    """Ask what was typed or taken; before the run that follows."""
    st.session_state["_as2_submitted"] = True
    put_question(text)


def put_question(text: str) -> None:
    text = text.strip()
    st.session_state["_as2_question"] = text
    _forget()


def no_question() -> None:
    """Nothing is asked: the address is not to say so either."""
    url.put(q=None, as_typed=None)


def read_as_typed() -> None:
    """Ask the question at hand again, with no word of it mended."""
    st.session_state["_as2_as_typed"] = st.session_state["_as2_question"]
    _forget()


def _as_typed(text: str) -> bool:
    """Whether this question is to be read as it is: said here, or by the address it came from."""
    state = st.session_state
    if url.get("as_typed") and url.get("q") == text:
        state["_as2_as_typed"] = text
    return state.get("_as2_as_typed") == text


def _forget() -> None:
    """Let go of the last result; scores nobody waits for any more aren't computed if they can still be stopped."""
    for name in ("_as2_chosen", "_as2_explained"):
        st.session_state.pop(name, None)
    held = st.session_state.pop("_as2_result", None)
    if held is not None:
        held[1].generative.cancel()


def result(frame: Frame, text: str) -> Result:
    """Ask, unless this question was just asked of this corpus and this model."""
    as_typed = _as_typed(text)
    url.put(q=text if len(text) <= LONGEST_LINK else None, as_typed="1" if as_typed else None)
    slot = st.empty()  # there in every run, or all that follows would move by one place and be built anew
    key = (frame.corpus.id, text, frame.version, as_typed)
    held = st.session_state.get("_as2_result")
    if held is not None and held[0] == key:
        return held[1]
    _forget()
    bar = slot.progress(0.0, text="Looking through the documents …")

    def progress(p: Progress) -> None:
        bar.progress(min(1.0, p.done / p.total) if p.total else 0.0, text=f"{capital(plain(p.what)) or 'Ranking'} …")

    try:
        asked = asking.ask(
            frame.wb, frame.corpus.id, text, version=frame.version, as_typed=as_typed, on_progress=progress
        )
    finally:
        slot.empty()
    found = Result(asked, _pool().submit(asking.generative, frame.wb, asked))
    st.session_state["_as2_result"] = (key, found)
    return found


def chosen() -> int | None:
    """The position of the candidate the reader picked in the picture or in the table."""
    return st.session_state.get("_as2_chosen")


def choose(position: int | None) -> None:
    st.session_state["_as2_chosen"] = position


@st.fragment(run_every=0.7)
def await_generative(found: Result) -> None:
    """Wait without holding anything up; draws the page anew once the scores are there.

    Never within another fragment: Streamlit 1.67 blanks the page when an act in the outer one overtakes what the run
    before has sent of both.
    """
    if found.generative.done():
        st.rerun()
