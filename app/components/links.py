"""The pages, and links from one to another by its name in the navigation."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_FOLDER = Path(__file__).resolve().parents[2] / "pages"
PAGES = {  # by name, as the navigation has them: the icon
    "ask": ":material/forum:",
    "label": ":material/checklist:",
    "agreement": ":material/handshake:",
    "adapt": ":material/model_training:",
    "compare": ":material/stacked_line_chart:",
    "data": ":material/database:",
}


def to(page: str, label: str, **address: str) -> None:
    """`to("adapt", "Adapt the ranker")`; the label is ours, never foreign text. `address`: as the page reads it."""
    st.page_link(str(_FOLDER / f"{page}.py"), label=label, icon=PAGES[page], query_params=address or None)
