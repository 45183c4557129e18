"""State in the page's address, so that a link reproduces the page. Values are short; defaults are left out."""

from __future__ import annotations

import re
import time

import streamlit as st

_WRITTEN, _REPLACED = "_as2_written", "_as2_replaced"


def get(name: str, default: str = "") -> str:
    return st.query_params.get(name, default)


def number(name: str, default: float, *, low: float, high: float) -> float:
    """A number from the address; the default if it is missing, no number, or out of bounds."""
    try:
        value = float(st.query_params[name])
    except (KeyError, ValueError):
        return default
    return value if low <= value <= high else default


def job() -> int | None:
    """The id of the job in the address; None without a valid one."""
    text = get("job")
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else None


def put(**values: str | float | None) -> None:
    """Write these; None or "" removes one. Only changes are written, because each is a message to the browser."""
    written, replaced = st.session_state.setdefault(_WRITTEN, {}), st.session_state.setdefault(_REPLACED, {})
    for name, value in values.items():
        before = get(name)
        if value is None or value == "":
            if name in st.query_params:
                del st.query_params[name]
        elif st.query_params.get(name) != str(value):
            st.query_params[name] = str(value)
        written[name] = get(name)
        if before != written[name]:
            replaced[name, before] = time.monotonic()


def moved(name: str, *, settling: float = 0.0) -> bool:
    """Whether the address has another value than was last written: the browser went back or forward, or the page was
    opened by a link. A value replaced less than `settling` seconds ago does not count: the browser may be late."""
    value = get(name)
    if value == st.session_state.get(_WRITTEN, {}).get(name, ""):
        return False
    return time.monotonic() - st.session_state.get(_REPLACED, {}).get((name, value), float("-inf")) > settling


def forget() -> None:
    """Forget what was written: the address that a page is opened with replaces all of it."""
    st.session_state.pop(_WRITTEN, None)
    st.session_state.pop(_REPLACED, None)
