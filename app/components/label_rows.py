"""A question's list as the page shows it: a window of rows around the one in front, each with its three buttons."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from app.components.label_buttons import LOOK
from app.components.label_item import tag
from app.components.label_list import ListDesk
from app.components.text import count, escaped, titled
from app.services.label_views import ListRow
from app.services.views import LABELS


def draw(
    desk: ListDesk, *, scores_visible: bool, on_row: Callable[[str, str, int], None], closed: bool = False
) -> None:
    """`on_row(label, showing, place)` is called for a click, with the showing that the row was drawn for; `closed`:
    nothing may be clicked. Keys of the buttons are those of the place in the window: keys of the row would replay old
    clicks when a rerun interrupts the run."""
    item = desk.item
    done = sum(r.label is not None for r in item.rows)
    st.html(
        f"""<div class="as2-item" data-testid="as2-item">
        <p class="why"><span><b>Why this one:</b> {escaped(item.why)}</span></p>
        <h2 class="asked">{escaped(item.question)}</h2>
        <p class="source">{done} of {count(len(item.rows), "candidate")} labelled by you</p></div>"""
    )
    scores = scores_visible and item.arm != "blind"
    for slot, place in enumerate(desk.window):
        row = item.rows[place]
        with st.container(
            horizontal=True, vertical_alignment="center", gap="small", key=f"as2-row-{slot}", border=place == desk.row
        ):
            st.html(_row(row, place, here=place == desk.row, scores=scores), width="stretch")
            for label in LABELS:
                name, icon = LOOK[label]
                st.button(
                    f"{name}, row {place + 1}",
                    icon=icon,
                    key=f"label_row_{slot}_{label}",
                    help=name,
                    type="primary" if row.label == label else "tertiary",
                    disabled=closed or not row.free,
                    on_click=on_row,
                    args=(label, desk.showing, place),
                )
    first, last = desk.window.start + 1, desk.window.stop
    locked = sum(not r.free for r in item.rows)
    rest = f" {count(locked, 'more row')} is with others or has labels enough." if locked == 1 else ""
    if locked > 1:
        rest = f" {count(locked, 'row')} are with others or have labels enough."
    if not desk.rest:
        rest += " Nothing is left here for you: → brings the next question."
    st.caption(f"Rows {first} to {last} of {len(item.rows)}.{rest}")


def _row(row: ListRow, place: int, *, here: bool, scores: bool) -> str:
    said = tag(row.label) if row.label else ""
    parts = [f"row {place + 1}"]
    if scores and row.rank is not None:
        other = f", generative {row.generative_rank}" if row.generative_rank is not None else ""
        parts.append(f"rank by cascade {row.rank}{other}")
        if row.probability is not None:
            parts.append(f"probability {row.probability:.2f}")
    why = row.why if scores else row.why_unscored
    why = f"<small><b>Asked for:</b> {escaped(why)}</small>" if why else ""
    kind = " here" if here else "" if row.free else " locked"
    current = ' aria-current="true"' if here else ""
    return (
        f'<div class="as2-row{kind}" data-testid="as2-row"{current}>{said} {escaped(row.text)}'
        f"<small>{escaped(titled(row.title))} · {' · '.join(parts)}</small>{why}</div>"
    )
