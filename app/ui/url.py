"""State in the page's address, so that a link reproduces the page. Values are short; defaults are left out."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar
from urllib.parse import parse_qsl

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from app.ui.text import plain, shorten

MAX_BUTTONS = 5  # a choice of more is a menu, where a label says what it chooses
MAX_NAME_CHARS = 60  # of a value that is told back
SETTLING_SECONDS = 2.0  # after a choice, the browser may not have its address yet
_VALUES, _REPLACEMENTS = "_as2_written", "_as2_replaced"
T = TypeVar("T")


def get(name: str, default: str = "") -> str:
    return st.query_params.get(name, default)


def get_present(*names: str) -> dict[str, str]:
    """Those of these that the address has."""
    return {name: get(name) for name in names if get(name)}


def get_numbers(name: str) -> tuple[int, ...]:
    """The numbers of a list such as `only=3.5.8`; none where it is missing, or is no such list."""
    parts = get(name).split(".")
    return tuple(int(p) for p in parts) if all(p.isascii() and p.isdigit() and len(p) < 10 for p in parts) else ()


def format_numbers(numbers: Iterable[int]) -> str:
    """As `get_numbers` reads them."""
    return ".".join(map(str, numbers))


def put(**values: str | float | None) -> None:
    """Write these; None or "" removes one. Only changes are written, because each is a message to the browser."""
    last_values, times = st.session_state.setdefault(_VALUES, {}), st.session_state.setdefault(_REPLACEMENTS, {})
    for name, value in values.items():
        before = get(name)
        if value is None or value == "":
            if name in st.query_params:
                del st.query_params[name]
        elif st.query_params.get(name) != str(value):
            st.query_params[name] = str(value)
        last_values[name] = get(name)
        if _read_browsers(name) != last_values[name]:
            st.query_params.from_dict(st.query_params.to_dict())
        if before != last_values[name]:
            times[name, before] = time.monotonic()


def _read_browsers(name: str) -> str:
    """The value that the browser has, as far as this run knows. A run that this one overtook may have written another,
    which is in the session; what it sent is lost."""
    context = get_script_run_ctx()
    return get(name) if context is None else dict(parse_qsl(context.query_string)).get(name, "")


def set_place(**values: str) -> None:
    """Write these as if the browser had gone there, so that choices on the page follow them."""
    st.query_params.update(values)


def follow(
    name: str,
    key: str,
    parse: Callable[[str], T],
    *,
    settling: float = SETTLING_SECONDS,
    on_move: Callable[[], None] = lambda: None,
) -> T:
    """The session's choice, kept as `key`; the address's at first, and when the browser went back or forward to another
    one, as `has_moved` tells. `parse` makes the choice of the address's text. `on_move` is called after the address
    has replaced a choice."""
    state = st.session_state
    is_first = key not in state
    if is_first or has_moved(name, settling=settling):
        state[key] = parse(get(name))
        if not is_first:
            on_move()
    choice: T = state[key]
    return choice


def choose(page: str, name: str, label: str, options: Mapping[str, str], *, has_label: bool = True) -> str:
    """Draw a choice that the address keeps as `name`; Back and Forward change it. `options`: value -> title; the first
    is the default. Every run passes the choice as the default, because a later run may overtake the one that made the
    widget. A value of a link that is none of them is told once."""
    key, values, state = f"{page}_{name}", list(options), st.session_state
    is_followed = key in state and has_moved(name, settling=SETTLING_SECONDS)
    start = get(name) if is_followed else state.get(key, get(name))
    start = start if start in options else values[0]
    if get(name) not in ("", *options) and has_moved(name, settling=SETTLING_SECONDS):
        st.toast(
            f"There is no {label.lower()} “{plain(shorten(get(name), MAX_NAME_CHARS))}”.", icon=":material/link_off:"
        )
    if is_followed:  # a default would not change what the browser shows
        state[key] = start
    if has_label and len(options) > MAX_BUTTONS:
        index = 0 if is_followed else values.index(start)
        choice = st.selectbox(label, values, index, key=key, format_func=options.__getitem__)
    else:
        pick = st.segmented_control(
            label,
            values,
            default=None if is_followed else start,
            key=key,
            required=True,
            format_func=options.__getitem__,
            label_visibility="visible" if has_label else "collapsed",
        )
        choice = pick or start  # never None: one is required
    put(**{name: None if choice == values[0] else choice})
    return choice


def has_moved(name: str, *, settling: float = 0.0) -> bool:
    """Whether the address has another value than was last written: the browser went back or forward, or the page was
    opened by a link. A value replaced less than `settling` seconds ago does not count: the browser may be late."""
    value = get(name)
    if value == st.session_state.get(_VALUES, {}).get(name, ""):
        return False
    return time.monotonic() - st.session_state.get(_REPLACEMENTS, {}).get((name, value), float("-inf")) > settling


def get_overdue(name: str) -> str | None:
    """The value last written that the browser did not have yet when it asked for this run, so that the choices it sent
    are the earlier ones; None where the address is up to date, or somebody moved to another one."""
    last: str = st.session_state.get(_VALUES, {}).get(name, "")
    is_late = is_written(name) and get(name) != last and not has_moved(name, settling=SETTLING_SECONDS)
    return last if is_late else None


def read_question() -> dict[str, str]:
    """What the address says of a question on Ask, "" for what it does not."""
    return {name: get(name) for name in ("corpus", "q", "model")}


def is_late(address: Mapping[str, str]) -> bool:
    """Whether the browser did not have this address yet when it asked for this run, so that whoever clicked did not see
    what was drawn with it."""
    return any(get_overdue(name) == value for name, value in address.items())


def is_written(name: str) -> bool:
    """Whether it was written since the page was opened; before that, the address says what the page is to show."""
    return name in st.session_state.get(_VALUES, {})


def forget() -> None:
    """Forget what was written: the address that a page is opened with replaces all of it."""
    st.session_state.pop(_VALUES, None)
    st.session_state.pop(_REPLACEMENTS, None)
