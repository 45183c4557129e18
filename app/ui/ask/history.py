"""What this person asked last, as a compact list at the end of the page while no question is open."""

from collections.abc import Collection

import streamlit as st

from app.ask import stored_questions
from app.ui.ask import result
from app.ui.page import Frame
from app.ui.text import plain, shorten

MAX_CHARS = 90  # of a question in the list


def draw_history(frame: Frame, besides: Collection[str]) -> None:
    """Nothing before the first question, and none of those that the page shows already, `besides` these. The keys are
    those of the place: a list that grew replays no old click."""
    questions = stored_questions.list_recent(frame.wb, frame.corpus.id, frame.annotator.id)
    recent = [question for question in questions if question not in besides]
    if not recent:
        return
    with st.container(gap=None, key="as2_recent"):
        st.caption("Recent questions")
        for place, question in enumerate(recent):
            st.button(plain(shorten(question, MAX_CHARS)), key=f"as2_recent_{place}", type="tertiary",
                      icon=":material/history:", on_click=_ask_again, args=(question,))  # fmt: skip


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
