"""Navigation. Every page runs inside the error boundary and opens with `app.ui.page.open_page`."""

import sys
from pathlib import Path

import streamlit as st

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # the server puts only this script's own folder there
    sys.path.insert(0, str(ROOT))

from app.ui import navigation, url
from app.ui.errors import guard_page
from app.ui.theme import apply

# a file of our own: the browser would fetch a ":material/...:" icon from another host
st.set_page_config(page_title="AS2 Workbench", page_icon=str(ROOT / "app" / "ui" / "mark.svg"), layout="wide")
apply()
FIRST = "ask"
pages = [
    st.Page(
        ROOT / "pages" / f"{name}.py",
        title=name.capitalize(),
        icon=icon,
        url_path="start" if name == FIRST else name,  # never seen: the first page is at "/"
        default=name == FIRST,
    )
    for name, icon in navigation.PAGES.items()
]


def ask() -> None:
    """Who types the first page's name, like those of the others, comes to it."""
    st.switch_page(pages[0], query_params=st.query_params.to_dict())


page = st.navigation([*pages, st.Page(ask, title="Ask", url_path=FIRST, visibility="hidden")])
if page.title.lower() != navigation.get_current():
    st.session_state[navigation.CURRENT] = page.title.lower()
    url.forget()
with guard_page():
    page.run()
