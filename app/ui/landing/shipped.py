"""A shipped corpus that is not there yet, as the handbook at a first start, or that could not be read."""

import logging

import streamlit as st

from app.corpora.corpora import HANDBOOK, STARTER
from app.exchange import starter
from app.exchange.starter import ShippedState, find_state
from app.ui.job import WAIT_SECONDS
from app.ui.signin import fragment
from app.ui.text import plain
from app.workbench.workbench import Workbench
from as2core.errors import As2Error

READING_MESSAGE = "The corpus “{}” is being read. It opens in a moment."

log = logging.getLogger(__name__)


@st.cache_resource(show_spinner=False)
def get_failures() -> dict[str, str]:
    """By corpus, why this process could not read it: a next start tries again."""
    return {}


def read_handbook(wb: Workbench, failures: dict[str, str]) -> None:
    """In a thread of the app; a failure is kept in `failures` for the pages."""
    try:
        starter.ensure_handbook(wb)
    except (As2Error, OSError, ValueError) as e:
        failures[HANDBOOK] = str(e)
        log.warning("the handbook corpus could not be read: %s", e)


def is_being_read(wb: Workbench, name: str) -> bool:
    return name in (STARTER, HANDBOOK) and name not in get_failures() and find_state(wb, name) is ShippedState.PENDING


def explain_failure(wb: Workbench, name: str) -> str:
    """Why a shipped corpus cannot be used, and what to do, not escaped; "" where it can, or is none."""
    reason = get_failures().get(name)
    if reason is None or find_state(wb, name) is not ShippedState.PENDING:
        return ""
    return f"The corpus {name} could not be read: {reason.rstrip('.')}. To try again, load it on Data, under Corpora."


def draw_reading(wb: Workbench, name: str) -> bool:
    """Say that a shipped corpus is still being read, and open it once it is; False where it is not."""
    if not is_being_read(wb, name):
        return False
    st.info(READING_MESSAGE.format(plain(name)), icon=":material/hourglass_top:")
    await_reading(wb, name)
    return True


@fragment(run_every=WAIT_SECONDS)
def await_reading(wb: Workbench, name: str) -> None:
    """The whole page is drawn again once the corpus is read."""
    if not is_being_read(wb, name):
        st.rerun()  # the box of the corpora lists it, too
