"""Label: one sentence at a time, one key, one label, next."""

import secrets

import streamlit as st

from app.components import label_desk as desks
from app.components import label_waiting, url
from app.components.errors import guarded
from app.components.keys import keys
from app.components.label_item import draw, style
from app.components.label_keys import BY_NAME, KEYMAP, help_overlay
from app.components.label_side import draw_acts, draw_progress
from app.components.page import page
from app.services import labelling
from app.services.views import LABELS

frame = page("Label", "Does the marked sentence answer the question? One key, one label, next.")
style()
state = st.session_state
holder = state.setdefault("_label_holder", secrets.token_hex(8))
state.setdefault("label_scores", url.get("scores") != "off")


def choose_queue() -> str:
    names = list(labelling.QUEUES)
    wanted = url.get("queue")
    if state.get("label_queue") not in names:
        state["label_queue"] = wanted if wanted in names else names[0]
    queue = st.segmented_control(
        "Queue",
        names,
        key="label_queue",
        required=True,
        format_func=lambda n: n.replace("-", " ").capitalize(),
    )
    st.caption(labelling.QUEUES[queue])
    url.put(queue=queue if queue != names[0] else None)
    return queue


def at_desk(queue: str) -> desks.Desk:
    """The desk of this sitting; a new one when corpus, name or queue changed."""
    slot = st.empty()  # always there: what comes and goes must not move what follows
    desk = state.get("_label_desk")
    if desk is None or (desk.corpus_id, desk.annotator_id, desk.queue) != (
        frame.corpus.id,
        frame.annotator.id,
        queue,
    ):
        acts = (
            desk.acts if desk and (desk.corpus_id, desk.annotator_id) == (frame.corpus.id, frame.annotator.id) else ()
        )
        with slot, st.spinner("Looking for what is most worth judging …"):
            desk = desks.sit_down(
                frame.wb,
                corpus_id=frame.corpus.id,
                annotator_id=frame.annotator.id,
                queue=queue,
                holder=holder,
                acts=acts,
            )
        state["_label_desk"] = desk
    return desk


@guarded
def act(name: str, showing: str) -> None:
    """One action for the item shown as `showing`; refused when another has taken its place."""
    desk = state.get("_label_desk")
    if desk is None or desk.showing != showing:
        st.toast(
            "That was for a sentence no longer shown; nothing was recorded.",
            icon=":material/block:",
        )
        return
    try:
        desk = step(name, desk)
    finally:  # whatever came of it, this showing is over: the listener sends one action for each
        state["_label_desk"] = desk.next_turn()


def step(name: str, desk: desks.Desk) -> desks.Desk:
    if name in LABELS:
        return desks.give(frame.wb, desk, name, scores_visible=state["label_scores"])
    if name == "undo":
        desk, done = desks.undo(frame.wb, desk)
        if not done:
            st.toast("There is nothing of yours to undo.", icon=":material/undo:")
    elif name == "back":
        return desks.back(frame.wb, desk)
    elif name == "forward":
        return desks.forward(frame.wb, desk)
    elif name == "help":
        state["_label_help"] = True
    return desk


@guarded
def open_pair(pair: desks.Pair) -> None:
    state["_label_desk"] = desks.open_pair(frame.wb, state["_label_desk"], pair)


def on_key() -> None:
    sent = state["label_listener"].key
    if sent:
        act(sent["act"], sent["doc"])


def button(name: str, desk: desks.Desk, *, primary: bool = False, disabled: bool = False) -> None:
    a = BY_NAME[name]
    st.button(
        f"{a.button} `{a.printed}`",
        key=f"label_{name}",
        on_click=act,
        args=(name, desk.showing),
        type="primary" if primary else "secondary",
        disabled=disabled,
        help=a.does,
        width="stretch",
    )


queue = choose_queue()
desk = at_desk(queue)
keys(
    key="label_listener",
    data={"map": KEYMAP, "doc": desk.showing},
    on_key_change=on_key,
)
work, side = st.columns([2.3, 1], gap="large")
with work:
    with st.container(border=True):
        if desk.item is None:
            label_waiting.draw(frame.wb, frame.corpus, desk)
        else:
            draw(desk.item, scores_visible=state["label_scores"])
    with st.container(horizontal=True):
        for name in LABELS:
            button(name, desk, disabled=desk.item is None)
    with st.container(horizontal=True):
        button("undo", desk)
        button("back", desk, disabled=not desk.can_go_back)
        button("forward", desk)
        button("help", desk)
    with st.container(horizontal=True, vertical_alignment="center"):
        scores = st.toggle(
            "Show scores",
            key="label_scores",
            help="Each label remembers whether you saw them.",
        )
        if desk.item is not None:
            st.caption(f"{desk.item.queue_length:,} left in this queue")
    url.put(scores=None if scores else "off")
with side:
    draw_progress(labelling.progress(frame.wb, frame.corpus.id, frame.annotator.id), frame.annotator.name)
    draw_acts(desk.acts, on_undo=lambda: act("undo", desk.showing), on_open=open_pair)
if state.pop("_label_help", False):
    help_overlay()
