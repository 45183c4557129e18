"""Texts that are typed and not saved yet, where a session ends or the server is started anew.

A log-in leads to a new page with empty fields, so what was typed is shown beside its button, to be copied. After a new
start of the server the browser sends what is in its fields with the next click, to a session that has drawn none of
them: a field that sets its own text has to ask here first, and the text of a dialog, which is closed, is shown.
"""

from collections.abc import Mapping

import streamlit as st

from app.ui import url

FLAG_NOTE = "label_flag_note"
IN_DIALOGS = (FLAG_NOTE,)  # keys of fields
_FIELDS = "_as2_text_fields"  # of the session: key -> (what is typed there, what of it is saved)
_TEXTS = "_as2_unsaved_texts"  # of the session: what is typed -> the text
_SENT_TEXTS = "_as2_sent_texts"  # of the session: key -> the text that the browser had before this session


def register_field(key: str, name: str, *, saved: str = "") -> None:
    """Of a field that is drawn now. `name`: what is typed there; `saved`: what it had at first, or is saved."""
    st.session_state.setdefault(_FIELDS, {})[key] = (name, saved)


def draw_texts() -> None:
    """What is in the registered fields and neither saved nor in the address. The fields are not drawn any more, and
    forget their texts after this run."""
    state = st.session_state
    texts: dict[str, str] = state.setdefault(_TEXTS, {})
    for key, (name, saved) in state.get(_FIELDS, {}).items():
        text = str(state.get(key) or "").strip()
        if text not in ("", saved.strip(), url.get("q")):
            texts[name] = text
    if texts:
        st.markdown("This was not saved. Copy it before you log in:")
    for name, text in texts.items():
        st.caption(name)
        draw_text(text)


def keep_sent_texts(texts: Mapping[str, str]) -> None:
    """By the fields' keys. Called in the first run of a session."""
    st.session_state[_SENT_TEXTS] = {key: text for key, text in texts.items() if text.strip()}


def find_sent_text(key: str) -> str:
    """What the browser has in the field; "" where it has nothing, or the session has drawn the field already."""
    return st.session_state.get(_SENT_TEXTS, {}).get(key, "") if key not in st.session_state else ""


def find_sent_number(stem: str) -> int:
    """The number behind `stem` in the key of the field that the browser has text in; 0 without one."""
    numbers = (key.removeprefix(stem) for key in st.session_state.get(_SENT_TEXTS, {}) if key.startswith(stem))
    return next((int(number) for number in numbers if number.isdigit()), 0)


def list_sent_notes() -> list[str]:
    """Texts of dialogs, which are closed by now."""
    return [text for key in IN_DIALOGS if (text := find_sent_text(key))]


def draw_text(text: str) -> None:
    """As it is, with a button that copies it."""
    st.code(text, language=None, wrap_lines=True)
