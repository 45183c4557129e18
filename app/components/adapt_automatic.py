"""Retraining by itself: off, after so many new labels, at night; and the note that a better version waits."""

from __future__ import annotations

import streamlit as st

from app.components import url
from app.components.adapt_words import verdict
from app.components.errors import guarded
from app.components.roles import barred
from app.components.text import count, plain
from app.services import Workbench, automatic, versions
from app.services.views import AnnotatorView


def draw_waiting(wb: Workbench) -> None:
    waiting = automatic.waiting(wb)
    if waiting is None or url.get("version") == waiting.name or url.get("job"):
        return
    paired = versions.card(wb, waiting.name).get("paired")
    how = "did better" if paired and verdict(paired) == "better" else "scored higher, but not clearly so,"
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="adapt_waiting"):
        st.markdown(
            f":material/notifications: **{plain(waiting.name)}** {how} than the version in use on held-out "
            f"questions (AP {waiting.metrics['before AP']:.3f} → {waiting.metrics['AP']:.3f}) and waits.",
            width="stretch",
        )
        st.button("Look at it", key="adapt_look", on_click=_look, args=(waiting.name,))


def _look(name: str) -> None:
    url.put(version=name, job=None)


def draw_rule(wb: Workbench, corpus_id: int, me: AnnotatorView) -> None:
    rule, closed = automatic.automatic(wb, corpus_id), barred(me, "change this") is not None
    told = {"on_change": _set, "args": (wb, corpus_id, me.id), "disabled": closed}
    with st.expander("By itself", icon=":material/schedule:", key="adapt_automatic"):
        st.toggle("Retrain after new labels", rule.after is not None, key=f"adapt_auto_on_{corpus_id}", **told)
        st.number_input("So many", 1, 100_000, rule.after or 100, key=f"adapt_auto_after_{corpus_id}", **told)
        st.toggle("Retrain at night, if there are any", rule.at_night, key=f"adapt_auto_night_{corpus_id}", **told)
        st.caption(
            f"{count(automatic.new_labels(wb, corpus_id), 'new label')} since the last retrain. What is made by itself "
            "waits to be promoted; for the nights a worker has to run."
        )
        if rule.refused:
            st.warning(f"The last one that was due could not start: {plain(rule.refused)}", icon=":material/block:")


@guarded
def _set(wb: Workbench, corpus_id: int, by: int) -> None:
    form = st.session_state
    after = int(form[f"adapt_auto_after_{corpus_id}"]) if form[f"adapt_auto_on_{corpus_id}"] else None
    automatic.set_automatic(wb, corpus_id, after=after, at_night=form[f"adapt_auto_night_{corpus_id}"], by=by)
