"""Links from one page to another, by its name in the navigation."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_PAGES = Path(__file__).resolve().parents[2] / "pages"
_ICONS = {
    "ask": ":material/forum:",
    "label": ":material/checklist:",
    "agreement": ":material/handshake:",
    "adapt": ":material/model_training:",
    "compare": ":material/stacked_line_chart:",
    "data": ":material/database:",
}


def to(page: str, label: str, **address: str) -> None:
    """`to("adapt", "Adapt the ranker")`; the label is ours, never foreign text. `address`: as the page reads it."""
    st.page_link(str(_PAGES / f"{page}.py"), label=label, icon=_ICONS[page], query_params=address or None)
