"""What a cascade does, beside the examples that Ask shows before the first question."""

import streamlit as st

from app.ui.scripts import load_text


def draw_cascade_miniature() -> None:
    """The miniature, where 30 % leave at each exit, and what happens there in two sentences."""
    st.header("How a cascade finds an answer", anchor=False)
    html, css = load_text("landing/cascade.svg"), load_text("landing/cascade.css")
    st.components.v2.component("as2_miniature", html=html, css=css)(key="as2_miniature")
    st.markdown(
        "A cascade reads all candidate sentences with the first layers of its model, drops the least likely ones, and "
        "reads on with the others, layer by layer. So most of the work goes into the few sentences that may be the "
        "answer, and every step shows what was dropped."
    )
