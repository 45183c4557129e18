"""The current question and its result, in the session; they start from the address.

A thread computes the generative scores, so that the answer is on the page first and the slider stays quick meanwhile;
`await_generative` adds the scores when they are ready.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from urllib.parse import quote_plus

import numpy as np
import streamlit as st

from app.ask import asking
from app.ask.asking import Answer, AskView, EarlyAnswer
from app.ask.pins import Pin, find_pins
from app.corpora.synonyms import read_synonyms
from app.ui import url
from app.ui.ask import drops
from app.ui.ask.record import Record, make_record
from app.ui.page import Frame
from app.ui.session.unsaved import find_sent_number
from app.ui.signin import fragment
from app.ui.text import capitalize, plain
from as2core.types import Progress

BOX = "as2_question_"  # the beginning of the field's key
MAX_DRAW_SECONDS = 2.0  # a run that another overtakes draws nothing
MAX_LINK_CHARS = 6000  # of a question as an address has it; servers and proxies commonly take 8 kB


@dataclass(frozen=True, slots=True)
class Result:
    """An answered question, its record for the picture, and its generative scores, by candidate position, as a
    future."""

    view: AskView
    record: Record
    generative: Future[np.ndarray]
    is_drawn: threading.Event  # the generative scores wait for it: the two cores have to draw the answer first

    @property
    def generative_scores(self) -> np.ndarray | None:
        """None while they are computed, or if that failed."""
        is_done = self.generative.done() and not self.generative.cancelled()
        return self.generative.result() if is_done and self.generative.exception() is None else None


@st.cache_resource(show_spinner=False)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="generative")


def read_question() -> str:
    """The current question: the session's; the address's at first, and when the browser went back or forward to it."""
    if not st.session_state.pop("_as2_submitted", False):  # which takes precedence over an older address
        url.follow("q", "_as2_question", str, settling=0.0, on_move=_replace_question)
    question: str = st.session_state["_as2_question"]
    return question


def _replace_question() -> None:
    """By that of the address."""
    _set_question(url.get("q"))
    renew_box()


def fits_link(text: str) -> bool:
    """Whether the address has a question, so that a link or a reload asks it again."""
    return len(quote_plus(text, errors="replace")) <= MAX_LINK_CHARS


def name_box() -> str:
    """The key of the text field. A field keeps what is typed in it, so a question from elsewhere needs another key."""
    return f"{BOX}{st.session_state.setdefault('_as2_box', find_sent_number(BOX))}"


def renew_box() -> None:
    st.session_state["_as2_box"] = st.session_state.get("_as2_box", find_sent_number(BOX)) + 1


def submit(text: str) -> None:
    """Make it the question of the run that follows, and of the address: a log-in in between leads back to it."""
    st.session_state["_as2_submitted"] = True
    url.put(q=text.strip() if fits_link(text.strip()) else None)
    _set_question(text)


def _set_question(text: str) -> None:
    st.session_state["_as2_question"] = text.strip()
    _forget()


def search_as_typed() -> None:
    """Ask the current question again, without correcting its spelling."""
    st.session_state["_as2_as_typed"] = st.session_state["_as2_question"]
    _forget()


def search_again() -> None:
    """Ask the current question again, over what the search has by now."""
    _forget()


def _is_as_typed(text: str) -> bool:
    state = st.session_state
    if url.get("as_typed") and url.get("q") == text:
        state["_as2_as_typed"] = text
    return state.get("_as2_as_typed") == text


def _forget() -> None:
    """Drop the last result, and cancel its generative scores if they have not started."""
    st.session_state.pop("_as2_chosen", None)
    forget_pins()
    entry = st.session_state.pop("_as2_result", None)
    if entry is not None:
        entry[1].generative.cancel()


def load_pins(frame: Frame, answer: Answer) -> dict[int, Pin]:
    """What was labelled for the current question when this person asked it. It stays until the question is asked
    again."""
    viewer_id, pins = st.session_state.get("_as2_pins", (None, {}))
    if viewer_id != frame.annotator.id:
        pins = find_pins(frame.wb, frame.corpus.id, answer, frame.annotator.id)
        st.session_state["_as2_pins"] = frame.annotator.id, pins
    return pins


def forget_pins() -> None:
    """Have them read again for the current result."""
    st.session_state.pop("_as2_pins", None)


def load_result(frame: Frame, text: str, show_early: Callable[[Answer], None]) -> Result:
    """Ask, unless the stored result is of this question, model, documents and synonyms. `show_early` gets the answer
    under the session's drop ratio as soon as it is clear."""
    as_typed = _is_as_typed(text)
    url.put(q=text if fits_link(text) else None, as_typed="1" if as_typed else None)
    slot = st.empty()  # in every run, or all that follows would move by one place and be drawn anew
    key = (text, frame.version, as_typed, *_identify_contents(frame))
    entry = st.session_state.get("_as2_result")
    if entry is not None and entry[0] == key:
        return entry[1]
    _forget()
    bar = slot.progress(0.0, text="Searching the documents …")

    def report(p: Progress) -> None:
        bar.progress(p.share, text=f"{capitalize(plain(p.stage)) or 'Ranking'} …")

    def show(answer: Answer) -> None:
        slot.empty()
        show_early(answer)

    early = EarlyAnswer(lambda exits: drops.make_schedule(drops.read_percents(exits), exits), show)
    ask = partial(
        asking.ask, version=frame.version, as_typed=as_typed, store_later=True, early=early, on_progress=report
    )
    try:
        view = ask(frame.wb, frame.corpus.id, text, by=frame.annotator.id)
    finally:
        slot.empty()
    is_drawn = threading.Event()

    def score_after_drawing() -> np.ndarray:
        is_drawn.wait(MAX_DRAW_SECONDS)
        return asking.score_generative(frame.wb, view)

    result = Result(view, make_record(view), _pool().submit(score_after_drawing), is_drawn)
    st.session_state["_as2_result"] = (key, result)
    return result


def _identify_contents(frame: Frame) -> tuple[object, ...]:
    """What else a result depends on. Vectors are left out: they come while the answer is read, and `notes.meaning`
    offers another search."""
    corpus = frame.corpus
    return corpus.id, corpus.documents, corpus.sentences, corpus.changed, str(read_synonyms(frame.wb, corpus.id))


def close(question_id: int) -> None:
    """Leave the current question if it is this one, which was deleted."""
    entry = st.session_state.get("_as2_result")
    if entry is not None and entry[1].view.question_id == question_id:
        _set_question("")
        renew_box()


def get_selection() -> int | None:
    """The position of the candidate chosen in the picture or in the table."""
    return st.session_state.get("_as2_chosen")


def choose(position: int | None) -> None:
    st.session_state["_as2_chosen"] = position


@fragment(run_every=0.3)
def await_generative(result: Result) -> None:
    """Draw the page again once the scores are ready.

    Never within another fragment: Streamlit 1.67 blanks the page when an act in the outer one overtakes what the run
    before has sent of both.
    """
    if result.generative.done():
        st.rerun()
