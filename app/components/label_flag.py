"""The dialog that flags a pair with a note."""

from __future__ import annotations

import streamlit as st

from app.components.errors import guarded
from app.components.label_desk import Pair
from app.components.label_keys import close_overlay
from app.services import Workbench, labelling

NOTE = "label_flag_note"


@st.dialog("Flag it for others", on_dismiss=close_overlay)
def flag_overlay(wb: Workbench, pair: Pair, annotator_id: int) -> None:
    """While it is open the keys sleep; Enter sends it, Escape closes it."""
    with st.form("label_flag_form", border=False):
        st.text_input("What should they look at?", key=NOTE, max_chars=labelling.MAX_NOTE)
        sent = st.form_submit_button("Flag it", type="primary", icon=":material/flag:", on_click=_send,
                                     args=(wb, pair, annotator_id))  # fmt: skip
    if sent:
        st.rerun()


@guarded
def _send(wb: Workbench, pair: Pair, annotator_id: int) -> None:
    close_overlay()
    note = st.session_state[NOTE]
    labelling.flag(wb, question_id=pair[0], sentence_id=pair[1], annotator_id=annotator_id, note=note)
    st.session_state["_label_said"] = "Flagged: it is in the queue of flagged ones now."
