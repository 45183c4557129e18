"""The keys of the pages, and the dialog that "?" shows them in. The page Label listens to its own (label/shortcuts)."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from app.ui.keys import has_character_keys, listen_to_keys
from app.ui.text import escape

LISTENER = "as2_listener"
_IS_OPEN, _TURN = "_as2_help", "_as2_help_turn"
NOTE = "Keys are off while you type in a field and while this dialog is open. A held key counts once."
SWITCH = "Letter keys and space"  # on Label
SWITCH_NOTE = f"Letters, signs and space are {{}}, on all pages in this browser; **{SWITCH}** on Label switches them."


@dataclass(frozen=True, slots=True)
class Key:
    """`printed`: the keys that do it, as they are printed on a keyboard."""

    printed: tuple[str, ...]
    name: str
    does: str


HELP, DIALOG = Key(("?",), "Help", "Show these keys"), Key(("Esc",), "Close", "Close a dialog")
ROW = Key(("Shift+Space",), "Select", "Select the row of a table, when a cell of it has the focus")
OF_PAGE = {
    "ask": (
        Key(("/",), "Question", "Go to the question box"),
        Key(("Enter",), "Ask", "Ask the question in the box"),
        Key(("←", "→"), "Step", "Step through the cascade, when its picture has the focus"),
        ROW,
    ),
    "compare": (ROW,),
    "data": (ROW,),
}
FIELDS = {"ask": '[class*="st-key-as2_question_"] input'}  # what "/" goes to


def listen(page: str, *, focus: bool = False) -> None:
    """Listen to the page's keys, and show the dialog until it is dismissed: a rerun meanwhile must not close it.
    `focus`: the page's field has the focus when the page opens."""
    field = FIELDS.get(page)
    data = {"map": {"?": "help"}, "doc": _showing(page), "page": page, "field": field, "focus": focus}
    listen_to_keys(key=LISTENER, data=data, on_key_change=_open)
    if st.session_state.get(_IS_OPEN) == page:
        show_keys((*OF_PAGE.get(page, ()), HELP, DIALOG))


def _showing(page: str) -> str:
    return f"{page}/{st.session_state.get(_TURN, 0)}"


def _open() -> None:
    if press := st.session_state[LISTENER].key:
        page = press["doc"].partition("/")[0]
        st.session_state[_IS_OPEN] = page
        st.session_state[_TURN] = st.session_state.get(_TURN, 0) + 1


def close() -> None:
    st.session_state.pop(_IS_OPEN, None)


@st.dialog("Keys", on_dismiss=close)
def show_keys(rows: Sequence[Key]) -> None:
    draw_keys(rows)


def draw_keys(rows: Sequence[Key]) -> None:
    cells = "".join(
        f"<tr><td>{' or '.join(f'<kbd>{escape(k)}</kbd>' for k in row.printed)}</td>"
        f"<td><b>{escape(row.name)}</b> · {escape(row.does)}</td></tr>"
        for row in rows
    )
    st.html(f'<table class="as2-keys"><tbody>{cells}</tbody></table>')
    st.caption(f"{NOTE} {SWITCH_NOTE.format('on' if has_character_keys() else 'off')}")
