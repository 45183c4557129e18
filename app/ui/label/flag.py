"""The dialog that flags a pair with a note."""

import streamlit as st

from app.labels import flags
from app.labels.consensus import MAX_NOTE_CHARS
from app.ui.errors import guard
from app.ui.label import undo
from app.ui.label.desk import DESK_KEY, Pair
from app.ui.label.shortcuts import close_overlay
from app.ui.page import Frame, announce
from app.ui.session.unsaved import FLAG_NOTE, register_field


@st.dialog("Flag for others", on_dismiss=close_overlay)
def draw_flag_dialog(frame: Frame, pair: Pair) -> None:
    """While it is open the keys are off; Enter sends it, Escape closes it."""
    with st.form("label_flag_form", border=False):
        register_field(FLAG_NOTE, "What others should check")
        st.text_input("What should others check?", key=FLAG_NOTE, max_chars=MAX_NOTE_CHARS)
        is_sent = st.form_submit_button("Flag", type="primary", icon=":material/flag:", on_click=_send,
                                        args=(frame, pair))  # fmt: skip
    if is_sent:
        st.rerun()


@guard
def _send(frame: Frame, pair: Pair) -> None:
    close_overlay()
    question, sentence = pair
    flag = flags.add_flag(
        frame.wb,
        question_id=question,
        sentence_id=sentence,
        annotator_id=frame.annotator.id,
        note=st.session_state[FLAG_NOTE],
    )
    undo.remember(frame.wb, st.session_state[DESK_KEY], undo.FLAG, flag)
    more = " Its question is in the label queues again." if flag.brings_back else ""
    announce(f"Flagged. It is now in the queue Flagged.{more}")
