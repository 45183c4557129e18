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
CURRENT = "_as2_page"
QUESTION = ("q", "model")  # query parameters that name a question on Ask, and who answers it
PLACES = {  # name -> query parameters that name a place on the page, which Back and Forward return to
    "ask": ("q", "against"),
    "label": ("mode", "queue", "job", "only"),
    "agreement": ("view",),
    "adapt": ("job", "version", "only"),
    "compare": ("job", "prepared"),
    "data": ("view",),
}


def get_current() -> str:
    """The name of the page that is drawn; `app.main` sets it."""
    return st.session_state.get(CURRENT, "")


def to(page: str, label: str, *, icon: str = "", **address: str) -> None:
    """`to("adapt", "Adapt the ranker")`; never pass foreign text as the label. `icon`: by default the page's.
    `address`: query parameters."""
    st.page_link(str(_FOLDER / f"{page}.py"), label=label, icon=icon or PAGES[page], query_params=address or None)
