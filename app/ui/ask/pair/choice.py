"""Which two rankers stand side by side: in the address as `against` (the second; without it the page shows one answer)
and `base` (the first, if it is not the model that answers)."""

import streamlit as st

from app.ask import pair
from app.ask.asking import AskView
from app.compare.rankers import list_rankers
from app.ui import url
from app.ui.text import plain
from app.ui.wording import name_version_state
from app.versions import registry
from app.workbench.workbench import Workbench

BASE, AGAINST = "base", "against"
SETTLING_SECONDS = 0.5  # less than elsewhere: a look at the other answer may be over at once


def read(name: str) -> str:
    """Of a session that comes back to the page the choice is over; the address may still have it."""
    key = f"_as2_pair_{name}"
    if not url.is_written(name):
        st.session_state.pop(key, None)
    choice = url.follow(name, key, str, settling=SETTLING_SECONDS)
    url.put(**{name: choice})
    return choice


def choose(**names: str) -> None:
    """`choose(against="starter-3")`; "" is none."""
    st.session_state.update({f"_as2_pair_{name}": value for name, value in names.items()})
    url.put(**names)


def leave() -> None:
    choose(base="", against="")


def draw_link(wb: Workbench, view: AskView) -> None:
    """The way in, beside an answer. It stands in a fragment, and what it opens outside of it."""
    second = pair.suggest_second(wb, view.version)
    if st.button(
        f"Compare with {plain(second)}",
        icon=":material/compare_arrows:",
        key="as2_pair_open",
        type="tertiary",
        help="This question answered by two rankers or versions, side by side",
        on_click=choose,
        kwargs={AGAINST: second},
    ):
        st.rerun()


def list_options(wb: Workbench, view: AskView) -> dict[str, str]:
    """Name -> how it is listed: the versions, newest first, then the rankers of the catalog."""
    states = {v.name: v.state for v in registry.list_versions(wb, kind=None) if not v.problem}
    names = dict.fromkeys([view.version, *states, *list_rankers(wb)])
    return {n: f"{n} ({name_version_state(states[n])})" if n in states else n for n in names}


def draw_choice(name: str, label: str, options: dict[str, str], current: str) -> None:
    """Every run passes the choice as the default: a later run may overtake the one that made the widget. Only a choice
    that came by the address is set, because a default would not change what the browser shows."""
    key, names = f"as2_pair_{name}", list(options)
    index = names.index(current) if current in options else None
    if key in st.session_state and st.session_state[key] != current:
        st.session_state[key] = current if current in options else None
        index = 0

    def on_change() -> None:
        if (choice := st.session_state.get(key)) is not None:
            choose(**{name: choice})

    st.selectbox(
        label, names, index, key=key, format_func=options.__getitem__, on_change=on_change, placeholder="Choose one"
    )
