"""Entries of a corpus that somebody wants to delete or withdraw, until a dialog has asked about them. What was chosen
in one corpus is never asked about under the name of another, to which the browser's Back may lead."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from app.ui.page import Frame


@dataclass(frozen=True)
class Choice:
    """The keys of the dialog's buttons begin with `name`."""

    name: str

    @property
    def _key(self) -> str:
        """Of the session, beside those of the buttons."""
        return f"_{self.name}"

    def store(self, frame: Frame, entries: Sequence) -> None:
        st.session_state[self._key] = frame.corpus.id, entries

    def read(self, frame: Frame) -> Sequence:
        """Of the corpus that is shown; () where there is none. That of another corpus is forgotten."""
        corpus_id, entries = st.session_state.get(self._key, (None, ()))
        if frame.corpus is not None and frame.corpus.id == corpus_id:
            return entries
        self.close()
        return ()

    def close(self) -> None:
        """Close the dialog at the next run."""
        st.session_state.pop(self._key, None)

    def rerun_if_closed(self) -> None:
        """For the first line of the dialog: this run's click may have closed it."""
        if self._key not in st.session_state:
            st.rerun()

    def draw_buttons(
        self, act: str, on_click: Callable[..., None] | None, args: tuple = (), *, keep: str, disabled: bool = False
    ) -> bool:
        """`act` goes through with it, `keep` closes the dialog. Whether `act` was clicked in this run."""
        with st.container(horizontal=True):
            is_confirmed = st.button(act, type="primary", key=f"{self.name}_confirm", disabled=disabled,
                                     on_click=on_click, args=args)  # fmt: skip
            st.button(keep, key=f"{self.name}_cancel", on_click=self.close)
        return is_confirmed
