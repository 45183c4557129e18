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
acts that left the front where nobody expected it: then none of those that wait is taken. While the page asks whether
to go on (`cancels`), a click beside its buttons sends the action "cancel". `say`, if given, is read out by a screen
reader whenever `doc` is another. A letter of a layout without Latin ones counts by its place. The server still has to
refuse an action whose `doc` is no longer shown.
"""

from collections.abc import Callable, Mapping

import streamlit as st

from app.ui.scripts import load_script


def listen_to_keys(*, key: str, data: Mapping[str, object], on_key_change: Callable[[], None]) -> None:
    """Listen while the page is shown; `data` and the callback as the module says."""
    listener = st.components.v2.component("as2_keys", js=load_script("keys"))
    listener(key=key, data=dict(data), on_key_change=on_key_change)
