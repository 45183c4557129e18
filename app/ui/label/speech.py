"""What a screen reader says after each act: what was recorded, and what is in front now, where the focus is not."""

import streamlit as st

from app.ui.label.desk import Desk
from app.ui.label.list_desk import ListDesk
from app.ui.text import shorten

RECORDED = "_label_recorded"  # of the session: the label that the last act gave, "" if it gave none
_QUESTION = "_label_spoken_question"  # of the session: (showing, question id, whether it came with that showing)
MAX_CHARS = 400  # of a question


def describe_front(desk: Desk | ListDesk) -> str:
    """`Incorrect. Row 3 of 100: The pump is reset …`, with the question where it is another than before."""
    recorded = st.session_state.get(RECORDED, "")
    parts = [f"{recorded.capitalize()}."] if recorded else []
    if desk.item is None:
        return " ".join([*parts, "Nothing more is in this queue for you now."])
    if _is_new(desk.showing, desk.item.question_id):
        parts.append(f"Question: {shorten(desk.item.question, MAX_CHARS)}")
    if isinstance(desk, ListDesk):
        parts.append(_describe_row(desk))
    else:
        label = f" It is labelled {desk.item.label}." if desk.item.label else ""
        parts.append(f"Sentence: {desk.item.text}{label}")
    return " ".join(parts)


def _describe_row(desk: ListDesk) -> str:
    row = desk.rows[desk.row]
    state = f", labelled {row.label}" if row.label else "" if row.is_open else ", closed"
    return f"Row {desk.row + 1} of {len(desk.rows):,}{state}: {row.text}"


def _is_new(showing: str, question_id: int) -> bool:
    """Whether the question came with this showing; the same for every run that draws it."""
    last_showing, last_id, is_new = st.session_state.get(_QUESTION, ("", None, True))
    if showing != last_showing:
        is_new = question_id != last_id
    st.session_state[_QUESTION] = (showing, question_id, is_new)
    return is_new
