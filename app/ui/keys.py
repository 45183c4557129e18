"""One window listener for a page's keys.

    data = {"map": {"a": "correct", "ctrl+z": "undo"}, "doc": token}
    listen_to_keys(key="label_listener", data=data, on_key_change=callback)

`map` goes from keys, named as the browser names them (lower case, "ctrl+" before one pressed with ctrl or cmd), to
actions; `doc` names what is shown. `page` and `field`, if given, name the page and, as a CSS selector, the field that
"/" goes to; with `focus` it has the focus when the page opens. A press arrives once as `st.session_state[key].key ==
{"act": ..., "doc": ...}`: one action per `doc`, nothing while a text field, a menu or a dialog has the focus, nothing
from a key held down. Space operates the button or switch that Tab led to; one that was clicked leaves it its action.
Enter in a field and a choice in a menu give the focus back, so that the keys work again at once. On a page without
actions of its own, whoever goes by Tab keeps the focus at a menu, and at a button that is drawn anew. A dialog that
opens with a text field gives that field the focus. A press that comes before the page has answered the last one is not
taken, and a word at the foot of the page says so; but where `list` names what the rows in front are of, it waits behind
one of the actions `ahead`. It is sent when that one is done, unless the list changed, or `breaks`, which counts the
acts that left the front where nobody expected it: then none of those that wait is taken. While the page asks whether to
go on (`cancels`), a click beside its buttons sends the action "cancel". A click on a button for one of the actions
`clicks` counts as a key does, once for what is shown; one on another row of a list waits as a key does. On any page the
second click of a double click does nothing where it finds something else in its place than the first; on Ask one on a
label does nothing until the answer is that to the question of the address. `say`, if given, is read out by a screen
reader whenever `doc` is another, and so are answers, results and reports on any page (voice.js). Whoever opens a
popover by a key is led into it (popover.js). A key that comes when Label shows an item and this is not there yet is
kept (start.js), and counts if the same item is still shown. A letter of a layout without Latin ones counts by its
place. The server still has to refuse an action whose `doc` is no longer shown.

Keys that write a character, space among them, can be turned off for all pages (WCAG 2.2, 2.1.4): software that types
what somebody says would set them off. The browser remembers it.
"""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from app.ui import signin
from app.ui.scripts import load_script

SCRIPTS = ("voice", "popover", "keys")
COOKIE, OFF, ON = "as2_keys", "off", "on"
_ARE_ON = "_as2_keys"  # of the session


def listen_to_keys(*, key: str, data: Mapping[str, Any], on_key_change: Callable[[], None]) -> None:
    """Listen while the page is shown; `data` and the callback as the module says."""
    listener = st.components.v2.component("as2_keys", js=load_script(*SCRIPTS))
    all_data = dict(data)
    if not has_character_keys():
        all_data |= {"map": {k: act for k, act in data["map"].items() if not is_character(k)}, "silent": True}
    listener(key=key, data=all_data, on_key_change=on_key_change)


def is_character(key: str) -> bool:
    """Whether the key, as the browser names it, writes something: a letter, a digit, a sign or a space."""
    return len(key) == 1


def has_character_keys() -> bool:
    """Whether keys that write a character do something on the pages."""
    return bool(st.session_state.setdefault(_ARE_ON, signin.read_cookie(COOKIE) != OFF))


def set_character_keys(is_on: bool) -> None:
    st.session_state[_ARE_ON] = is_on
    signin.remember(COOKIE, ON if is_on else OFF)
