"""Label: one sentence at a time, or one question with its whole list; one key, one label, next."""

from datetime import timedelta

import streamlit as st

from app.components import label_desk as ones
from app.components import label_list as lists
from app.components import label_rows, label_waiting, url
from app.components.errors import guarded
from app.components.keys import keys
from app.components.label_buttons import HELD
from app.components.label_flag import flag_overlay
from app.components.label_item import draw, style
from app.components.label_keys import BY_NAME, LIST, ONE, help_overlay, keymap, open_overlay, overlay
from app.components.label_side import draw_acts, draw_guidelines, draw_progress
from app.components.page import page
from app.components.roles import barred
from app.components.signin import desk as desk_name
from app.components.text import count
from app.services import labelling, queueing, rules
from app.services.views import LABELS

frame = page("Label", "Does the marked sentence answer the question? One key, one label, next.")
style()
state = st.session_state
holder = desk_name()
scores_visible = state.get("label_scores", url.get("scores") != "off")
MODES = {ONE: "One sentence", LIST: "Whole list"}
why_closed = barred(frame.annotator)
viewer = why_closed is not None


def choose(name: str, offered: dict[str, str], *, label: str, first: str) -> str:
    """A choice that the address keeps; `first` stays out of it."""
    key = f"label_{name}"
    start = state.get(key, url.get(name))
    start = start if start in offered else first
    if len(offered) > 3:
        chosen = st.selectbox(label, offered, list(offered).index(start), key=key, format_func=offered.get)
    else:
        chosen = st.segmented_control(label, offered, default=start, key=key, required=True, format_func=offered.get)
    url.put(**{name: chosen if chosen != first else None})
    return chosen


def choose_pool() -> tuple[str, ...]:
    offered = queueing.pool_of(frame.wb, frame.corpus.id)
    kept = [n for n in url.get("pool").split(",") if n in offered]
    chosen = st.multiselect("Tops of", offered, default=kept, key="label_pool", placeholder="The newest ranking",
                            help="The first ten of each; none chosen: the order of the newest ranking")  # fmt: skip
    url.put(pool=",".join(chosen))
    return tuple(chosen)


def at_desk(seat: ones.Seat, mode: str) -> ones.Desk | lists.ListDesk:
    """The desk of this sitting; a new one when corpus, name, queue or mode changed."""
    slot = st.empty()  # always there: what comes and goes must not move what follows
    desk = state.get("_label_desk")
    if desk is None or desk.seat != seat or isinstance(desk, lists.ListDesk) != (mode == LIST):
        if desk is not None and desk.seat != seat:  # or others would wait for what this tab no longer shows
            left = desk.seat
            queueing.leave(frame.wb, left.corpus_id, left.annotator_id, left.queue, holder=left.holder)
        with slot, st.spinner("Looking for what is most worth judging …"):
            desk = steps(mode).sit_down(frame.wb, seat)
        state["_label_desk"] = desk
    return desk


def steps(mode: str):
    return lists if mode == LIST else ones


@guarded
def act(name: str, showing: str, row: int | None = None) -> None:
    """One action for the item shown as `showing`; refused when another has taken its place. `row`: the one of a list
    that it is for, if not the one in front."""
    desk = state.get("_label_desk")
    if desk is None or desk.showing != showing:
        st.toast("That was for a sentence no longer shown; nothing was recorded.", icon=":material/block:")
        return
    try:
        desk = desk if row is None else lists.pick(desk, row)
        desk = step(name, desk)
    except labelling.Enough as enough:
        st.toast(str(enough), icon=":material/group:")
        desk = steps(mode).pass_over(frame.wb, desk)
    except labelling.CannotUndo as stays:
        st.toast(str(stays), icon=":material/undo:")
    finally:  # whatever came of it, this showing is over: the listener sends one action for each
        state["_label_desk"] = desk.next_turn()


def step(name: str, desk):
    if name in LABELS:
        return steps(mode).give(frame.wb, desk, name, seen())
    if name == "undo":
        desk, pairs = steps(mode).undo(frame.wb, desk)
        if pairs != 1:
            said = f"Took back {count(pairs, 'label')}." if pairs else "There is nothing of yours to undo."
            st.toast(said, icon=":material/undo:")
    elif name == "rest":
        desk, pairs = lists.reject_rest(frame.wb, desk, seen())
        rows = f"{count(pairs, 'row')} labelled incorrect; one undo takes all back."
        st.toast(rows if pairs else "No row was left to label.", icon=":material/close:")
    elif name in ("up", "down"):
        return getattr(lists, name)(desk)
    elif name in ("back", "forward"):
        return getattr(steps(mode), name)(frame.wb, desk)
    elif name == "help" or (name == "flag" and desk.pair is not None):
        open_overlay(name)
    return desk


def seen() -> ones.Seen:
    return ones.Seen(scores_visible, guidelines.version)


@guarded
def open_pair(pair: ones.Pair) -> None:
    state["_label_desk"] = steps(mode).open_pair(frame.wb, state["_label_desk"], pair).next_turn()


def on_key() -> None:
    sent = state["label_listener"].key
    if sent:
        act(sent["act"], sent["doc"])


def button(name: str, *, disabled: bool = False) -> None:
    a = BY_NAME[name]
    st.button(
        f"{a.button} `{a.printed}`",
        key=f"label_{name}",
        on_click=act,
        args=(name, desk.showing),
        disabled=disabled,
        help=a.does,
        width="stretch",
    )


with st.container(horizontal=True):
    mode = choose("mode", MODES, label="Mode", first=ONE)
    names = {n: n.replace("second", "second look").capitalize() for n in queueing.QUEUES}
    queue = choose("queue", names, label="Queue", first="uncertain")
st.caption(queueing.QUEUES[queue])
pool = choose_pool() if queue == "tops" else ()
guidelines = rules.guidelines(frame.wb, frame.corpus.id)
desk = at_desk(ones.Seat(frame.corpus.id, frame.annotator.id, queue, holder, pool), mode)
dialog = overlay() if overlay() != "flag" or desk.pair is not None else ""
held = mode == ONE and desk.item is not None and desk.item.held  # in a list each row tells
# what is typed while a dialog is on its way is meant for it
awake = {} if dialog else keymap(mode, LABELS if held else ())
keys(key="label_listener", data={"map": awake, "doc": desk.showing}, on_key_change=on_key)
work, side = st.columns([2.3, 1], gap="large")
with work:
    if why_closed:
        st.info(why_closed, icon=":material/lock:")
    elif held:
        st.info(HELD, icon=":material/group:")
    with st.container(border=True):
        if desk.item is None:
            label_waiting.draw(frame.wb, frame.corpus, desk)
        elif mode == LIST:
            label_rows.draw(desk, scores_visible=scores_visible, on_row=act, closed=viewer)
        else:
            draw(desk.item, scores_visible=scores_visible)
    closed = desk.item is None or viewer
    with st.container(horizontal=True):
        for name in LABELS:
            button(name, disabled=closed or held)
    if mode == LIST:
        with st.container(horizontal=True):
            button("rest", disabled=closed or not desk.rest)
            button("up", disabled=desk.item is None)
            button("down", disabled=desk.item is None)
    with st.container(horizontal=True):
        button("undo", disabled=viewer)
        button("back", disabled=not desk.can_go_back)
        button("forward")
        button("flag", disabled=closed)
        button("help")
    with st.container(horizontal=True, vertical_alignment="center"):
        told = "Each label remembers whether you saw them."
        scores = st.toggle("Show scores", scores_visible, key="label_scores", help=told)
    url.put(scores=None if scores else "off")
with side:
    ahead = timedelta(minutes=-(st.context.timezone_offset or 0))
    progress = labelling.progress(frame.wb, frame.corpus.id, frame.annotator.id, queue, pool=pool, ahead=ahead)
    draw_progress(progress, frame.annotator.name, queue)
    acts = labelling.recent_acts(frame.wb, frame.annotator.id, frame.corpus.id)
    draw_acts(acts, on_undo=lambda: act("undo", desk.showing), on_open=open_pair, closed=why_closed)
    draw_guidelines(guidelines)
if said := state.pop("_label_said", ""):
    st.toast(said, icon=":material/check:")
if dialog == "help":
    help_overlay(mode)
elif dialog == "flag":
    flag_overlay(frame.wb, desk.pair, frame.annotator.id)
