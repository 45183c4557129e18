"""The drop ratio: one slider for all exits, or one an exit. Kept in the session and in the address as `drop=30` or
`drop=30-20-50-10` (per cent)."""

import streamlit as st

from app.ui import url
from as2core.cascade.schedule import DropSchedule

DEFAULT_PERCENT, MAX_PERCENT, STEP_PERCENT = 30, 70, 5
_FOLLOWED = "_as2_drop_followed"
SETTLING_SECONDS = 2.0  # while a slider is dragged, it is ahead of the address


def read_schedule(exits: int) -> DropSchedule:
    """The chosen schedule; also before `draw_controls` was called."""
    _follow(exits)
    common, each, percents = _read_choice(exits)
    return DropSchedule(tuple(p / 100 for p in (percents if each else [common] * (exits - 1))))


def draw_controls(layers: tuple[int, ...]) -> None:
    """Draw the slider, or one for each exit, and write the choice to the address. `layers` are the exits'.

    Every run passes the widgets' values as defaults, because a later run may overtake the one that made a widget before
    the browser has drawn it. Only a run in which the browser's back button sets them passes none.
    """
    exits = len(layers)
    is_followed = st.session_state.pop(_FOLLOWED, False)
    common, each, percents = _read_choice(exits)
    st.slider(
        "Share dropped at each exit",
        0,
        MAX_PERCENT,
        None if is_followed else common,
        STEP_PERCENT,
        format="%d %%",
        key="as2_drop",
        disabled=each,
        help="Replays the recorded run at once, without running the model. The last exit drops nothing.",
    )
    st.toggle("Set the share for each exit", value=each and not is_followed, key="as2_drop_each")
    if each:
        for i in range(exits - 1):
            start = None if is_followed else percents[i]
            st.slider(
                f"after layer {layers[i]}", 0, MAX_PERCENT, start, STEP_PERCENT, format="%d %%", key=f"as2_drop_{i}"
            )
    common, _, percents = _read_choice(exits)
    text = "-".join(map(str, percents if each else [common]))
    st.session_state["_as2_drop"] = text
    url.put(drop=None if text == str(DEFAULT_PERCENT) else text)


def _follow(exits: int) -> None:
    """Set existing widgets to the address, if the browser went back or forward to it."""
    state = st.session_state
    if "as2_drop" not in state or not url.has_moved("drop", settling=SETTLING_SECONDS):
        return
    percents = parse_percents(url.get("drop"), exits) or [DEFAULT_PERCENT]
    state[_FOLLOWED] = True
    state["as2_drop_each"] = len(percents) > 1
    if len(percents) == 1:
        state["as2_drop"] = percents[0]
    else:
        state.update({f"as2_drop_{i}": p for i, p in enumerate(percents)})


def parse_percents(text: str, exits: int) -> list[int] | None:
    """`30` or `30-20-50-10` as per cents that the sliders can show; None if it is neither."""
    parts = text.split("-")
    if not all(p.isascii() and p.isdigit() for p in parts) or len(parts) not in (1, exits - 1):
        return None
    values = [int(p) for p in parts]
    return values if all(v <= MAX_PERCENT and v % STEP_PERCENT == 0 for v in values) else None


def _read_choice(exits: int) -> tuple[int, bool, list[int]]:
    """The common per cent, whether each exit has its own, and those. The widgets start from the address, else from the
    choice before another page was opened."""
    state = st.session_state
    start = parse_percents(url.get("drop") or state.get("_as2_drop", ""), exits) or [DEFAULT_PERCENT]
    common = state.get("as2_drop", start[0] if len(start) == 1 else DEFAULT_PERCENT)
    percents = [state.get(f"as2_drop_{i}", start[i] if len(start) > 1 else common) for i in range(exits - 1)]
    return common, state.get("as2_drop_each", len(start) > 1), percents
