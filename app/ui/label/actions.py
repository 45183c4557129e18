"""What a key or a button on the page Label does, to the desk that the session keeps."""

from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.ask import stored_questions
from app.labels import annotation, leasing, seats
from app.labels.queues import UNLABELLED
from app.ranking.next_question import find_search_change, is_list_outdated, rank_next_question, renew_list
from app.ranking.retrieval import EmptyCorpus
from app.ui import url
from app.ui.errors import guard
from app.ui.label import rows, speech, undo
from app.ui.label.choice import LabelPage
from app.ui.label.decide import DecideDesk
from app.ui.label.desk import DESK_KEY, Desk, Pair
from app.ui.label.list_desk import ListDesk
from app.ui.label.shortcuts import LIST, ONE, open_overlay
from app.ui.text import plain, shorten
from app.workbench.workbench import Workbench
from as2core.errors import DamagedModel
from as2core.messages import count
from as2core.types import LABELS

DESKS: dict[str, type[Desk] | type[ListDesk]] = {ONE: Desk, LIST: ListDesk}
_BREAKS_KEY = "_label_breaks"
_RENEWED_KEY = "_label_renewed"  # the question that is ranked again
_CHANGE_KEY = "_label_change"  # of the documents, that was told last
MAX_RANKINGS = 10  # at a time: others may take one, and nothing may be found for it


def find_desk(page: LabelPage) -> Desk | ListDesk:
    """The desk of this sitting; a new one when corpus, name, queue, mode or decision changed."""
    slot = st.empty()  # always there, so that nothing below moves
    wb, seat, desk = page.frame.wb, page.seat, st.session_state.get(DESK_KEY)
    if desk is not None and desk.seat != seat:  # give back what this tab no longer shows
        leasing.leave(wb, desk.seat)
    if page.is_deciding:
        if isinstance(desk, DecideDesk) and desk.seat == seat and desk.job_id == page.done_job_id:
            desk = desk.refresh(wb)
        else:
            with slot, st.spinner("Finding the next item …"):
                desk = DecideDesk.open(wb, seat, page.job)
    elif desk is None or desk.seat != seat or type(desk) is not DESKS[page.mode]:
        skips = desk.question_skips if desk is not None and desk.seat.corpus_id == seat.corpus_id else ()
        with slot, st.spinner("Finding the next item …"):
            desk = _open_desk(page, skips)
    elif desk.item is None and seats.has_open_item(wb, seat, is_list=isinstance(desk, ListDesk)):
        desk = desk.draw_next(wb)  # such as after other rules, or what somebody gave back
    if desk.item is None and page.queue == UNLABELLED and page.frame.corpus.sentences:
        with slot, st.spinner("Ranking the next question …"):
            desk = _rank_next(wb, desk)
    elif not page.is_deciding:
        with slot:
            desk = _renew(wb, desk)
    st.session_state[DESK_KEY] = desk
    return desk


def _rank_next(wb: Workbench, desk: Desk | ListDesk) -> Desk | ListDesk:
    """With a question that no model has ranked yet, if there is one."""
    note = st.empty()
    for _ in range(MAX_RANKINGS):
        if desk.item is not None or not rank_next_question(wb, desk.seat, partial(_tell_wait, note)):
            break
        desk = desk.draw_next(wb)
    note.empty()
    return desk


def _renew(wb: Workbench, desk: Desk | ListDesk) -> Desk | ListDesk:
    """With the list as it is now, where the documents have changed since it was ranked and nobody has labelled it; with
    the old one where it cannot be ranked. A click ends a run at any place: what to open again is noted before."""
    state, note = st.session_state, st.empty()
    if desk.item is None:
        return desk
    question_id = desk.item.question_id
    if is_list_outdated(wb, desk.seat.corpus_id, question_id):
        state[_RENEWED_KEY] = question_id
        try:
            with note, st.spinner("Ranking the question again …"):
                wait = st.empty()
                renew_list(wb, desk.seat, question_id, partial(_tell_wait, wait))
                wait.empty()
        except (EmptyCorpus, DamagedModel):
            del state[_RENEWED_KEY]
    if state.get(_RENEWED_KEY) == question_id:
        desk = state[DESK_KEY] = desk.open_again(wb)
        del state[_RENEWED_KEY]
        _tell_change(wb, desk.seat.corpus_id)
    return desk


def _tell_change(wb: Workbench, corpus_id: int) -> None:
    """Once for all questions that a change of the documents has ranked again."""
    change = corpus_id, find_search_change(wb, corpus_id)
    if st.session_state.get(_CHANGE_KEY) != change:
        st.session_state[_CHANGE_KEY] = change
        message = "The documents have changed, so each question is ranked again when you come to it."
        st.toast(message, icon=":material/update:")


def _tell_wait(note: DeltaGenerator, ahead: int) -> None:
    note.caption(f"Waiting for {count(ahead, 'question', 'questions')} of other people.")


def _open_desk(page: LabelPage, skips: tuple[int, ...]) -> Desk | ListDesk:
    """With the list that the address names, after a reload, a link, Back or Forward, or with the queue's first item."""
    has_moved = url.has_moved("question", settling=url.SETTLING_SECONDS)
    question = next(iter(url.get_numbers("question")), None) if has_moved else None
    if page.mode != LIST or question is None:
        return DESKS[page.mode].start(page.frame.wb, page.seat, skips)
    desk = ListDesk.resume(page.frame.wb, page.seat, question, skips)
    if desk.item is None or desk.item.question_id != question:
        instead = " This is another." if desk.item else ""
        st.toast(f"The list of this link is taken or done.{instead}", icon=":material/link_off:")
    return desk


@guard
def handle_action(page: LabelPage, name: str, showing: str, row: int | None = None) -> None:
    """One action for the item shown as `showing`; refused when another has taken its place. `row`: the one of a list
    that it is for, if not the one in front."""
    state = st.session_state
    desk = state.get(DESK_KEY)
    if desk is None or desk.showing != showing:
        st.toast("That candidate is no longer shown. Nothing was recorded.", icon=":material/block:")
        state[_BREAKS_KEY] = count_breaks() + 1
        return
    is_as_expected, recorded = False, ""
    try:
        desk = desk if row is None else desk.pick_by_click(row)
        pair = desk.pair
        desk = _take_action(page, name, desk)
        is_as_expected, recorded = name not in LABELS or desk.pair != pair, name if name in LABELS else ""
    except annotation.LeftDocument:
        message = "Nothing was recorded: the sentence was changed or deleted meanwhile."  # longer ones are cut
        st.toast(message, icon=":material/label_off:")
        desk = desk.skip(page.frame.wb)
    except annotation.OverlapReached as error:
        st.toast(str(error), icon=":material/group:")
        desk = desk.skip(page.frame.wb)
    except annotation.CannotUndo as error:
        st.toast(str(error), icon=":material/undo:")
    finally:  # this showing is over in any case: the listener sends one action for each
        state[DESK_KEY], state[speech.RECORDED] = desk.next_turn(), recorded
        state[_BREAKS_KEY] = count_breaks() + (not is_as_expected)


def count_breaks() -> int:
    """How many actions of the session left something in front that whoever types ahead does not expect."""
    return st.session_state.get(_BREAKS_KEY, 0)


def _take_action(page: LabelPage, name: str, desk: Desk | ListDesk) -> Desk | ListDesk:
    """The desk after it. "cancel", a click on nothing in particular, does what every act does: a question is over."""
    wb = page.frame.wb
    if name in LABELS:
        return desk.give(wb, name, page.display)
    if isinstance(desk, ListDesk) and name in ("rest", "find", "up", "down"):
        return _take_list_action(page, name, desk)
    if name == "undo":
        desk, message = undo.undo(wb, desk)
        st.toast(message, icon=":material/undo:")
    elif name == "back" and not desk.can_go_back:
        st.toast("No item was shown here before this one.", icon=":material/first_page:")
    elif name in ("back", "forward"):
        return desk.back(wb) if name == "back" else desk.forward(wb)
    elif name == "skip":
        undo.remember(wb, desk, undo.SKIP)
        return desk.skip_question(wb)
    elif name == "remove" and desk.item is not None:
        stored_questions.set_queued(wb, [desk.item.question_id], queued=False, by=page.frame.annotator.id)
        undo.remember(wb, desk, undo.REMOVAL)
        message = "Removed from the queue. Undo, or Data, Questions, brings it back."
        st.toast(message, icon=":material/playlist_remove:")
        return desk.skip_question(wb) if page.only else desk.draw_next(wb)
    elif name == "help" or (name == "flag" and desk.pair is not None):
        open_overlay(name)
    return desk


def _take_list_action(page: LabelPage, name: str, desk: ListDesk) -> ListDesk:
    if name in ("up", "down"):
        return desk.pick(desk.row + (1 if name == "down" else -1))
    now = page.frame.wb.clock()
    if name == "rest" and desk.hidden and not desk.asks_about_hidden(now):
        st.toast(rows.describe_question(desk), icon=":material/help:")
        return desk.ask_about_hidden(now)
    if name == "rest":
        desk, row_count = desk.reject_rest(page.frame.wb, page.display)
        message = f"{count(row_count, 'candidate')} labelled incorrect. One undo takes them all back."
        st.toast(message if row_count else "No candidate was left to label.", icon=":material/close:")
    elif desk.item is not None:
        words = st.session_state.get(rows.name_find_key(desk.item.question_id), "").strip()
        desk, matches = desk.find(words)
        message = f"{count(matches, 'candidate')} with “{plain(shorten(words, 60))}”."
        st.toast(message if words else "Type words in “Find in this list” first.", icon=":material/search:")
    return desk


@guard
def open_pair(page: LabelPage, pair: Pair) -> None:
    state = st.session_state
    state[DESK_KEY], state[speech.RECORDED] = state[DESK_KEY].open_pair(page.frame.wb, pair).next_turn(), ""
