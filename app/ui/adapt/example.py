"""Which of the questions that a retrain put right Ask can show: the card ranks the candidates that the labels are on,
and on Ask the search has to find the sentence among all documents."""

from collections.abc import Sequence

import streamlit as st

from app.adapt.report import MAX_TEXT_CHARS, QuestionChange
from app.ranking.scoring import list_entered
from app.workbench.workbench import Workbench
from as2core.errors import As2Error

MAX_TRIED = 8  # a search each


def find_example(wb: Workbench, corpus_id: int, changes: Sequence[QuestionChange]) -> QuestionChange | None:
    """The first of them whose correct sentence the search passes on to the ranker; None where no such one is among the
    first `MAX_TRIED`."""
    for change in changes[:MAX_TRIED]:
        if change.top_after is not None and _is_found(wb, corpus_id, change.question, change.top_after.text):
            return change
    return None


@st.cache_data(ttl=600, show_spinner=False)
def _is_found(_wb: Workbench, corpus_id: int, question: str, text: str) -> bool:
    """`text` may be cut as a card cuts it."""
    try:
        return any(s.text[:MAX_TEXT_CHARS] == text for s in list_entered(_wb, corpus_id, question))
    except As2Error:  # an empty corpus finds nothing
        return False
