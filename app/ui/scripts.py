"""The JavaScript of our Streamlit components, each in a file beside the module that uses it."""

from functools import cache
from pathlib import Path
from typing import Literal

import streamlit as st


@cache
def load_script(*names: str) -> str:
    """The files `app/ui/<name>.js` as one module, with `takeover.js` in front: its `newest` keeps the newest update in
    force."""
    return "\n".join(load_text(f"{name}.js") for name in ("takeover", *names))


@cache
def load_text(path: str) -> str:
    """A file of `app/ui`."""
    return (Path(__file__).parent / path).read_text(encoding="utf-8")


def scroll_to(selector: str, place: str, *, block: Literal["start", "center", "nearest"]) -> None:
    """Scroll to what the CSS selector finds, once for each `place`; at most one call a run. With `block`
    "start", whoever goes by Tab gets the focus there, too."""
    scroll = st.components.v2.component("as2_scroll", js=load_script("scroll"))
    scroll(key="as2_scroll", data={"selector": selector, "place": place, "block": block})
