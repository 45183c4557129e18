"""The one error boundary: errors that a user can solve are shown as their text, all others as a message with an id.

The id is at the start of the traceback's line in the log. That the database is away is shown once a run, with a button
that tries again; that an act was lost by it is shown in any case.
"""

import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec

import streamlit as st

from app.ui import signin
from app.ui.session.acts import finish
from app.ui.text import capitalize_message, plain
from app.workbench.people import NotAllowed
from app.workbench.workbench import DatabaseOutage, DatabaseTrouble
from as2core.errors import As2Error

log = logging.getLogger(__name__)
P = ParamSpec("P")
NOTHING_RECORDED = "Nothing was recorded."
MAYBE_RECORDED = "Your last action may have been recorded or not: check it when the database is back."
_OUTAGE_KEY = "_as2_outage"  # whether this run has shown that the database is away


def show(error: Exception, *, note: str = "") -> None:
    """`note`: what became of the act, in a sentence that follows the text of an error that a user can solve."""
    if isinstance(error, DatabaseOutage):
        if st.session_state.get(_OUTAGE_KEY) and not note:
            return
        st.session_state[_OUTAGE_KEY] = True
    message = capitalize_message(plain(str(error)))
    if note:
        message = f"{message.rstrip('.')}. {note}"
    if not isinstance(error, As2Error):
        error_id = secrets.token_hex(4)
        log.error("[%s] %s", error_id, error, exc_info=error)
        message = f"Something went wrong. Try again. If the error persists, look for `{error_id}` in the log."
    st.error(message, icon=":material/error:")


@contextmanager
def guard_page() -> Iterator[None]:
    """`catch_errors` around a whole page."""
    st.session_state.pop(_OUTAGE_KEY, None)
    try:
        yield
    except Exception as error:
        show(error)
        if isinstance(error, DatabaseOutage):
            st.button("Try again", key="as2_try_again", icon=":material/refresh:")


@contextmanager
def catch_errors() -> Iterator[None]:
    """Show errors instead of tracebacks; `st.stop` and `st.rerun` pass through."""
    try:
        yield
    except Exception as error:  # the one place that catches everything
        show(error)


def on_script_error(error: Exception) -> bool:
    """For `st.App`: errors in a fragment's rerun are outside `catch_errors`."""
    show(error)
    st.session_state.pop(_OUTAGE_KEY, None)
    return True


def guard(callback: Callable[P, object]) -> Callable[P, None]:
    """A widget callback that no other click cuts off, and whose error the frame shows at the top of the page. It does
    nothing in a session that does not count any more: Streamlit runs it before the page's frame."""

    @wraps(callback)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with finish():
            st.session_state.pop(_OUTAGE_KEY, None)  # a run begins; a fragment's does not pass guard_page
            try:
                if signin.may_act():
                    callback(*args, **kwargs)
            except Exception as error:  # shown by show_pending, in the run that follows
                st.session_state["_as2_error"] = error

    return run


def show_pending() -> None:
    """Draw the error of a guarded callback, once. Its container is there in every run, so that nothing below moves."""
    error = st.session_state.pop("_as2_error", None)
    with st.container():
        if error is not None:
            show(error, note=_tell_loss(error))


def _tell_loss(error: Exception) -> str:
    """What became of the act of a callback; "" where the text of its error says so itself."""
    if isinstance(error, DatabaseOutage) and error.is_uncertain:
        return MAYBE_RECORDED
    return NOTHING_RECORDED if isinstance(error, NotAllowed | DatabaseTrouble) else ""
