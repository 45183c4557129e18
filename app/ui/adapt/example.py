"""Which of the questions that a retrain put right Ask shows as right: the card ranks the candidates that the labels are
on, and on Ask the search has to find the sentence among all documents, and the ranker to put it first there, too."""

from collections.abc import Sequence

import streamlit as st

from app.adapt.report import MAX_TEXT_CHARS, QuestionChange
from app.ranking.scoring import rank_question
from app.versions.loading import load_version
from app.workbench.workbench import DatabaseOutage, Workbench
from as2core.errors import As2Error

MAX_TRIED_QUESTIONS = 8  # asked, at half a second each


def find_example(
    wb: Workbench, corpus_id: int, changes: Sequence[QuestionChange], version: str
) -> QuestionChange | None:
    """The first of them whose correct sentence the version, a cascade, puts first on Ask; None where no such one is
    among the first `MAX_TRIED_QUESTIONS`."""
    for change in changes[:MAX_TRIED_QUESTIONS]:
        if change.top_after is not None and change.top_after.text == _find_first(
            wb, corpus_id, change.question, version
        ):
            return change
    return None


@st.cache_data(ttl=600, show_spinner="Looking for an example on Ask …")
def _find_first(_wb: Workbench, corpus_id: int, question: str, version: str) -> str:
    """The first sentence on Ask, cut as a card cuts it; "" where there is none."""
    try:
        answer = rank_question(_wb, corpus_id, question, load_version(_wb, version))
    except DatabaseOutage:  # says nothing about the version, so nothing is cached
        raise
    except As2Error:  # an empty corpus, or a version that does not answer
        return ""
    if not answer.candidates:
        return ""
    return answer.candidates[int(answer.trace.ranking()[0])].text[:MAX_TEXT_CHARS]
