"""What Backspace takes back. A label is an event on the disk; a flag, a skipped question and the removal of one from
the queue are none: the session keeps them, in order with the labels, until the page is reloaded."""

from dataclasses import dataclass, replace

import streamlit as st

from app.ask import stored_questions
from app.labels import annotation, flags
from app.labels.annotation import MOVED, ActView
from app.labels.flags import FlagView
from app.ui.label.desk import Desk, Pair
from app.ui.label.list_desk import ListDesk
from app.ui.text import plain, shorten
from app.workbench.people import Gone
from app.workbench.workbench import Workbench
from as2core.messages import count

MAX_ACTS = 5
_KEY = "_label_session_acts"
NOTHING = "You have nothing to undo."
FLAG, REMOVAL, SKIP = "flagged", "removed from the queue", "skipped question"


@dataclass(frozen=True, slots=True)
class SessionAct:
    """A flag, or with `flag` None what was done with a question. `view`: as it is listed, its label one of the three
    above; its event is the last act with a label before it."""

    corpus_id: int
    annotator_id: int
    view: ActView
    flag: FlagView | None = None


def remember(wb: Workbench, desk: Desk | ListDesk, label: str, flag: FlagView | None = None) -> None:
    """What was just done with the item in front: FLAG, REMOVAL or SKIP."""
    if desk.item is None or desk.pair is None:
        return
    seat = desk.seat
    last = annotation.list_acts(wb, seat.annotator_id, seat.corpus_id, 1)
    text = "" if flag is None else desk.rows[desk.row].text if isinstance(desk, ListDesk) else desk.item.text
    view = ActView(*desk.pair, desk.item.question, text, label, event_id=last[0].event_id if last else 0)
    act = SessionAct(seat.corpus_id, seat.annotator_id, view, flag)
    st.session_state[_KEY] = (act, *st.session_state.get(_KEY, ()))


def list_acts(wb: Workbench, desk: Desk | ListDesk) -> tuple[ActView, ...]:
    """What `undo` would take back, newest first."""
    labels = annotation.list_acts(wb, desk.seat.annotator_id, desk.seat.corpus_id, MAX_ACTS)
    views = [*(act.view for act in _list_session_acts(desk)), *labels]
    return tuple(sorted(views, key=lambda view: -view.event_id)[:MAX_ACTS])  # stable: the session's before its event


def undo(wb: Workbench, desk: Desk | ListDesk) -> tuple[Desk | ListDesk, str]:
    """Take back the last act and show its item again; a message says what it was. Raises as `annotation.undo_last`
    does."""
    acts = list_acts(wb, desk)
    if not acts:
        return desk, NOTHING
    for act in _list_session_acts(desk)[:1]:
        if act.view is acts[0]:
            return _undo_session_act(wb, desk, act), _describe(act.view)
    desk, pairs = desk.undo(wb)
    return desk, _describe(acts[0]) if pairs else NOTHING


def _list_session_acts(desk: Desk | ListDesk) -> list[SessionAct]:
    """Newest first. A skip whose question the desk shows again anyway is none any more."""
    who = desk.seat.corpus_id, desk.seat.annotator_id
    acts = [act for act in st.session_state.get(_KEY, ()) if (act.corpus_id, act.annotator_id) == who]
    return [act for act in acts if act.view.label != SKIP or act.view.question_id in desk.question_skips]


def _undo_session_act(wb: Workbench, desk: Desk | ListDesk, act: SessionAct) -> Desk | ListDesk:
    st.session_state[_KEY] = tuple(a for a in st.session_state[_KEY] if a is not act)
    pair = (act.view.question_id, act.view.sentence_id)
    if act.flag is not None:
        flags.withdraw_flag(wb, act.flag, pair[0], act.annotator_id)
        return desk if desk.pair == pair else _reopen(wb, desk, pair)
    if act.view.label == REMOVAL:
        stored_questions.set_queued(wb, [pair[0]], queued=True, by=act.annotator_id)
    skips = tuple(question_id for question_id in desk.question_skips if question_id != pair[0])
    return _reopen(wb, replace(desk, question_skips=skips), pair)


def _reopen(wb: Workbench, desk: Desk | ListDesk, pair: Pair) -> Desk | ListDesk:
    """The act is undone in any case: where the sentence left its document since, what is in front stays there."""
    try:
        return desk.reopen_pair(wb, pair)
    except Gone:
        return desk


def _describe(act: ActView) -> str:
    if act.pairs > 1:
        return f"Took back: {act.label}, {count(act.pairs, 'label' if act.label == MOVED else 'candidate')}."
    return f"Took back: {act.label}, “{plain(shorten(act.text or act.question, 60))}”."
