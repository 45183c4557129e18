"""The look beyond config.toml: the style sheets, and the colours that charts and markup share.

Switching between dark and light does not rerun the script, so these are mid-tones for both backgrounds (contrast about
4.2:1, enough for marks). The style sheet has darker or lighter variants for text, and derives every tint from the
theme's text colour.
"""

from pathlib import Path

import streamlit as st

BLUE = "#2a7bc8"  # returned; the accent's mid-tone
GREEN = "#118866"  # correct and returned
ORANGE = "#d2541c"  # correct and dropped
GREY = "#7d818a"  # dropped, and secondary marks
PADDING = {"left": 0, "top": 0, "right": 8, "bottom": 0}  # of a chart, in pixels: room for the last label of an axis

_HERE = Path(__file__).parent


def apply() -> None:
    """Add the style sheets and the logo; called once per run, by main."""
    for sheet in ("theme.css", "frame.css"):
        st.html(_HERE / sheet)
    st.logo(_HERE / "logo.svg", size="large")
