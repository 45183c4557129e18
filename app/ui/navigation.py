"""The pages and links between them."""

from pathlib import Path

import streamlit as st

_FOLDER = Path(__file__).resolve().parents[2] / "pages"
PAGES = {  # name -> icon, in the order of the navigation
    "ask": ":material/forum:",
    "label": ":material/checklist:",
    "agreement": ":material/handshake:",
    "adapt": ":material/model_training:",
    "compare": ":material/stacked_line_chart:",
    "data": ":material/database:",
}


def to(page: str, label: str, **address: str) -> None:
    """`to("adapt", "Adapt the ranker")`; never pass foreign text as the label. `address`: query parameters."""
    st.page_link(str(_FOLDER / f"{page}.py"), label=label, icon=PAGES[page], query_params=address or None)
