"""What Ask shows before the first question, below the examples: what a cascade does, and the tour."""

import streamlit as st

from app.ui.landing import tour
from app.ui.page import Frame
from app.ui.scripts import load_text


def draw(frame: Frame) -> None:
    with st.container(key="as2_landing"):
        draw_cascade()
        tour.draw(frame.annotator.name)


def draw_cascade() -> None:
    """The miniature: 30 % leave at each exit, as by default."""
    st.header("How a cascade finds an answer", anchor=False)
    picture, words = st.columns([1.5, 1], gap="large", vertical_alignment="center")
    with picture:
        html, css = load_text("landing/cascade.svg"), load_text("landing/cascade.css")
        st.components.v2.component("as2_miniature", html=html, css=css)(key="as2_miniature")
    with words:
        st.markdown(
            "A cascade reads all candidate sentences with the first layers of its model, drops the least likely ones, "
            "and reads on with the others, layer by layer. So most of the work goes into the few sentences that may "
            "be the answer, and every step shows what was dropped."
        )
