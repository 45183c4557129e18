"""The tour: three steps from a question to a better ranker. A browser remembers who dismissed it."""

from hashlib import blake2b

import streamlit as st

from app.ui import navigation, signin
from app.ui.ask import result

COOKIE = "as2_tour"  # the names that dismissed it, each as a short hash
MAX_NAMES = 20
_DISMISSED = "_as2_tour"
STEPS = {
    "ask": "Type a question, or try an example. See the answer, and which sentences the cascade dropped on the way.",
    "label": "Say which sentences answer a question: one key, one label. Labels on four questions are enough to start.",
    "adapt": "Retrain the ranker on your labels, and see what changed before you use it.",
}


def draw(name: str) -> None:
    """`name`: who is at the page."""
    if is_dismissed(name):
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header("Three steps", anchor=False, width="stretch")
        st.button("Dismiss the tour", key="as2_tour_dismiss", type="tertiary", icon=":material/close:",
                  on_click=_set_dismissed, args=(name, True))  # fmt: skip
    for number, (column, (page, text)) in enumerate(zip(st.columns(len(STEPS)), STEPS.items(), strict=True), 1):
        with column, st.container(border=True, height="stretch"):
            st.markdown(f"**{number}. {page.capitalize()}**")
            st.markdown(text)
            if page != navigation.get_current():
                navigation.to(page, f"Go to {page.capitalize()}")


def draw_link(name: str) -> None:
    """Where it was dismissed: the button that brings it back."""
    if is_dismissed(name):
        st.button("Show the tour", key="as2_tour_show", type="tertiary", icon=":material/tour:",
                  on_click=_show, args=(name,))  # fmt: skip


def _show(name: str) -> None:
    _set_dismissed(name, False)
    result.submit("")
    result.renew_box()


def is_dismissed(name: str) -> bool:
    return _hash(name) in _read()


def _read() -> tuple[str, ...]:
    value = st.session_state.get(_DISMISSED)
    return tuple(st.context.cookies.get(COOKIE, "").split("-")) if value is None else value


def _set_dismissed(name: str, value: bool) -> None:
    others = [h for h in _read() if h and h != _hash(name)]
    st.session_state[_DISMISSED] = tuple([*others, _hash(name)] if value else others)[-MAX_NAMES:]
    signin.remember(COOKIE, "-".join(st.session_state[_DISMISSED]))


def _hash(name: str) -> str:
    return blake2b(name.encode(), digest_size=4).hexdigest()
