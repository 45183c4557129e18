"""The look beyond config.toml: one style sheet, and the colours that charts and markup share.

A switch between dark and light does not rerun the script, so these are mid-tones that hold on both grounds (about
4.2:1, enough for marks); the style sheet gives words in these colours a darker or lighter one, and derives every tint
from the text colour of the theme in force.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

BLUE = "#2a7bc8"  # returned; the accent's mid-tone
GREEN = "#118866"  # correct and returned
ORANGE = "#d2541c"  # correct and lost
GREY = "#7d818a"  # dropped, and everything quiet
VIOLET = "#9a5fd0"  # the chosen candidate

_HERE = Path(__file__).parent


def apply() -> None:
    """Put the style sheet and the logo in place; called once a run, by main."""
    st.html(_HERE / "theme.css")
    st.logo(_HERE / "logo.svg", size="large", icon_image=_HERE / "mark.svg")
