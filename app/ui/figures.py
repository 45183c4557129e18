"""A row of figures with their names, smaller than `st.metric` and never wider than the page."""

from collections.abc import Sequence

import streamlit as st

from app.ui.text import escape


def draw_figures(rows: Sequence[tuple[str, int, str]], *, name: str, even: bool = False) -> None:
    """`rows`: (name, number, tooltip). `name` is a test id; `even`: in three columns, for a narrow place."""
    cells = "".join(
        f'<span title="{escape(about)}"><small>{escape(label)}</small><b>{number:,}</b></span>'
        for label, number, about in rows
    )
    kind = "as2-figures as2-figures-even" if even else "as2-figures"
    st.html(f'<div class="{kind}" data-testid="{escape(name)}">{cells}</div>')
