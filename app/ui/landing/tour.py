"""The tour: three steps from a question to a better ranker. A browser remembers who dismissed it."""

from hashlib import blake2b

import streamlit as st

from app.corpora.corpora import HANDBOOK, STARTER
from app.exchange.starter import ShippedState, find_state
from app.ui import navigation, signin
from app.ui.ask import result
from app.ui.landing import shipped
from app.ui.page import use_corpus
from app.workbench.workbench import Workbench

COOKIE = "as2_tour"  # the names that dismissed it, each as a short hash
MAX_NAMES = 20
_DISMISSED = "_as2_tour"
STEPS = {
    "ask": "Type a question, or try an example. See the answer, and which sentences the cascade dropped on the way.",
    "label": "Say which sentences answer a question: one key, one label. Labels on four questions are enough to start.",
    "adapt": "Retrain the ranker on your labels, and see what changed before you use it.",
}
HANDBOOK_STEPS = {
    "ask": "Technicians of an invented company ask in words of their own, such as “whale belly torque”. No ranker "
    "knows these words, so most first answers are wrong. Synonyms correct many at once: fill them in, save, ask again.",
    "label": "Say which sentences answer a question: one key, one label. Or skip this step: Adapt has labels that were "
    "prepared for you.",
    "adapt": "Retrain on the labels, and see what changed for questions that were not among them. Some answers become "
    "correct, not all: “Ask one of them, before and after side by side” opens one that did.",
}


def draw(wb: Workbench, name: str, corpus: str) -> None:
    """`name`: who is at the page. `corpus`: the name of the one in use."""
    if is_dismissed(name):
        return
    steps = HANDBOOK_STEPS if corpus == HANDBOOK else STEPS
    with st.container(horizontal=True, vertical_alignment="center", key="as2_tour_head"):
        st.header("Three steps", anchor=False, width="stretch")
        if corpus == STARTER:
            _draw_handbook(wb)
        st.button("Dismiss the tour", key="as2_tour_dismiss", type="tertiary", icon=":material/close:",
                  on_click=_set_dismissed, args=(name, True))  # fmt: skip
    for number, (column, (page, text)) in enumerate(zip(st.columns(len(steps)), steps.items(), strict=True), 1):
        with column, st.container(border=True, height="stretch", key=f"as2_tour_step_{number}"):
            st.markdown(f"**{number}. {page.capitalize()}**")
            st.markdown(text)
            if page == "ask" and corpus == HANDBOOK:
                navigation.to("data", "Fill in synonyms", view="synonyms")
            if page != navigation.get_current():
                address = _find_address(wb, page, corpus)
                if address:
                    st.caption("Opens the handbook: the starter corpus is labelled already.")
                navigation.to(page, f"Go to {page.capitalize()}", **address)


def _find_address(wb: Workbench, page: str, corpus: str) -> dict[str, str]:
    """The starter corpus is labelled already, and a retrain learns from none of it: labels go to the handbook."""
    is_better = page == "label" and corpus == STARTER and find_state(wb, HANDBOOK) is ShippedState.READY
    return {"corpus": HANDBOOK} if is_better else {}


def _draw_handbook(wb: Workbench) -> None:
    """The way to the handbook. At a first start it is disabled for some seconds, until the handbook is read."""
    is_pending = shipped.is_being_read(wb, HANDBOOK)
    if is_pending or find_state(wb, HANDBOOK) is ShippedState.READY:
        st.button("Take the three steps on the handbook", key="as2_tour_handbook", icon=":material/menu_book:",
                  help="The handbook is being read, which takes some seconds." if is_pending else
                  "The shipped version knows the questions of the starter corpus, so a retrain brings little here. The "
                  "handbook of an invented company shows what labels bring.",
                  disabled=is_pending, on_click=use_corpus, args=(HANDBOOK,))  # fmt: skip
    if is_pending:
        shipped.await_reading(wb, HANDBOOK)


def draw_link(name: str, *, has_question: bool) -> None:
    """Where it was dismissed: the button that brings it back. Behind a question: the way back to it."""
    if is_dismissed(name):
        st.button("Show the tour", key="as2_tour_show", type="tertiary", icon=":material/tour:",
                  on_click=_show, args=(name,))  # fmt: skip
    elif has_question:
        st.button("Examples and the tour", key="as2_tour_back", type="tertiary", icon=":material/home:",
                  on_click=_clear_question)  # fmt: skip


def _show(name: str) -> None:
    _set_dismissed(name, False)
    _clear_question()


def _clear_question() -> None:
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
