"""The keys of the label page: one table that the buttons, the listener and the help overlay read."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from app.components.text import escaped


@dataclass(frozen=True, slots=True)
class Action:
    """`keys` as the browser names them, `printed` as the button shows it."""

    name: str
    keys: tuple[str, ...]
    printed: str
    button: str
    does: str


ACTIONS = (
    Action("correct", ("a",), "a", "Correct", "The sentence answers the question"),
    Action("incorrect", ("x",), "x", "Incorrect", "It doesn't"),
    Action("unsure", (" ",), "space", "Unsure", "You can't tell; training leaves it out"),
    Action(
        "undo",
        ("backspace", "ctrl+z"),
        "⌫",
        "Undo",
        "Take back your last act and see its sentence again",
    ),
    Action("back", ("arrowleft",), "←", "Back", "The sentence before this one"),
    Action("forward", ("arrowright",), "→", "Skip", "The next one, leaving this unlabelled"),
    Action("help", ("h",), "h", "Help", "This overview"),
)
BY_NAME = {a.name: a for a in ACTIONS}
KEYMAP = {key: a.name for a in ACTIONS for key in a.keys}

GUIDELINES = (
    "Correct: read with its neighbours, the sentence answers the question. It need not be the best answer.",
    "Incorrect: it speaks of the matter without answering, or answers only together with another sentence.",
    "Judge what stands there, not what you know: a sentence with a wrong fact still answers.",
    "Unsure is a fair answer, and better than a guess.",
)


@st.dialog("Keys and guidelines")
def help_overlay() -> None:
    """The overlay; while it is open the keys sleep, Escape closes it."""
    rows = "".join(
        f"<tr><td>{_caps(a)}</td><td><b>{escaped(a.button)}</b> · {escaped(a.does)}</td></tr>" for a in ACTIONS
    )
    rules = "".join(f"<li>{escaped(g)}</li>" for g in GUIDELINES)
    st.html(f'<table class="as2-keys">{rows}</table><ul>{rules}</ul>')
    st.caption("Keys sleep while you type in a field and while this is open. A held key counts once.")


def _caps(action: Action) -> str:
    extra = " or <kbd>ctrl</kbd>+<kbd>z</kbd>" if action.name == "undo" else ""
    return f"<kbd>{escaped(action.printed)}</kbd>{extra}"
