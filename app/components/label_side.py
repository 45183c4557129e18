"""Beside the item: how far labelling is, and the last acts with a way back."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from app.components.figures import figures
from app.components.label_desk import WITHDRAWN, Act, Pair
from app.components.label_item import tag
from app.components.text import count, escaped, plain, shorten
from app.services.views import ProgressView


def draw_progress(progress: ProgressView, name: str) -> None:
    """Four numbers and a bar: this annotator's share of what there is to judge."""
    total = progress.mine + progress.remaining
    share = progress.mine / total if total else 0.0
    rows = (
        ("Today", progress.today, "Your labels since midnight (UTC)"),
        ("Mine", progress.mine, "Pairs that carry a label of yours"),
        ("All", progress.all, "Pairs labelled by anyone, those of the starter corpus included"),
        ("Left", progress.remaining, "Candidates of this corpus without a label of yours"),
    )
    figures(rows, name="as2-progress")
    st.progress(
        min(1.0, share),
        text=f"{share:.0%} of {count(total, 'candidate')} judged by {plain(name)}",
    )
    if progress.per_label:
        parts = [f"{progress.per_label.get(k, 0):,} {k}" for k in ("correct", "incorrect", "unsure")]
        st.caption(f"By everyone: {', '.join(parts)}, on {count(progress.questions_labelled, 'question')}.")


def draw_acts(
    acts: tuple[Act, ...],
    *,
    on_undo: Callable[[], None],
    on_open: Callable[[Pair], None],
) -> None:
    """Newest first. The newest can be undone, the others opened to change them."""
    st.subheader("What you just did", anchor=False)
    if not acts:
        st.caption("Your last labels appear here, each with a way back.")
        return
    for i, act in enumerate(acts):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.html(
                f'<div class="as2-act" data-testid="as2-act">{tag(act.label)} {escaped(shorten(act.text, 70))}'
                f'<span class="asked">{escaped(shorten(act.question, 64))}</span></div>'
            )
            if i == 0 and act.label != WITHDRAWN:
                st.button("Undo", key="label_act_undo", type="tertiary", icon=":material/undo:", on_click=on_undo)
            else:
                pair = (act.question_id, act.sentence_id)
                st.button("Open", key=f"label_act_open_{i}", type="tertiary", icon=":material/edit:", on_click=on_open,
                          args=(pair,), help="Show it again, to change the label")  # fmt: skip
