"""The one error boundary: what a person can mend is shown as its text, everything else as an apology with an id.

The id stands at the start of the traceback's line in the log, so the two can be brought together.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec

import streamlit as st

from app.components.text import plain
from as2core.errors import As2Error

log = logging.getLogger(__name__)
P = ParamSpec("P")


def show(error: Exception) -> None:
    """Draw an error in place of what failed."""
    if isinstance(error, As2Error):
        st.error(plain(str(error)), icon=":material/error:")
        return
    line = secrets.token_hex(4)
    log.error("[%s] %s", line, error, exc_info=error)
    st.error(
        f"Something went wrong here, and not by your doing. Try again; if it stays, look for `{line}` in the log.",
        icon=":material/error:",
    )


@contextmanager
def boundary() -> Iterator[None]:
    """Keep whatever fails inside from reaching the reader as a traceback; `st.stop` and `st.rerun` pass through."""
    try:
        yield
    except Exception as error:  # the boundary is the one place that catches everything
        show(error)


def on_script_error(error: Exception) -> bool:
    """For `st.App`: what fails in a fragment's rerun is outside `boundary` and ends here."""
    show(error)
    return True


def guarded(callback: Callable[P, None]) -> Callable[P, None]:
    """A widget callback whose failure the frame shows at the top of the page."""

    @wraps(callback)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            callback(*args, **kwargs)
        except Exception as error:  # shown by show_pending, in the run that follows
            st.session_state["_as2_error"] = error

    return run


def show_pending() -> None:
    """Draw the error a guarded callback left, once; the place it takes is there in every run."""
    error = st.session_state.pop("_as2_error", None)
    with st.container():
        if error is not None:
            show(error)
