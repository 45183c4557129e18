"""What became of the lines of a file, and why: a table whose texts wrap, so that no reason is cut off."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from app.ui.text import escape
from as2core.messages import count

MAX_REASONS = 200  # in a table
_CSS = Path(__file__).with_name("data.css")


def draw_reasons(head: Sequence[str], rows: Sequence[Sequence[object]], *, limit: int = MAX_REASONS) -> None:
    """`rows` hold foreign text; the first `limit` of them are shown."""
    st.html(_CSS)
    st.html(render_reasons(head, rows[:limit]))
    if len(rows) > limit:
        st.caption(f"Showing the first {limit:,} of {count(len(rows), 'line')}.")


def render_reasons(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    titles = "".join(f"<th scope=col>{escape(name)}</th>" for name in head)
    lines = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    table = f'<table class="as2-table"><thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table>'
    return (
        f'<div class="as2-reasons" tabindex="0" role="region" aria-label="{escape(" and ".join(head))}">{table}</div>'
    )
