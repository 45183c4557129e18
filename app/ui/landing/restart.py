"""A click that came after the server was started anew.

The browser connects again without having the page drawn, so the next click begins a session. Streamlit calls no
callback for it, since that session has drawn no widget yet: a label would be lost without a word.
"""

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.state.session_state import Serialized

RESTART_MESSAGE = "The server was restarted while this page was open. If your last click had no effect, repeat it."
_HAS_RUN_KEY = "_as2_has_run"  # whether this session has run before


def show_lost_click() -> None:
    """In the first run of a session, if a click began it. The message's place is there in every run, so that nothing
    below moves."""
    is_first, st.session_state[_HAS_RUN_KEY] = not st.session_state.get(_HAS_RUN_KEY), True
    with st.container():
        if is_first and _was_clicked():
            st.warning(RESTART_MESSAGE, icon=":material/sync_problem:")


def _was_clicked() -> bool:
    """Whether the browser sent a click or a key: Streamlit has no public way to ask."""
    context = get_script_run_ctx()
    states = context.session_state._state._new_widget_state.states.values() if context else ()
    widgets = [state.value for state in states if isinstance(state, Serialized)]
    return any((field := w.WhichOneof("value") or "").endswith("trigger_value") and getattr(w, field) for w in widgets)
