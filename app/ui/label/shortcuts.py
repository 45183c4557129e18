"""The keys of the label page: one table that the buttons, the listener and the help overlay read."""

from collections.abc import Collection
from dataclasses import dataclass

import streamlit as st

from app.ui.keys import has_character_keys, is_character
from app.ui.page_keys import Key, draw_keys
from as2core.types import CORRECT, INCORRECT, UNSURE

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
    Action(CORRECT, ("a",), "a", "Correct", "The sentence answers the question"),
    Action(INCORRECT, ("x",), "x", "Incorrect", "The sentence does not answer it"),
    Action(UNSURE, (" ",), "space", "Unsure", "You cannot tell; training leaves the pair out"),
    Action(
        "rest",
        ("i",),
        "i",
        "The rest are incorrect",
        "Labels all candidates that have no label yet, ranked or not; asks first where you have not seen all",
        LIST,
    ),
    Action("up", ("arrowup",), "↑", "Up", "Go to the candidate above", LIST),
    Action("down", ("arrowdown",), "↓", "Down", "Go to the candidate below", LIST),
    Action(
        "find", ("n",), "n", "Next match", "Go to the next candidate that has the words in “Find in this list”", LIST
    ),
    Action(
        "undo",
        ("backspace", "ctrl+z"),
        "⌫",
        "Undo",
        "Take back your last action and show its sentence again; repeat for earlier ones. Labels also after a reload",
    ),
    Action(
        "back",
        ("arrowleft",),
        "←",
        "Back",
        "Go to the item shown before; a reload, another queue and another mode begin anew",
    ),
    Action("forward", ("arrowright",), "→", "Next", "Go to the next item; what has no label stays without one"),
    Action(
        "skip",
        ("s",),
        "s",
        "Skip this question",
        "Pass over all its sentences for this session; Undo brings it back",
        ONE,
    ),
    Action(
        "remove",
        ("q",),
        "q",
        "Remove from the queue",
        "Take the question out of all queues, for everyone; its labels stay. Undo, or Data, Questions, brings it back",
    ),
    Action("flag", ("f",), "f", "Flag", "Ask others to check the item, with a note"),
    Action("help", ("h", "?"), "h", "Help", "Show the keys"),
)
MORE_PRINTED = {"undo": ("ctrl+z",), "help": ("?",)}  # keys that only the overlay shows
LIST_KEYS = {"s": "forward"}  # a list is all of its question: to skip it is to go on
BY_NAME = {a.name: a for a in ACTIONS}


def map_keys(mode: str, without: Collection[str] = ()) -> dict[str, str]:
    """`without`: names of actions whose keys are off."""
    names = {key: a.name for a in list_actions(mode) for key in a.keys} | (LIST_KEYS if mode == LIST else {})
    return {key: name for key, name in names.items() if name not in without}


def list_actions(mode: str) -> tuple[Action, ...]:
    return tuple(a for a in ACTIONS if a.mode in ("", mode))


def has_key(action: Action) -> bool:
    """Whether one of its keys is on."""
    return has_character_keys() or not all(map(is_character, action.keys))


def open_overlay(name: str) -> None:
    """Show "help" or "flag" until it is dismissed: a rerun meanwhile, of which there are many, must not close it."""
    st.session_state[_OVERLAY] = name


def get_overlay() -> str:
    return st.session_state.get(_OVERLAY, "")


def close_overlay() -> None:
    st.session_state.pop(_OVERLAY, None)


@st.dialog("Keys", on_dismiss=close_overlay)
def draw_help_dialog(mode: str) -> None:
    """The overlay; while it is open the keys are off, Escape closes it."""
    draw_keys(list_keys(mode))


def list_keys(mode: str) -> list[Key]:
    """Those that are on."""
    more = dict(MORE_PRINTED)
    if mode == LIST and has_character_keys():
        more |= {name: (key,) for key, name in LIST_KEYS.items()}
    actions = [a for a in list_actions(mode) if has_key(a)]
    return [Key((a.printed, *more.get(a.name, ())), a.button, a.does) for a in actions]
