"""State in the page's address, so that a link reproduces the page. Values are short strings; defaults stay out."""

from __future__ import annotations

import re
import time

import streamlit as st

_WRITTEN, _LEFT = "_as2_written", "_as2_left"


def get(name: str, default: str = "") -> str:
    return st.query_params.get(name, default)


def number(name: str, default: float, *, low: float, high: float) -> float:
    """A number from the address within its bounds; what is none, or lies outside, counts as absent."""
    try:
        value = float(st.query_params[name])
    except (KeyError, ValueError):
        return default
    return value if low <= value <= high else default


def job() -> int | None:
    """The number of the job in the address; None without one, or for what no job is called."""
    told = get("job")
    return int(told) if re.fullmatch("[0-9]{1,9}", told) else None


def put(**values: str | float | None) -> None:
    """Write these; None or "" removes. Only what differs is touched: each change is a message to the browser."""
    written, left = st.session_state.setdefault(_WRITTEN, {}), st.session_state.setdefault(_LEFT, {})
    for name, value in values.items():
        before = get(name)
        if value is None or value == "":
            if name in st.query_params:
                del st.query_params[name]
        elif st.query_params.get(name) != str(value):
            st.query_params[name] = str(value)
        written[name] = get(name)
        if before != written[name]:
            left[name, before] = time.monotonic()


def moved(name: str, *, settling: float = 0.0) -> bool:
    """Whether the address says something else than was last put there: the browser went back or forward, or the page
    was opened by a link. What it said less than `settling` seconds ago may be a browser that did not hear of it yet."""
    value = get(name)
    if value == st.session_state.get(_WRITTEN, {}).get(name, ""):
        return False
    return time.monotonic() - st.session_state.get(_LEFT, {}).get((name, value), float("-inf")) > settling


def another_page() -> None:
    """Forget what was put: an address that a page is opened with says nothing of what it left out."""
    st.session_state.pop(_WRITTEN, None)
    st.session_state.pop(_LEFT, None)
