"""A shipped corpus that is still being read: at a first start the handbook is, some seconds after the page is drawn."""

import streamlit as st

from app.corpora.corpora import HANDBOOK, STARTER
from app.exchange.starter import ShippedState, find_state
from app.ui.job import WAIT_SECONDS
from app.ui.signin import fragment
from app.workbench.workbench import Workbench


def is_being_read(wb: Workbench, name: str) -> bool:
    return name in (STARTER, HANDBOOK) and find_state(wb, name) is ShippedState.PENDING


@fragment(run_every=WAIT_SECONDS)
def await_reading(wb: Workbench, name: str) -> None:
    """The whole page is drawn again once the corpus is read."""
    if not is_being_read(wb, name):
        st.rerun()  # the box of the corpora lists it, too
