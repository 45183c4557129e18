"""Parts of a page that are drawn again by themselves, as `st.fragment` does, while the session counts.

Streamlit runs a fragment alone, without the page's frame and its log-in: an open page would go on for somebody whose
session has ended. Every fragment of a page is made here (the tests look for others).
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import streamlit as st

from app.ui import signin

P = ParamSpec("P")


def fragment(*, run_every: float | None = None) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """As `st.fragment`; where the session does not count any more, the whole page is drawn, with the log-in."""

    def decorate(draw: Callable[P, None]) -> Callable[P, None]:
        @wraps(draw)
        def check_and_draw(*args: P.args, **kwargs: P.kwargs) -> None:
            if not signin.is_current():
                st.rerun()
            draw(*args, **kwargs)

        return st.fragment(check_and_draw, run_every=run_every)

    return decorate
