"""Entries of a corpus that somebody wants to delete or withdraw, until a dialog has asked about them. What was chosen
in one corpus is never asked about under the name of another, to which the browser's Back may lead."""

from collections.abc import Sequence
from typing import TypeVar

import streamlit as st

from app.ui.page import Frame

T = TypeVar("T")


def store_choice(frame: Frame, key: str, entries: Sequence[T]) -> None:
    """`key`: of the session."""
    st.session_state[key] = frame.corpus.id, entries


def read_choice(frame: Frame, key: str) -> Sequence:
    """Of the corpus that is shown; () where there is none. That of another corpus is forgotten."""
    corpus_id, entries = st.session_state.get(key, (None, ()))
    if frame.corpus is not None and frame.corpus.id == corpus_id:
        return entries
    st.session_state.pop(key, None)
    return ()
