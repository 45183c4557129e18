"""What this person asked last, as a compact list at the end of the page while no question is open.

Everyone without a name is the same person to the workbench, so of them a browser remembers what was asked in it.
"""

import re
from collections.abc import Collection
from typing import cast

import streamlit as st

from app.ask import question_management
from app.ui import signin
from app.ui.ask import result
from app.ui.page import Frame
from app.ui.text import plain, shorten
from app.workbench.people import NOBODY

MAX_CHARS = 90  # of a question in the list
COOKIE, MAX_REMEMBERED = "as2_recent", 40  # the ids of questions, of all corpora, newest first
_IDS = "_as2_recent_ids"  # of the session


def draw_history(frame: Frame, besides: Collection[str]) -> None:
    """Nothing before the first question, and none of those that the page shows already, `besides` these. The keys are
    those of the place: a list that grew replays no old click."""
    among = _read_ids() if _has_no_name(frame) else None
    questions = question_management.list_recent(frame.wb, frame.corpus.id, frame.annotator.id, among=among)
    recent = [question for question in questions if question.text not in besides]
    if not recent:
        return
    with st.container(gap=None, key="as2_recent"):
        st.caption("Recent questions")
        for place, question in enumerate(recent):
            st.button(plain(shorten(question.text, MAX_CHARS)), key=f"as2_recent_{place}", type="tertiary",
                      icon=":material/history:", on_click=_ask_again, args=(question.text,))  # fmt: skip


def remember_question(frame: Frame, question_id: int) -> None:
    """That the question is open in this browser."""
    ids = _read_ids()
    if _has_no_name(frame) and ids[:1] != (question_id,):
        others = [i for i in ids if i != question_id]
        st.session_state[_IDS] = (question_id, *others)[:MAX_REMEMBERED]
        signin.remember(COOKIE, "-".join(map(str, st.session_state[_IDS])))


def _has_no_name(frame: Frame) -> bool:
    return frame.annotator.local and frame.annotator.name == NOBODY


def _read_ids() -> tuple[int, ...]:
    if _IDS not in st.session_state:
        numbers = re.findall(r"[0-9]{1,9}", signin.read_cookie(COOKIE))[:MAX_REMEMBERED]
        st.session_state[_IDS] = tuple(map(int, numbers))
    return cast(tuple[int, ...], st.session_state[_IDS])


def draw_link_limit(question: str) -> None:
    """That the address does not have a question of this length, and where it is found again."""
    if not result.fits_link(question):
        st.caption(
            ":material/link_off: This question is too long for a link: the page's address does not have it. After a "
            "reload, it is under **Recent questions**."
        )


def _ask_again(text: str) -> None:
    result.submit(text)
    result.renew_box()
