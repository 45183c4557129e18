"""A click that came after the server was started anew, with what was typed; and files that were in the memory of the
one before.

The browser connects again without having the page drawn, so the next click begins a session. Streamlit calls no
callback for it, since that session has drawn no widget yet: a label would be lost without a word. An uploader goes on
showing its files, of which the server has none.
"""

from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.state.session_state import Serialized

from app.ui.session.unsaved import draw_text, keep_sent_texts, list_sent_notes
from app.ui.uploads import note_lost_files

RESTART_MESSAGE = "The server was restarted while this page was open. If your last click had no effect, repeat it."
_HAS_RUN_KEY = "_as2_has_run"  # whether this session has run before


def show_lost_click() -> None:
    """In the first run of a session, if a click began it. The message's place is there in every run, so that nothing
    below moves."""
    is_first, st.session_state[_HAS_RUN_KEY] = not st.session_state.get(_HAS_RUN_KEY), True
    values = _read_values() if is_first else {}
    if is_first:
        keep_sent_texts({_read_key(i): value.string_value for i, value in values.items() if value.string_value})
    note_lost_files(_read_key(i) for i, value in values.items() if value.file_uploader_state_value.uploaded_file_info)
    with st.container():
        texts = list_sent_notes() if is_first else []
        if texts or any(_is_click(value) for value in values.values()):
            st.warning(RESTART_MESSAGE, icon=":material/sync_problem:")
        for text in texts:
            st.caption("You had typed:")
            draw_text(text)


def _read_values() -> dict[str, Any]:
    """What the browser sent, by the widget's id: Streamlit has no public way to ask."""
    context = get_script_run_ctx()
    states = context.session_state._state._new_widget_state.states if context else {}
    return {i: state.value for i, state in states.items() if isinstance(state, Serialized)}


def _read_key(widget_id: str) -> str:
    return widget_id.split("-", 2)[-1]  # $$ID-hash-key


def _is_click(value: Any) -> bool:
    """Or a key."""
    return (field := value.WhichOneof("value") or "").endswith("trigger_value") and bool(getattr(value, field))
