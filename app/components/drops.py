"""The drop ratio: one slider for all exits, or one an exit. Kept in the session and in the address as `drop=30` or
`drop=30-20-50-10` (per cent)."""

from __future__ import annotations

import streamlit as st

from app.components import url
from as2core.cascade.schedule import DropSchedule

DEFAULT, MOST, STEP = 30, 70, 5
_FOLLOWED = "_as2_drop_followed"
SETTLING = 2.0  # seconds in which a slider that is dragged is ahead of the address


def schedule(exits: int) -> DropSchedule:
    """The schedule chosen at present; it may be asked for before `controls` are drawn."""
    _follow(exits)
    return DropSchedule(tuple(p / 100 for p in _percents(exits)))


def controls(layers: tuple[int, ...]) -> None:
    """Draw the slider and the per-exit ones, and write the choice to the address. `layers` are the exits'.

    Every run tells the widgets' values as defaults, for a later run may overtake the one that made a widget before the
    browser has drawn it. Only the run in which the browser's way back sets them tells none.
    """
    exits = len(layers)
    first = _first(exits)
    followed = st.session_state.pop(_FOLLOWED, False)
    common = st.session_state.get("as2_drop", first[0] if len(first) == 1 else DEFAULT)
    each = st.session_state.get("as2_drop_each", len(first) > 1)
    st.slider(
        "Share dropped at each exit",
        0,
        MOST,
        None if followed else common,
        STEP,
        format="%d %%",
        key="as2_drop",
        disabled=each,
        help="Replays the recorded run at once; the model isn't asked again. The last exit drops nothing.",
    )
    st.toggle("A share of its own for each exit", value=each and not followed, key="as2_drop_each")
    if each:
        for i in range(exits - 1):
            key = f"as2_drop_{i}"
            start = None if followed else st.session_state.get(key, first[i] if len(first) > 1 else common)
            st.slider(f"after layer {layers[i]}", 0, MOST, start, STEP, format="%d %%", key=key)
    percents = _percents(exits)
    told = "-".join(str(p) for p in (percents if each else percents[:1]))
    st.session_state["_as2_drop"] = told
    url.put(drop=None if told == str(DEFAULT) else told)


def _follow(exits: int) -> None:
    """Set the widgets, where they are there already, to an address that the browser went back or forward to."""
    state = st.session_state
    if "as2_drop" not in state or not url.moved("drop", settling=SETTLING):
        return
    percents = parse(url.get("drop"), exits) or [DEFAULT]
    state[_FOLLOWED] = True
    state["as2_drop_each"] = len(percents) > 1
    if len(percents) == 1:
        state["as2_drop"] = percents[0]
    else:
        state.update({f"as2_drop_{i}": p for i, p in enumerate(percents)})


def parse(text: str, exits: int) -> list[int] | None:
    """`30` or `30-20-50-10` as per cents on the sliders' grid; None if it is neither."""
    parts = text.split("-")
    if not all(p.isascii() and p.isdigit() for p in parts) or len(parts) not in (1, exits - 1):
        return None
    values = [int(p) for p in parts]
    return values if all(v <= MOST and v % STEP == 0 for v in values) else None


def _first(exits: int) -> list[int]:
    """What the widgets start from: the address, then what was chosen before another page was opened."""
    text = url.get("drop") or st.session_state.get("_as2_drop", "")
    return parse(text, exits) or [DEFAULT]


def _percents(exits: int) -> list[int]:
    state, first = st.session_state, _first(exits)
    common = state.get("as2_drop", first[0] if len(first) == 1 else DEFAULT)
    if not state.get("as2_drop_each", len(first) > 1):
        return [common] * (exits - 1)
    return [state.get(f"as2_drop_{i}", first[i] if len(first) > 1 else common) for i in range(exits - 1)]
