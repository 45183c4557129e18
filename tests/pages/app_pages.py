"""Opens pages as a browser would, and reads what they show."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from streamlit.testing.v1 import AppTest

MAIN = Path(__file__).parents[2] / "app" / "main.py"


def open_page(name: str = "ask", query: Mapping[str, str] | None = None) -> AppTest:
    """A page of the app as a fresh session opens it."""
    at = AppTest.from_file(str(MAIN), default_timeout=120)
    if name != "ask":  # the first page is at the app's own address
        at.switch_page(f"../pages/{name}.py")
    for key, value in (query or {}).items():
        at.query_params[key] = value
    return at.run()


def markup(at: AppTest) -> str:
    """All `st.html` of the page."""
    return "\n".join(h.proto.body for h in at.get("html"))


def texts(at: AppTest) -> str:
    """All Markdown, captions and messages of the page, without the backslashes that keep foreign text from being
    Markdown."""
    parts = [*at.markdown, *at.caption, *at.info, *at.warning, *at.error, *at.success]
    return "\n".join(p.value for p in parts).replace("\\", "")


def find_popover(at: AppTest, label: str):
    """What the page says of it, whose content is drawn in any case."""
    return next(x.proto.popover for x in at.get("popover") if x.proto.popover.label == label)


def find_place(at: AppTest, mark: str) -> int:
    """Which of the page's elements, from the top, is the first one with this text or key."""
    return next(i for i, x in enumerate(at.main) if mark in f"{getattr(x, 'key', '')} {getattr(x, 'proto', '')}")


def button(at: AppTest, label: str):
    """The button of that label, for those without a key."""
    return next(b for b in at.button if b.label == label)
