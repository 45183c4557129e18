"""The way to the corpus's synonyms where no answer was found."""

from collections.abc import Collection

import streamlit as st

from app.ask.asking import Answer
from app.ask.pins import Arrangement
from app.ui import navigation, url
from app.ui.page import Frame
from as2core.types import CORRECT


def draw_synonym_link(frame: Frame, answer: Answer, arrangement: Arrangement, labels: Collection[str]) -> None:
    """One cause is a word that the models know in another meaning; none where `labels` of the question say that its
    answer was ranked. The container is there in any case, so that nothing below moves to another place."""
    is_answered = bool(arrangement.top) or CORRECT in labels or bool(answer.is_answer[arrangement.own])
    with st.container(key="as2-synonym"):
        if answer.is_calibrated and answer.expanded_question == answer.question and not is_answered:
            draw_link_to_synonyms(frame)


def draw_link_to_synonyms(frame: Frame) -> None:
    navigation.to("data", "Does a word mean something else here? Add a synonym", **make_address(frame))


def make_address(frame: Frame) -> dict[str, str]:
    """With the question and the model, so that Data can lead back."""
    return {"corpus": frame.corpus.name, "view": "synonyms", **url.get_present(*navigation.QUESTION)}
