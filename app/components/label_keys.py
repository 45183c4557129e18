"""The keys of the label page: one table that the buttons, the listener and the help overlay read."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import streamlit as st

from app.components.text import escaped

ONE, LIST = "one", "list"
_OVERLAY = "_label_overlay"


@dataclass(frozen=True, slots=True)
class Action:
    """`keys` as the browser names them, `printed` as the button shows it; `mode` ONE or LIST if it is of that mode
    only."""

    name: str
    keys: tuple[str, ...]
    printed: str
    button: str
    does: str
    mode: str = ""


ACTIONS = (
    Action("correct", ("a",), "a", "Correct", "The sentence answers the question"),
    Action("incorrect", ("x",), "x", "Incorrect", "It doesn't"),
    Action("unsure", (" ",), "space", "Unsure", "You can't tell; training leaves it out"),
    Action("rest", ("i",), "i", "The rest are incorrect", "Every row you have not labelled, in one act", LIST),
    Action("up", ("arrowup",), "↑", "Up", "The row above", LIST),
    Action("down", ("arrowdown",), "↓", "Down", "The row below", LIST),
    Action(
        "undo",
        ("backspace", "ctrl+z"),
        "⌫",
        "Undo",
        "Take back your last act and see its sentence again; as often as you like, after a reload too",
    ),
    Action("back", ("arrowleft",), "←", "Back", "The one before"),
    Action("forward", ("arrowright",), "→", "Skip", "The next one, leaving this unlabelled"),
    Action("flag", ("f",), "f", "Flag", "Ask others to look at it, with a note"),
    Action("help", ("h",), "h", "Help", "This overview"),
)
BY_NAME = {a.name: a for a in ACTIONS}


def keymap(mode: str, without: Collection[str] = ()) -> dict[str, str]:
    """`without`: names of actions whose keys sleep."""
    return {key: a.name for a in of_mode(mode) if a.name not in without for key in a.keys}


def of_mode(mode: str) -> tuple[Action, ...]:
    return tuple(a for a in ACTIONS if a.mode in ("", mode))


def open_overlay(name: str) -> None:
    """Show "help" or "flag" until it is dismissed: a rerun meanwhile, of which there are many, must not close it."""
    st.session_state[_OVERLAY] = name


def overlay() -> str:
    return st.session_state.get(_OVERLAY, "")


def close_overlay() -> None:
    st.session_state.pop(_OVERLAY, None)


@st.dialog("Keys", on_dismiss=close_overlay)
def help_overlay(mode: str) -> None:
    """The overlay; while it is open the keys sleep, Escape closes it."""
    rows = "".join(
        f"<tr><td>{_caps(a)}</td><td><b>{escaped(a.button)}</b> · {escaped(a.does)}</td></tr>" for a in of_mode(mode)
    )
    st.html(f'<table class="as2-keys">{rows}</table>')
    st.caption("Keys sleep while you type in a field and while this is open. A held key counts once.")


def _caps(action: Action) -> str:
    extra = " or <kbd>ctrl</kbd>+<kbd>z</kbd>" if action.name == "undo" else ""
    return f"<kbd>{escaped(action.printed)}</kbd>{extra}"
