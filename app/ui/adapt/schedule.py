"""Automatic retraining: off, after so many new labels, at night; and the note that a version is waiting."""

from collections.abc import Sequence

import streamlit as st

from app.adapt import schedule
from app.jobs import retrain_rule
from app.ui import url
from app.ui.errors import guard
from app.ui.page import Frame
from app.ui.text import plain
from app.versions.outcome import MAX_FORGOTTEN_POINTS
from app.versions.registry import VersionView
from as2core.evaluation.rankers import Outcome
from as2core.messages import count


def draw_waiting(frame: Frame, versions: Sequence[VersionView]) -> None:
    """The version, of all `versions`, that waits to be promoted or rejected; nothing if none does."""
    waiting = schedule.find_waiting_version(versions)
    if waiting is None or waiting.change is None or url.get("version") == waiting.name or url.get("job"):
        return
    change = waiting.change
    questions = f" on {count(change.questions, 'question')}" if change.questions else ""
    decision = "for a decision" if frame.explain_refusal("decide") else "for your decision"
    result = "is better than" if change.outcome is Outcome.BETTER else "makes no clear difference to"
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="adapt_waiting"):
        st.markdown(
            f":material/notifications: **{plain(waiting.name)}** {result} the version in use{questions} "
            f"(AP {change.before:.3f} → {change.after:.3f}). It is waiting {decision}.",
            width="stretch",
        )
        st.button("Review", key="adapt_look", on_click=url.put, kwargs={"version": waiting.name, "job": None})


def draw_rule(frame: Frame) -> None:
    wb, corpus_id, is_closed = frame.wb, frame.corpus.id, frame.explain_refusal("change this") is not None
    rule, state = retrain_rule.load_rule(wb, corpus_id), st.session_state
    is_on, number, at_night = _name_fields(corpus_id)
    state[is_on], state[at_night] = rule.after is not None, rule.at_night  # also what others have set meanwhile
    state[number] = rule.after or state.get(number, 100)
    with st.expander("Automatic retraining", icon=":material/schedule:", key="adapt_automatic"):
        st.toggle("Retrain after new labels", key=is_on, on_change=_switch_after, args=(frame,), disabled=is_closed)
        st.number_input("Number of new labels", 1, 100_000, key=number,
                        on_change=_set_number, args=(frame,), disabled=is_closed)  # fmt: skip
        st.toggle("Retrain at night if there are new labels", key=at_night,
                  on_change=_switch_at_night, args=(frame,), disabled=is_closed)  # fmt: skip
        st.caption(
            f"{count(retrain_rule.count_new_labels(wb, corpus_id), 'new label')} since the last retrain. An automatic "
            "version answers only once it is promoted. It is rejected if it is worse on the held-out questions, or "
            f"loses more than {MAX_FORGOTTEN_POINTS:g} points of AP on a frozen benchmark, a fixed set of other "
            "questions. "
            "At night is between 1 and 5 o'clock, while the app or `as2 worker` runs."
        )
        since = retrain_rule.count_labels_since_cancel(wb, corpus_id) if rule.after is not None else None
        if rule.after is not None and since is not None and since < rule.after:
            st.caption(
                "The last retrain was cancelled, so an automatic one waits for "
                f"{count(rule.after, 'label')} given since then: {since:,} so far."
            )
        if rule.refused:
            st.warning(f"The last automatic retrain could not start: {plain(rule.refused)}", icon=":material/block:")


def _name_fields(corpus_id: int) -> tuple[str, str, str]:
    """The keys of the switch for new labels, of their number, and of the switch for the night."""
    return f"adapt_auto_on_{corpus_id}", f"adapt_auto_after_{corpus_id}", f"adapt_auto_night_{corpus_id}"


@guard
def _switch_after(frame: Frame) -> None:
    is_on, number, _ = _name_fields(frame.corpus.id)
    after = int(st.session_state[number]) if st.session_state[is_on] else None
    retrain_rule.set_rule(frame.wb, frame.corpus.id, after=after, by=frame.annotator.id)


@guard
def _set_number(frame: Frame) -> None:
    """Of a rule that is off, the number is not stored."""
    _, number, _ = _name_fields(frame.corpus.id)
    if retrain_rule.load_rule(frame.wb, frame.corpus.id).after is not None:
        after = int(st.session_state[number])
        retrain_rule.set_rule(frame.wb, frame.corpus.id, after=after, by=frame.annotator.id)


@guard
def _switch_at_night(frame: Frame) -> None:
    _, _, at_night = _name_fields(frame.corpus.id)
    retrain_rule.set_rule(frame.wb, frame.corpus.id, at_night=st.session_state[at_night], by=frame.annotator.id)
