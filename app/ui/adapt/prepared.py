"""The handbook's prepared labels, for whoever wants to see a retrain before labelling."""

from typing import Literal

import streamlit as st

from app.exchange.prepared import accept_prepared, count_prepared
from app.ui.errors import guard
from app.ui.page import Frame, announce
from as2core.messages import count

CHOICES, RECOMMENDED = (20, 100), 100  # labels at a time, besides all that remain


def draw(frame: Frame) -> None:
    """Nothing for a corpus without prepared labels left to accept."""
    prepared = count_prepared(frame.wb, frame.corpus.id)
    if prepared is None or not prepared.remaining:
        return
    with st.container(border=True, key="adapt_prepared"):
        st.markdown("**Prepared labels**")
        st.caption(
            f"The handbook comes with the correct sentence for {prepared.total:,} of its staff's questions. Accept "
            "some to see what a retrain brings, or give labels of your own. Twenty show how it works, but may bring "
            "too little to tell from chance. A hundred bring more, and take about a minute longer. They count as "
            "labels of the annotator “starter”. Before and after are measured on questions about other documents."
        )
        remaining, why = prepared.remaining, frame.explain_refusal()
        rest = f"Accept all {remaining:,}" if remaining == prepared.total else f"Accept the remaining {remaining:,}"
        choices = {n: f"Accept {n} labels" for n in CHOICES if n < remaining} | {remaining: rest}
        with st.container(horizontal=True):
            for n, text in choices.items():
                kind: Literal["primary", "secondary"] = "primary" if n == RECOMMENDED else "secondary"
                st.button(text, key=f"adapt_accept_{n}__{remaining}", type=kind, icon=":material/done_all:",
                          disabled=bool(why), help=why, on_click=_accept, args=(frame, n, remaining))  # fmt: skip


@guard
def _accept(frame: Frame, questions: int, remaining: int) -> None:
    """Of as many as the page showed: the second click of two accepts no more."""
    now = count_prepared(frame.wb, frame.corpus.id)
    if now is None or now.remaining != remaining:
        return
    labels = accept_prepared(frame.wb, frame.corpus.id, questions, by=frame.annotator.id)
    note = " A sentence that somebody labelled otherwise keeps that label." if labels < questions else ""
    announce(f"{count(labels, 'prepared label')} accepted.{note} Retrain to see what they bring.")
