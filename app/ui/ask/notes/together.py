"""What both rankers together would answer. The expander is there before the scores are: what follows does not move."""

from collections.abc import Callable

import numpy as np
import streamlit as st

from app.ask.asking import AskView
from app.ask.together import rank_together
from app.ui.ask.answer import render_context
from app.ui.text import plain, shorten
from as2core.cascade.trace import CascadeTrace

MAX_TEXT_CHARS = 90


def draw_together(
    view: AskView,
    run: CascadeTrace,
    generative: np.ndarray | None,
    *,
    is_pending: bool,
    draw_buttons: Callable[[int, str], None],
) -> None:
    """`generative` as `asking.score_generative` returns it; None while they are computed (`is_pending`), or if that
    failed. `draw_buttons` draws the label buttons of the candidate at a position, for a place on the page."""
    together = [] if generative is None else rank_together(run, generative).tolist()
    if not together:
        with st.expander(f"Best by both rankers together: {'…' if is_pending else 'not computed'}"):
            st.caption("The generative scores are being computed." if is_pending else "There are no generative scores.")
    elif together[0] == int(run.ranking()[0]):
        with st.expander("Best by both rankers together: the same sentence"):
            st.caption("The cascade and the generative ranker together choose the answer above, too.")
    else:
        other = view.candidates[together[0]]
        with st.expander(f"Best by both rankers together: “{plain(shorten(other.text, MAX_TEXT_CHARS))}”"):
            st.html(render_context(other, quiet=True))
            draw_buttons(together[0], "together")
