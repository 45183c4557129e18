"""What a screen reader says after each act: what was recorded, and what is in front now, where the focus is not."""

import streamlit as st

from app.ui.label.decide import DecideDesk
from app.ui.label.desk import Desk
from app.ui.label.list_desk import ListDesk
from app.ui.text import shorten

RECORDED = "_label_recorded"  # of the session: the label that the last act gave, until it is said; "" if it gave none
_SHOWING = "_label_spoken_showing"  # of the session: (showing, question id, what `_read_news` gives for it)
MAX_CHARS = 400  # of a question


def describe_front(desk: Desk | ListDesk) -> str:
    """`Incorrect. Candidate 3 of 100: The pump is reset …`, with the question where it is another than before, and what
    a decision concludes."""
    recorded, is_new_question = _read_news(desk)
    parts = [f"{recorded.capitalize()}."] if recorded else []
    if isinstance(desk, DecideDesk):
        if desk.course is None:  # two rankers are chosen, or rank the questions
            return ""
        parts.append(desk.course.conclusion)
    if desk.item is None:
        return " ".join([*parts, "Nothing more is in this queue for you now."])
    if is_new_question:
        parts.append(f"Question: {shorten(desk.item.question, MAX_CHARS)}")
    if isinstance(desk, ListDesk):
        parts.append(_describe_row(desk))
    else:
        label = f" It is labelled {desk.item.label}." if desk.item.label else ""
        parts.append(f"Candidate: {desk.item.text}{label}")
    return " ".join(parts)


def _describe_row(desk: ListDesk) -> str:
    row = desk.rows[desk.row]
    state = f", labelled {row.label}" if row.label else "" if row.is_open else ", closed"
    return f"Candidate {desk.row + 1} of {len(desk.rows):,}{state}: {row.text}"


def _read_news(desk: Desk | ListDesk) -> tuple[str, bool]:
    """The label that the act before this showing gave, and whether the question came with it; the same for every run
    that draws it. What comes in front without an act, as from another queue, has no label before it."""
    showing, question_id, news = st.session_state.get(_SHOWING, ("", None, ("", True)))
    if showing != desk.showing:
        front_id = desk.item.question_id if desk.item else question_id
        news = st.session_state.pop(RECORDED, ""), front_id != question_id
        st.session_state[_SHOWING] = desk.showing, front_id, news
    return news
