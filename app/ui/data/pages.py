"""A long list in pages: which one is open, and the buttons between them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol, TypeVar

import streamlit as st

Search = tuple[object, ...]  # what the list is narrowed by


class HasTotal(Protocol):
    @property
    def total(self) -> int: ...


View = TypeVar("View", bound=HasTotal)


def load_page(name: str, search: Search, size: int, load: Callable[[int], View]) -> tuple[View, int, int]:
    """The open page of the list `name`, its number from 1, and how many there are. `load` takes the offset of the first
    entry. Another search starts at its first page; where entries are gone since, the last page that there is opens."""
    state, key = st.session_state, _name_key(name)
    if state.get(key, (None, 1))[0] != search:
        state[key] = (search, 1)
    number = state[key][1]
    view = load((number - 1) * size)
    pages = max(1, math.ceil(view.total / size))
    if number > pages:
        number, view = pages, load((pages - 1) * size)
    return view, number, pages


def draw_buttons(name: str, search: Search, number: int, pages: int) -> None:
    """Nothing for a single page."""
    if pages == 1:
        return
    with st.container(horizontal=True, vertical_alignment="center", width="content"):
        for which, icon, other in (("newer", "left", number - 1), ("older", "right", number + 1)):
            st.button(which.capitalize(), key=f"data_{name}_{which}", icon=f":material/chevron_{icon}:",
                      disabled=not 1 <= other <= pages, on_click=st.session_state.__setitem__,
                      args=(_name_key(name), (search, other)))  # fmt: skip
        st.caption(f"Page {number:,} of {pages:,}")


def _name_key(name: str) -> str:
    return f"_data_{name}_page"
