"""Conflicts, one under the other, each with the labels given and a place for the verdict."""

from __future__ import annotations

import streamlit as st

from app.corpora.corpora import CorpusView
from app.labels import agreement
from app.labels.agreement import ConflictView
from app.labels.consensus import LABELS, MAX_NOTE_CHARS
from app.ui.errors import guarded
from app.ui.label.buttons import STYLES
from app.ui.label.item import tag
from app.ui.text import count, escaped, plain, titled
from app.workbench.people import AnnotatorView
from app.workbench.workbench import Workbench

PAGE_SIZE = 20


def draw(wb: Workbench, corpus: CorpusView, me: AnnotatorView) -> None:
    found = agreement.list_conflicts(wb, corpus.id, me.id)
    open_, settled = [c for c in found if not c.verdict], [c for c in found if c.verdict]
    if not found:
        st.info("No conflicts among the labels you can see.", icon=":material/handshake:")
        return
    st.caption(f"{count(len(open_), 'conflict')} open, {len(settled):,} settled. The verdict counts; the labels stay.")
    if me.role != "admin":
        st.caption("These are conflicts about your labels. An admin settles them.")
    for slot, conflict in enumerate(open_[:PAGE_SIZE]):
        _conflict(wb, me, conflict, slot)
    if len(open_) > PAGE_SIZE:
        st.caption(f"{count(len(open_) - PAGE_SIZE, 'more conflict')} will follow when these are settled.")
    _settled(wb, me, settled, f"_agreement_settled_{corpus.id}")


def _settled(wb: Workbench, me: AnnotatorView, settled: list[ConflictView], key: str) -> None:
    """So many of them, a click brings more: any of them can be reopened."""
    shown = st.session_state.get(key, PAGE_SIZE)
    for slot, conflict in enumerate(settled[:shown], PAGE_SIZE):  # behind the places of the open ones
        _conflict(wb, me, conflict, slot)
    if len(settled) > shown:
        st.button(f"Show more, {len(settled) - shown:,} left", key="agreement_more", icon=":material/expand_more:",
                  on_click=st.session_state.__setitem__, args=(key, shown + PAGE_SIZE))  # fmt: skip


def _conflict(wb: Workbench, me: AnnotatorView, conflict: ConflictView, slot: int) -> None:
    said = " ".join(f"<span>{escaped(name)}: {tag(label)}</span>" for name, label in conflict.labels)
    with st.container(border=True):
        st.html(
            f'<div class="as2-item" data-testid="as2-conflict"><h2 class="asked">{escaped(conflict.question)}</h2>'
            f'<p class="source">{escaped(titled(conflict.title))}</p>'
            f'<p class="context"><mark>{escaped(conflict.text)}</mark></p>'
            f'<p class="scores">{said}</p></div>'
        )
        if conflict.verdict:
            why = f": {plain(conflict.note)}" if conflict.note else ""
            st.caption(f":green[:material/gavel:] Settled as {conflict.verdict} by {plain(conflict.by)}{why}")
        if me.role != "admin":
            return
        st.text_input("Reason", key=_note(conflict), max_chars=MAX_NOTE_CHARS,
                             placeholder="Reason (optional)", label_visibility="collapsed")  # fmt: skip
        with st.container(horizontal=True):
            for label in LABELS:
                name, icon = STYLES[label]
                st.button(name, icon=icon, key=f"agreement_{slot}_{label}", on_click=_settle,
                          type="primary" if conflict.verdict == label else "secondary",
                          args=(wb, me.id, conflict, label))  # fmt: skip
            if conflict.verdict:
                st.button("Reopen", key=f"agreement_{slot}_open", type="tertiary", on_click=_settle,
                          args=(wb, me.id, conflict, None))  # fmt: skip


def _note(conflict: ConflictView) -> str:
    """The key of its field: the conflict's own, since a verdict moves conflicts to other places."""
    return f"agreement_note_{conflict.question_id}_{conflict.sentence_id}"


@guarded
def _settle(wb: Workbench, by: int, conflict: ConflictView, label: str | None) -> None:
    key = _note(conflict)  # read now: what was typed last came with the click
    agreement.adjudicate(
        wb,
        question_id=conflict.question_id,
        sentence_id=conflict.sentence_id,
        annotator_id=by,
        label=label,
        note=st.session_state.get(key, ""),
    )
    st.session_state[key] = ""
