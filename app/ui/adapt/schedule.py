"""Automatic retraining: off, after so many new labels, at night; and the note that a version is waiting."""

import streamlit as st

from app.adapt import schedule
from app.jobs import retrain_rule
from app.ui import url
from app.ui.errors import guard
from app.ui.page import Frame
from app.ui.text import count, plain
from app.versions.outcome import MAX_FORGOTTEN_POINTS
from as2core.evaluation import Outcome


def draw_waiting(frame: Frame) -> None:
    waiting = schedule.find_waiting_version(frame.wb)
    if waiting is None or waiting.change is None or url.get("version") == waiting.name or url.get("job"):
        return
    change = waiting.change
    questions = f" on {count(change.questions, 'question')}" if change.questions else ""
    decision = "for a decision" if frame.explain_refusal("decide") else "for your decision"
    result = "is better than" if change.outcome is Outcome.BETTER else "makes no clear difference from"
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="adapt_waiting"):
        st.markdown(
            f":material/notifications: **{plain(waiting.name)}** {result} the version in use{questions} "
            f"(AP {change.before:.3f} → {change.after:.3f}). It is waiting {decision}.",
            width="stretch",
        )
        st.button("Review", key="adapt_look", on_click=url.put, kwargs={"version": waiting.name, "job": None})


def draw_rule(frame: Frame) -> None:
    wb, corpus_id, is_closed = frame.wb, frame.corpus.id, frame.explain_refusal("change this") is not None
    rule = retrain_rule.load_rule(wb, corpus_id)
    with st.expander("Automatic retraining", icon=":material/schedule:", key="adapt_automatic"):
        st.toggle("Retrain after new labels", rule.after is not None, key=f"adapt_auto_on_{corpus_id}",
                  on_change=_set_rule, args=(frame,), disabled=is_closed)  # fmt: skip
        st.number_input("Number of new labels", 1, 100_000, rule.after or 100, key=f"adapt_auto_after_{corpus_id}",
                        on_change=_set_rule, args=(frame,), disabled=is_closed)  # fmt: skip
        st.toggle("Retrain at night if there are new labels", rule.at_night, key=f"adapt_auto_night_{corpus_id}",
                  on_change=_set_rule, args=(frame,), disabled=is_closed)  # fmt: skip
        st.caption(
            f"{count(retrain_rule.count_new_labels(wb, corpus_id), 'new label')} since the last retrain. An automatic "
            "version answers only once it is promoted. One that is worse on the held-out questions, or loses more than "
            f"{MAX_FORGOTTEN_POINTS:g} points of AP on a frozen benchmark, is rejected. "
            "At night a worker has to run (`as2 worker`)."
        )
        if rule.refused:
            st.warning(f"The last automatic retrain could not start: {plain(rule.refused)}", icon=":material/block:")


@guard
def _set_rule(frame: Frame) -> None:
    form, corpus_id = st.session_state, frame.corpus.id
    after = int(form[f"adapt_auto_after_{corpus_id}"]) if form[f"adapt_auto_on_{corpus_id}"] else None
    at_night = form[f"adapt_auto_night_{corpus_id}"]
    retrain_rule.set_rule(frame.wb, corpus_id, after=after, at_night=at_night, by=frame.annotator.id)
