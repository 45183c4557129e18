"""Beside the item: how far labelling is, the guidelines, and the last acts with a way back."""

from collections.abc import Callable, Sequence

import streamlit as st

from app.adapt import readiness
from app.adapt.readiness import Distance
from app.labels.annotation import ActView
from app.labels.guidelines import GuidelineView
from app.labels.progress import ProgressView
from app.labels.queues import QUEUES, REVIEWS, TOPS, UNLABELLED
from app.ui import navigation, url
from app.ui.figures import draw_figures
from app.ui.label.desk import Pair
from app.ui.label.item import render_tag
from app.ui.label.shortcuts import LIST
from app.ui.page import Frame
from app.ui.text import escape, plain, shorten
from app.workbench.people import NOBODY
from as2core.messages import count
from as2core.types import LABELS

_GUIDELINES = "_label_guidelines"  # of the session: (corpus id, version) last shown
ENOUGH = "Enough for a first retrain:"
NOT_YET = "A retrain cannot start with these labels yet:"  # such as those of questions that the model knows


def ask_for_name(frame: Frame, overlap: int) -> None:
    """Where `overlap` people label a pair: all without a name are one person there, whom no second one follows."""
    if frame.annotator.name == NOBODY and overlap > 1:
        st.warning("Type your name in the sidebar first: all who label without one count as one person.",
                   icon=":material/badge:")  # fmt: skip


def draw_progress(progress: ProgressView, name: str, queue: str) -> None:
    """What is left in the queue, the labels of the corpus, and a bar towards the target, if any. A review has no bar:
    what is left in it is labelled, too. How many labels a decision still needs, its conclusion says."""
    target = 0 if queue in REVIEWS else progress.target or 0
    if queue in QUEUES:
        left = ("Candidates left in this queue", progress.remaining, "Those you can still label")
        if queue == UNLABELLED:
            left = ("Questions left in this queue", progress.remaining, "Those that still need a label")
        draw_figures((left,), name="as2-left")
    st.markdown("**Labelled pairs in this corpus**")
    rows = (
        ("Mine today", progress.today, "Your labels since midnight, in all queues of this corpus"),
        ("Mine", progress.mine, f"Sentences labelled by {name}, in all queues of this corpus"),
        ("Everyone’s", progress.all, "Sentences labelled by anyone, including labels imported with the corpus"),
    )
    draw_figures(rows, name="as2-progress", even=True)
    if target:
        missing = max(0, target - progress.all)
        text = f"{progress.all:,} of {count(target, 'pair')} wanted, {missing:,} to go"
        st.progress(min(1.0, progress.all / target), text=text)
    pace = f" {count(max(1, round(progress.pace)), 'label')} a minute." if progress.pace else ""
    if progress.per_label:
        kinds = [k for k, n in progress.per_label.items() if n or k in LABELS]
        parts = [f"{progress.per_label[k]:,} {k}" for k in kinds]
        st.caption(f"By everyone: {', '.join(parts)}, on {count(progress.labelled_questions, 'question')}.{pace}")


def draw_retrain(frame: Frame) -> None:
    """What a first retrain still needs, or the way to it."""
    distance = readiness.measure_distance(frame.wb, frame.corpus.id)
    others = count(distance.non_training, "labelled question is", "labelled questions are")
    note = f" ({others} held out or for validation.)" if distance.non_training else ""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="label_retrain"):
        st.markdown(f"{describe_distance(distance)}{note}", width="stretch" if distance.missing else "content")
        draw_next_step(distance)


def describe_distance(distance: Distance) -> str:
    """How far the labels are from a first retrain; before `draw_next_step`."""
    if distance.is_enough:
        return ENOUGH
    if distance.missing:
        return f"A retrain needs a correct label on {count(distance.missing, 'more question')}."
    if distance.incomplete_ids:
        held_out = count(len(distance.incomplete_ids), "held-out question needs", "held-out questions need")
        return f"To compare before and after, {held_out} labels of both kinds:"
    return NOT_YET


def draw_next_step(distance: Distance) -> None:
    """The way to what the labels allow, or still need in a certain place."""
    if distance.incomplete_ids:
        draw_link_to_lists("Label them", distance.incomplete_ids)
    elif not distance.missing:
        navigation.to("adapt", "Adapt")


def draw_link_to_lists(label: str, question_ids: Sequence[int]) -> None:
    """To the whole lists of these questions."""
    navigation.to("label", label, queue=TOPS, mode=LIST, only=url.format_numbers(question_ids))


def draw_guidelines(guidelines: GuidelineView, corpus_id: int) -> None:
    """They are an admin's text: Markdown is what they are written in. A version that came since the last run is told,
    as the labels are given under it from now on."""
    before, now = st.session_state.get(_GUIDELINES), (corpus_id, guidelines.version)
    if before is not None and before[0] == corpus_id and before != now:
        st.toast("The guidelines have changed. They are beside the sentence.", icon=":material/menu_book:")
    st.session_state[_GUIDELINES] = now
    with st.expander("Guidelines", icon=":material/menu_book:", expanded=True, key="label_guidelines"):
        st.markdown(guidelines.text)
        by = f", by {plain(guidelines.by)}" if guidelines.by else ""
        st.caption(f"{guidelines.name}{by}. Each label is stored with the version it was given under.")


def draw_acts(
    acts: tuple[ActView, ...],
    *,
    on_undo: Callable[[], None],
    on_open: Callable[[Pair], None],
    why_closed: str | None = None,
) -> None:
    """Newest first. The newest can be undone unless `why_closed` says why not, the others opened to change them."""
    st.header("Your last actions", anchor=False)
    if not acts:
        st.caption("Your last labels appear here. You can undo or change them.")
        return
    for i, act in enumerate(acts):
        more = f" and {act.pairs - 1:,} more" if act.pairs > 1 else ""
        with st.container(horizontal=True, vertical_alignment="top", gap="small", key=f"as2-act-{i}"):
            st.html(
                f'<div class="as2-act" data-testid="as2-act">{render_tag(act.label)} '
                f"<bdi>{escape(shorten(act.text, 70))}</bdi>{more}"
                f'<span class="asked" dir="auto">{escape(shorten(act.question, 64))}</span></div>'
            )
            if i == 0:
                st.button("Undo", key="label_act_undo", type="tertiary", icon=":material/undo:",
                          disabled=bool(why_closed), help=why_closed, on_click=on_undo)  # fmt: skip
            else:
                pair = (act.question_id, act.sentence_id)
                st.button("Open", key=f"label_act_open_{i}", type="tertiary", icon=":material/edit:", on_click=on_open,
                          args=(pair,), help="Show the item again to change its label")  # fmt: skip
