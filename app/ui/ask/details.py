"""The panel beside the picture: one candidate, how far it came, and why."""

from collections.abc import Callable

import numpy as np
import streamlit as st

from app.ask.asking import AskView
from app.ui.ask.candidate import draw_candidate, draw_explanation, draw_standings
from app.ui.ask.notes.document_link import draw_document_link
from app.ui.ask.pair import choice
from app.ui.page import Frame
from as2core.cascade.trace import CascadeTrace


def draw_details(
    frame: Frame,
    view: AskView,
    run: CascadeTrace,
    position: int,
    first: int | None,
    generative: np.ndarray | None,
    *,
    is_pending: bool,
    draw_buttons: Callable[[int, str], None],
) -> None:
    """The candidate at `position`; `first` is the position of the one that the page answers."""
    is_first = position == first
    best_title = "Best candidate" if is_first else "The ranker’s best candidate"
    st.header(best_title if position == int(run.ranking()[0]) else "Candidate details", anchor=False)
    draw_candidate(frame.wb, view, run, position, generative, has_context=not is_first, is_pending=is_pending)
    if is_first:
        st.caption("Click a line of the picture or a row of the table to see another candidate here.")
    else:
        draw_buttons(position, "near")
        draw_document_link(frame, view.candidates[position].document_id, view.candidates[position].position)
    draw_standings(run, position)
    choice.draw_link(frame.wb, view)
    draw_explanation(frame.wb, view, position, is_pending=is_pending)
