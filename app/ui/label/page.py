"""The page Label: the choices, the item with its buttons and keys, and what stands beside it."""

from datetime import timedelta
from functools import partial
from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.labels import flags, progress, seats
from app.labels.queues import QUEUES
from app.ui import keys, url
from app.ui.label import choice, decide, empty_queue, rows, sidebar, speech, undo
from app.ui.label.actions import count_breaks, find_desk, handle_action, open_pair
from app.ui.label.buttons import LOCKED
from app.ui.label.choice import LabelPage
from app.ui.label.decide import DecideDesk
from app.ui.label.desk import DESK_KEY, Desk
from app.ui.label.flag import draw_flag_dialog
from app.ui.label.item import draw as draw_item
from app.ui.label.list_desk import ListDesk
from app.ui.label.shortcuts import BY_NAME, ONE, draw_help_dialog, get_overlay, has_key, map_keys
from app.ui.page import Frame
from app.ui.page_keys import SWITCH
from app.ui.scripts import scroll_to
from as2core.types import LABELS

Width = Literal["stretch", "content"]
ADVICE = "Read each list until you find the answer, then go on to the next."
SCORES_SWITCH, KEYS_SWITCH = "label_scores", "label_keys"
CLICKS = (*BY_NAME, "open")  # what buttons are for of which one click counts for what is shown
STEPS = (*LABELS, "up", "down")  # in a list: a key may be pressed before the page has done one of these


def draw(frame: Frame) -> None:
    page = choice.choose(frame)
    about = st.empty()
    about.caption(page.description)
    choice.draw_narrowing(page)
    desk = find_desk(page)
    _advise(page, desk, about)
    url.put(question=desk.item.question_id if isinstance(desk, ListDesk) and desk.item is not None else None)
    dialog = get_overlay() if get_overlay() != "flag" or desk.pair is not None else ""
    _listen(page, desk, dialog)
    with st.container(key="label_desk"):  # on a narrow page they stand one below the other (label.css)
        work, side = st.columns([2.3, 1], gap="large")
    with work:
        _draw_notes(page, desk)
        with st.container(border=True):
            _draw_front(page, desk)
        _draw_buttons(page, desk)
    with side:
        _draw_side(page, desk)
    if dialog == "help":
        draw_help_dialog(page.mode)
    elif dialog == "flag" and desk.pair:
        draw_flag_dialog(frame, desk.pair)


def _advise(page: LabelPage, desk: Desk | ListDesk, about: DeltaGenerator) -> None:
    """Where a retrain learns from the labels given here."""
    if not isinstance(desk, ListDesk):
        return
    queue = QUEUES[desk.seat.queue]
    if not (queue.is_review or queue.is_for_evaluation or (desk.item is not None and desk.item.is_non_training)):
        about.caption(f"{page.description} {ADVICE}")


def _is_locked(desk: Desk | ListDesk) -> bool:
    """Whether the sentence in front may not be labelled; in a list each row shows it."""
    return isinstance(desk, Desk) and desk.item is not None and desk.item.is_locked


def _listen(page: LabelPage, desk: Desk | ListDesk, dialog: str) -> None:
    """For the keys; none while a dialog opens: what is typed then is meant for it."""
    off = (*(LABELS if _is_locked(desk) else ()), *(("skip", "remove") if page.is_deciding else ()))
    data: dict[str, object] = {"map": {} if dialog else map_keys(page.mode, off), "doc": desk.showing}
    data |= {"say": speech.describe_front(desk), "clicks": CLICKS}
    if isinstance(desk, ListDesk) and desk.item:
        is_asking = desk.asks_about_hidden(page.frame.wb.clock())
        data |= {"list": desk.item.token, "ahead": STEPS, "breaks": count_breaks(), "cancels": is_asking}
    keys.listen_to_keys(key="label_listener", data=data, on_key_change=partial(_handle_key, page))


def _handle_key(page: LabelPage) -> None:
    press = st.session_state["label_listener"].key
    if press:
        handle_action(page, press["act"], press["doc"])


def _draw_notes(page: LabelPage, desk: Desk | ListDesk) -> None:
    if page.why_closed:
        st.info(page.why_closed, icon=":material/lock:")
    elif _is_locked(desk):
        st.info(LOCKED, icon=":material/group:")
    if isinstance(desk, DecideDesk) and page.job is not None:
        decide.draw_conclusion(page.frame.wb, desk, page.job)


def _draw_front(page: LabelPage, desk: Desk | ListDesk) -> None:
    act = partial(handle_action, page)
    if desk.item is None and isinstance(desk, DecideDesk):
        decide.draw_waiting(page.frame, desk, page.job)
    elif desk.item is None:
        empty_queue.draw(page.frame, desk)
        scroll_to(empty_queue.MESSAGE, desk.showing, block="nearest")
    elif isinstance(desk, ListDesk):
        is_closed = page.why_closed is not None
        now, draw_moves = page.frame.wb.clock(), partial(_draw_moves, page, desk)
        flagged_ids = flags.list_flagged(page.frame.wb, desk.item.question_id)
        rows.draw(desk, now=now, scores_visible=page.scores_visible, draw_moves=draw_moves, on_row=act, on_find=act,
                  flagged_ids=flagged_ids, is_closed=is_closed)  # fmt: skip
        st.session_state[DESK_KEY] = desk.note_page()
        scroll_to(rows.CURRENT, desk.showing, block="nearest")
    else:
        draw_item(desk.item, scores_visible=page.scores_visible, description=page.description)


def _draw_moves(page: LabelPage, desk: ListDesk) -> None:
    """Above the rows: what is wanted again and again."""
    draw_button = partial(_draw_button, page, desk, width="content")
    draw_button("up")
    draw_button("down")
    draw_button("undo", is_disabled=page.why_closed is not None)
    draw_button("forward")


def _draw_buttons_without_item(page: LabelPage, desk: Desk | ListDesk) -> None:
    """Those that do something; → looks again at what was skipped, or is open at another desk. And the switch of the
    keys, which is for all pages."""
    draw_button = partial(_draw_button, page, desk, width="content")
    with st.container(
        horizontal=True, horizontal_alignment="center", vertical_alignment="center", key="label_buttons_without_item"
    ):
        if page.why_closed is None and undo.list_acts(page.frame.wb, desk):
            draw_button("undo")
        if desk.can_go_back:
            draw_button("back")
        is_list = isinstance(desk, ListDesk)
        if not page.is_deciding and seats.has_open_item(page.frame.wb, desk.seat, is_list=is_list):
            draw_button("forward")
        _draw_keys_switch()


def _draw_buttons(page: LabelPage, desk: Desk | ListDesk) -> None:
    if desk.item is None:
        _draw_buttons_without_item(page, desk)
        return
    is_closed = page.why_closed is not None
    draw_button = partial(_draw_button, page, desk)
    with st.container(horizontal=True, key="label_buttons"):
        for name in LABELS:
            draw_button(name, is_disabled=is_closed or _is_locked(desk))
    if isinstance(desk, ListDesk):
        with st.container(horizontal=True):
            draw_button("rest", is_disabled=is_closed or not desk.rest, number=len(desk.rest))
            draw_button("find")
    with st.container(horizontal=True):
        if page.mode == ONE:
            draw_button("undo", is_disabled=is_closed)
        draw_button("back", is_disabled=not desk.can_go_back)
        if page.mode == ONE:
            draw_button("forward", is_disabled=page.is_deciding and not desk.trail.is_in_past)
            draw_button("skip", is_disabled=page.is_deciding)
        draw_button("remove", is_disabled=page.is_deciding or is_closed)
    with st.container(horizontal=True, vertical_alignment="center"):
        draw_button("flag", is_disabled=is_closed)
        draw_button("help")
        st.session_state[SCORES_SWITCH] = page.scores_visible
        st.toggle("Show ranks", key=SCORES_SWITCH, width="content", on_change=_switch_scores,
                  help="With the reasons that name them, and the probability where the queue goes by it. "
                  "Each label records whether they were visible.")  # fmt: skip
        _draw_keys_switch()
    url.put(scores=None if page.scores_visible else choice.OFF)


def _switch_scores() -> None:
    st.session_state[choice.SCORES] = st.session_state[SCORES_SWITCH]


def _draw_keys_switch() -> None:
    st.session_state[KEYS_SWITCH] = keys.has_character_keys()
    st.toggle(SWITCH, key=KEYS_SWITCH, width="content", on_change=_switch_keys,
              help="Off, they do nothing on all pages, and this browser remembers it: for speech input, or where a "
              "key is pressed by accident. The buttons, arrows, backspace and ctrl+z stay on.")  # fmt: skip


def _switch_keys() -> None:
    keys.set_character_keys(st.session_state[KEYS_SWITCH])


def _draw_button(
    page: LabelPage,
    desk: Desk | ListDesk,
    name: str,
    *,
    is_disabled: bool = False,
    number: int | None = None,
    width: Width = "stretch",
) -> None:
    """`number`: how many rows it is about."""
    action = BY_NAME[name]
    key = f" `{action.printed}`" if has_key(action) else ""
    st.button(
        f"{action.button}{'' if number is None else f' ({number:,})'}{key}",
        key=f"label_{name}",
        on_click=handle_action,
        args=(page, name, desk.showing),
        disabled=is_disabled,
        help=action.does,
        width=width,
    )


def _draw_side(page: LabelPage, desk: Desk | ListDesk) -> None:
    frame = page.frame
    ahead = timedelta(minutes=-(st.context.timezone_offset or 0))
    counts = progress.measure_progress(
        frame.wb, frame.corpus.id, frame.annotator.id, page.queue, pool=page.pool, questions=page.only, ahead=ahead
    )
    sidebar.ask_for_name(frame, counts.overlap)
    sidebar.draw_progress(counts, frame.annotator.name, page.queue)
    sidebar.draw_retrain(frame)
    if desk.item is not None and not page.is_deciding:
        empty_queue.draw_ranking(frame)
    sidebar.draw_acts(
        undo.list_acts(frame.wb, desk),
        on_undo=partial(handle_action, page, "undo", desk.showing),
        on_open=partial(open_pair, page),
        why_closed=page.why_closed,
    )
    sidebar.draw_guidelines(page.guidelines, frame.corpus.id)
