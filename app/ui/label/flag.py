"""The dialog that flags a pair with a note."""

from __future__ import annotations

import streamlit as st

from app.labels import annotation
from app.labels.consensus import MAX_NOTE_CHARS
from app.ui.errors import guarded
from app.ui.label.desk import Pair
from app.ui.label.shortcuts import close_overlay
from app.workbench.workbench import Workbench

NOTE = "label_flag_note"


@st.dialog("Flag for others", on_dismiss=close_overlay)
def flag_overlay(wb: Workbench, pair: Pair, annotator_id: int) -> None:
    """While it is open the keys are off; Enter sends it, Escape closes it."""
    with st.form("label_flag_form", border=False):
        st.text_input("What should others check?", key=NOTE, max_chars=MAX_NOTE_CHARS)
        sent = st.form_submit_button("Flag", type="primary", icon=":material/flag:", on_click=_send,
                                     args=(wb, pair, annotator_id))  # fmt: skip
    if sent:
        st.rerun()


@guarded
def _send(wb: Workbench, pair: Pair, annotator_id: int) -> None:
    close_overlay()
    note = st.session_state[NOTE]
    annotation.flag(wb, question_id=pair[0], sentence_id=pair[1], annotator_id=annotator_id, note=note)
    st.session_state["_label_message"] = "Flagged. It is now in the queue Flagged."
