"""Label: one sentence at a time, or one question with its whole list; a key for every label."""

from datetime import timedelta

import streamlit as st

from app.ask import question_management
from app.labels import annotation, queues
from app.labels.guidelines import read_guidelines
from app.labels.queues import Seat
from app.labels.strategies import DECIDE, QUEUES
from app.ui import url
from app.ui.errors import guarded
from app.ui.keys import keys
from app.ui.label import decide, undo, waiting
from app.ui.label import rows as label_rows
from app.ui.label.buttons import LOCKED
from app.ui.label.decide import DecideDesk
from app.ui.label.desk import Desk, Display, Pair
from app.ui.label.flag import flag_overlay
from app.ui.label.item import draw, style
from app.ui.label.question_list import ListDesk
from app.ui.label.shortcuts import BY_NAME, LIST, ONE, help_overlay, keymap, open_overlay, overlay
from app.ui.label.sidebar import draw_acts, draw_guidelines, draw_progress, draw_retrain
from app.ui.page import page
from app.ui.scripts import scroll_to
from app.ui.signin import desk as desk_name
from app.ui.text import count, plain, shorten
from as2core.types import LABELS

frame = page("Label", "Which sentences answer the question?")
style()
state = st.session_state
holder = desk_name()
scores_visible = state.get("label_scores", url.get("scores") != "off")
MODES = {LIST: "Whole list", ONE: "One sentence"}
ADVICE = "Read each list until you find the answer: a retrain gains most from that."
STEPS = (*LABELS, "up", "down")  # in a list: a key may be pressed before the page has done one of these
DESKS: dict[str, type[Desk] | type[ListDesk]] = {ONE: Desk, LIST: ListDesk}
why_closed = frame.explain_refusal()
is_viewer = why_closed is not None


def choose_pool() -> tuple[str, ...]:
    versions = queues.list_pool(frame.wb, frame.corpus.id)
    default = [n for n in url.get("pool").split(",") if n in versions]
    pool = st.multiselect("Rankers to pool", versions, default=default, key="label_pool", placeholder="Newest ranking",
                         help="Offers the first ten of each; by default the newest ranking's order")  # fmt: skip
    url.put(pool=",".join(pool))
    return tuple(pool)


def draw_narrowing() -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/filter_alt: Only {count(len(only), 'question')} that you chose.", width="content")
        st.button("Show all questions", key="label_all", type="tertiary", on_click=url.put, kwargs={"only": None})


def choose_first_queue() -> None:
    """Where every question has the labels it needs, the page opens with the next queue."""
    is_chosen = url.get("queue") or "label_queue" in state
    if not is_chosen and not queues.needs_label(frame.wb, frame.corpus.id, frame.annotator.id):
        url.put(queue=waiting.NEXT)


def find_desk(seat: Seat, mode: str) -> Desk | ListDesk:
    """The desk of this sitting; a new one when corpus, name, queue, mode or decision changed."""
    slot = st.empty()  # always there, so that nothing below moves
    desk = state.get("_label_desk")
    if desk is not None and desk.seat != seat:  # give back what this tab no longer shows
        queues.leave(frame.wb, desk.seat)
    if queue == DECIDE:
        if isinstance(desk, DecideDesk) and desk.seat == seat and desk.job_id == done_id:
            desk = desk.refresh(frame.wb)
        else:
            with slot, st.spinner("Finding the next item …"):
                desk = DecideDesk.open(frame.wb, seat, job)
        state["_label_desk"] = desk
        return desk
    if desk is None or desk.seat != seat or type(desk) is not DESKS[mode]:
        skips = desk.question_skips if desk is not None and desk.seat.corpus_id == seat.corpus_id else ()
        has_moved = url.has_moved("question", settling=url.SETTLING_SECONDS)
        question = next(iter(url.get_numbers("question")), None) if has_moved else None
        with slot, st.spinner("Finding the next item …"):
            if mode == LIST and question is not None:  # a reload, a link, Back or Forward: the list that was open there
                desk = ListDesk.resume(frame.wb, seat, question, skips)
                if desk.item is None or desk.item.question_id != question:
                    st.toast("The list of this link is not open to you any more.", icon=":material/link_off:")
            else:
                desk = DESKS[mode].start(frame.wb, seat, skips)
        state["_label_desk"] = desk
    return desk


def teaches(desk: ListDesk) -> bool:
    """Whether a retrain learns from the labels given here."""
    kind = QUEUES[desk.seat.queue]
    return not (kind.is_review or kind.is_for_evaluation or (desk.item is not None and desk.item.is_kept_apart))


@guarded
def act(name: str, showing: str, row: int | None = None) -> None:
    """One action for the item shown as `showing`; refused when another has taken its place. `row`: the one of a list
    that it is for, if not the one in front."""
    desk = state.get("_label_desk")
    if desk is None or desk.showing != showing:
        st.toast("That sentence is no longer shown. Nothing was recorded.", icon=":material/block:")
        state["_label_breaks"] = count_breaks() + 1
        return
    is_as_expected = False
    try:
        desk = desk if row is None else desk.pick(row)
        pair = desk.pair
        desk = step(name, desk)
        is_as_expected = name not in LABELS or desk.pair != pair
    except (annotation.OverlapReached, annotation.LeftDocument) as error:
        st.toast(str(error), icon=":material/group:")
        desk = desk.skip(frame.wb)
    except annotation.CannotUndo as error:
        st.toast(str(error), icon=":material/undo:")
    finally:  # this showing is over in any case: the listener sends one action for each
        state["_label_desk"] = desk.next_turn()
        state["_label_breaks"] = count_breaks() + (not is_as_expected)


def count_breaks() -> int:
    """How many actions of the session left something in front that whoever types ahead does not expect."""
    return state.get("_label_breaks", 0)


def step(name: str, desk: Desk | ListDesk) -> Desk | ListDesk:
    display = Display(scores_visible, guidelines.version)
    if name in LABELS:
        return desk.give(frame.wb, name, display)
    if name == "undo":
        desk, message = undo.undo(frame.wb, desk)
        st.toast(message, icon=":material/undo:")
    elif name == "rest" and isinstance(desk, ListDesk) and desk.hidden and not desk.asks_about_hidden:
        return desk.ask_about_hidden()
    elif name == "rest" and isinstance(desk, ListDesk):
        desk, row_count = desk.reject_rest(frame.wb, display)
        message = f"{count(row_count, 'row')} labelled incorrect. One undo takes them all back."
        st.toast(message if row_count else "No row was left to label.", icon=":material/close:")
    elif name == "find" and isinstance(desk, ListDesk) and desk.item is not None:
        words = state.get(label_rows.name_find_key(desk.item.question_id), "").strip()
        desk, matches = desk.find(words)
        message = f"{count(matches, 'row')} with “{plain(shorten(words, 60))}”."
        st.toast(message if words else "Type words in “Find in this list” first.", icon=":material/search:")
    elif name in ("up", "down") and isinstance(desk, ListDesk):
        return desk.pick(desk.row + (1 if name == "down" else -1))
    elif name in ("back", "forward"):
        return desk.back(frame.wb) if name == "back" else desk.forward(frame.wb)
    elif name == "skip":
        return desk.skip_question(frame.wb)
    elif name == "remove" and desk.item is not None:
        question_management.set_queued(frame.wb, [desk.item.question_id], queued=False, by=frame.annotator.id)
        undo.remember(frame.wb, desk)
        message = "Removed from the queue. Undo, or Data, Questions, brings it back."
        st.toast(message, icon=":material/playlist_remove:")
        return desk.skip_question(frame.wb) if only else desk.draw_next(frame.wb)
    elif name == "help" or (name == "flag" and desk.pair is not None):
        open_overlay(name)
    return desk


@guarded
def open_pair(pair: Pair) -> None:
    state["_label_desk"] = state["_label_desk"].open_pair(frame.wb, pair).next_turn()


def on_key() -> None:
    press = state["label_listener"].key
    if press:
        act(press["act"], press["doc"])


def button(name: str, *, disabled: bool = False, number: int | None = None) -> None:
    """`number`: how many rows it is about."""
    a = BY_NAME[name]
    st.button(
        f"{a.button}{'' if number is None else f' ({number:,})'} `{a.printed}`",
        key=f"label_{name}",
        on_click=act,
        args=(name, desk.showing),
        disabled=disabled,
        help=a.does,
        width="stretch",
    )


with st.container(horizontal=True, key="label_choice"):
    place = st.container(width="content")  # the mode stands first, but a decision has one only
    entries = {**{q.name: q.menu_entry for q in QUEUES.values()}, DECIDE: decide.MENU_ENTRY}
    choose_first_queue()
    queue = url.choose("label", "queue", "Queue", entries)
    pool = choose_pool() if queue != DECIDE and QUEUES[queue].is_pooled else ()
is_deciding, mode = queue == DECIDE, ONE
if not is_deciding:
    with place:
        mode = url.choose("label", "mode", "Mode", MODES)
description = decide.DESCRIPTION if is_deciding else QUEUES[queue].description
about = st.empty()
about.caption(description)
job = decide.find_job(frame) if is_deciding else None
done_id = job.id if job is not None and job.state == "done" else None
only = url.get_numbers("only") if queues.can_narrow(queue) else ()
if only:
    draw_narrowing()
guidelines = read_guidelines(frame.wb, frame.corpus.id)
desk = find_desk(Seat(frame.corpus.id, frame.annotator.id, queue, holder, pool, only), mode)
if isinstance(desk, ListDesk) and teaches(desk):
    about.caption(f"{description} {ADVICE}")
url.put(question=desk.item.question_id if isinstance(desk, ListDesk) and desk.item is not None else None)
dialog = overlay() if overlay() != "flag" or desk.pair is not None else ""
locked = isinstance(desk, Desk) and desk.item is not None and desk.item.is_locked  # in a list each row shows it
# what is typed while a dialog opens is meant for it
off = (*(LABELS if locked else ()), *(("skip", "remove") if is_deciding else ()))
active = {} if dialog else keymap(mode, off)
order = (
    {"list": desk.item.token, "ahead": STEPS, "breaks": count_breaks()}
    if isinstance(desk, ListDesk) and desk.item
    else {}
)
keys(key="label_listener", data={"map": active, "doc": desk.showing, **order}, on_key_change=on_key)
work, side = st.columns([2.3, 1], gap="large")
with work:
    if why_closed:
        st.info(why_closed, icon=":material/lock:")
    elif locked:
        st.info(LOCKED, icon=":material/group:")
    if isinstance(desk, DecideDesk) and job is not None:
        decide.draw_verdict(frame.wb, desk, job)
    with st.container(border=True):
        if desk.item is None and isinstance(desk, DecideDesk):
            decide.draw_waiting(frame, desk, job)
        elif desk.item is None:
            waiting.draw(frame, desk)
        elif isinstance(desk, ListDesk):
            label_rows.draw(desk, scores_visible=scores_visible, on_row=act, on_find=act, closed=is_viewer)
            state["_label_desk"] = desk.note_page()
            scroll_to(label_rows.CURRENT, desk.showing, block="nearest")
        else:
            draw(desk.item, scores_visible=scores_visible, description=description)
    closed = desk.item is None or is_viewer
    with st.container(horizontal=True, key="label_buttons"):
        for name in LABELS:
            button(name, disabled=closed or locked)
    if isinstance(desk, ListDesk):
        with st.container(horizontal=True):
            button("rest", disabled=closed or not desk.rest, number=len(desk.rest))
            button("up", disabled=desk.item is None)
            button("down", disabled=desk.item is None)
            button("find", disabled=desk.item is None)
        label_rows.draw_rest_question(desk)
    with st.container(horizontal=True):
        button("undo", disabled=is_viewer)
        button("back", disabled=not desk.can_go_back)
        button("forward", disabled=is_deciding and not desk.trail.is_in_past)
        if mode == ONE:
            button("skip", disabled=is_deciding or desk.item is None)
        button("remove", disabled=is_deciding or closed)
    with st.container(horizontal=True, vertical_alignment="center"):
        button("flag", disabled=closed)
        button("help")
        scores = st.toggle("Show model ranks", scores_visible, key="label_scores", width="content",
                           help="With the reasons that name them, and the probability where the queue goes by it. "
                           "Each label records whether they were visible.")  # fmt: skip
    url.put(scores=None if scores else "off")
with side:
    ahead = timedelta(minutes=-(st.context.timezone_offset or 0))
    counts = annotation.measure_progress(
        frame.wb, frame.corpus.id, frame.annotator.id, queue, pool=pool, questions=only, ahead=ahead
    )
    draw_progress(counts, frame.annotator.name, queue)
    draw_retrain(frame)
    if desk.item is not None and not is_deciding:
        waiting.draw_ranking(frame)
    acts = undo.list_acts(frame.wb, desk.seat)
    draw_acts(acts, on_undo=lambda: act("undo", desk.showing), on_open=open_pair, closed=why_closed)
    draw_guidelines(guidelines)
if dialog == "help":
    help_overlay(mode)
elif dialog == "flag" and desk.pair:
    flag_overlay(frame, desk.pair)
