"""The drop ratio, chosen with the slider of the picture: one share for all exits, or one an exit. Kept in the session
and in the address as `drop=30` or `drop=30-20-50-10` (per cent)."""

import streamlit as st

from app.ui import url
from as2core.cascade.schedule import DropSchedule

DEFAULT_PERCENT, MAX_PERCENT = 30, 70
_CHOICE = "_as2_drop"


def read_percents(exits: int) -> list[int]:
    """One share, or one for each exit but the last. Writes it to the address."""
    percents = parse_percents(url.follow("drop", _CHOICE, str), exits) or [DEFAULT_PERCENT]
    url.put(drop=None if percents == [DEFAULT_PERCENT] else _format(percents))
    return percents


def choose_percents(percents: list[int]) -> None:
    st.session_state[_CHOICE] = _format(percents)


def draw_reset(percents: list[int]) -> None:
    """The way back to the default from a share that another question may have been asked with. The container is there
    in any case, so that nothing below moves to another place."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="as2-drop-reset"):
        if percents != [DEFAULT_PERCENT]:
            st.caption("You chose this share; it holds for the next questions, too.", width="content")
            st.button(f"Back to {DEFAULT_PERCENT} %", key="as2_drop_reset", type="tertiary", on_click=choose_percents,
                      args=([DEFAULT_PERCENT],))  # fmt: skip


def make_schedule(percents: list[int], exits: int) -> DropSchedule:
    each = percents * (exits - 1) if len(percents) == 1 else percents
    return DropSchedule(tuple(p / 100 for p in each))


def parse_percents(text: str, exits: int) -> list[int] | None:
    """`30` or `30-20-50-10` as per cents that the slider can show; None if it is neither."""
    parts = text.split("-")
    if not all(p.isascii() and p.isdigit() for p in parts) or len(parts) not in (1, exits - 1):
        return None
    values = [int(p) for p in parts]
    return values if all(v <= MAX_PERCENT for v in values) else None


def _format(percents: list[int]) -> str:
    return "-".join(map(str, percents))
