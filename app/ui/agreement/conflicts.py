"""Conflicts, one under the other, each with the labels given and a place for the verdict."""

from collections.abc import Sequence

import streamlit as st

from app.labels import conflicts
from app.labels.conflicts import ConflictView, VerdictView
from app.labels.consensus import MAX_NOTE_CHARS
from app.ui import navigation
from app.ui.ask.notes.document_link import draw_document_link
from app.ui.errors import guard
from app.ui.label.buttons import STYLES
from app.ui.label.item import render_tag, show_context
from app.ui.page import Frame
from app.ui.session.unsaved import register_field
from app.ui.text import escape, name_document, plain
from as2core.messages import count
from as2core.types import LABELS

PAGE_SIZE = 20
_SETTLED_HERE = "_agreement_settled_here"  # in the session: the pairs


def draw(frame: Frame) -> None:
    views = conflicts.list_conflicts(frame.wb, frame.corpus.id, frame.annotator.id)
    open_, with_verdict = [c for c in views if not c.verdict], [c for c in views if c.verdict]
    here = st.session_state.setdefault(
        _SETTLED_HERE, set()
    )  # they keep their places, so that nothing moves under a click
    in_place = sorted((c for c in views if not c.verdict or _get_pair(c) in here), key=_get_pair)
    if not views:
        st.info("No conflicts among the labels you can see.", icon=":material/handshake:")
        return
    st.caption(
        f"{count(len(open_), 'conflict')} open, {len(with_verdict):,} settled. The verdict counts; the labels stay."
    )
    if not frame.is_admin:
        st.caption("These are conflicts about your labels. An admin settles them.")
    in_front = in_place[: PAGE_SIZE + len(in_place) - len(open_)]
    for number, conflict in enumerate(in_front, 1):
        _draw_conflict(frame, conflict, number)
    if len(open_) > PAGE_SIZE:
        st.caption(f"{count(len(open_) - PAGE_SIZE, 'more conflict')} will follow when these are settled.")
    # so many of the others, a click brings more: any of them can be reopened
    key = f"_agreement_settled_{frame.corpus.id}"
    limit = st.session_state.get(key, PAGE_SIZE)
    earlier = [c for c in with_verdict if _get_pair(c) not in here]
    for number, conflict in enumerate(earlier[:limit], len(in_front) + 1):
        _draw_conflict(frame, conflict, number)
    if len(earlier) > limit:
        st.button(f"Show more, {len(earlier) - limit:,} left", key="agreement_more", icon=":material/expand_more:",
                  on_click=st.session_state.__setitem__, args=(key, limit + PAGE_SIZE))  # fmt: skip


def _get_pair(conflict: ConflictView) -> tuple[int, int]:
    return conflict.question_id, conflict.sentence_id


def _draw_conflict(frame: Frame, conflict: ConflictView, number: int) -> None:
    """`number`: its place on the page, which tells its controls from those of the others where they are read out."""
    pair = "_".join(map(str, _get_pair(conflict)))
    before, after = conflicts.find_neighbours(frame.wb, conflict.sentence_id)
    labels = " ".join(f"<span>{escape(name)}: {render_tag(label)}</span>" for name, label in conflict.labels)
    with st.container(border=True, key=f"agreement_conflict_{pair}"):
        st.html(
            f'<div class="as2-item" data-testid="as2-conflict">'
            f'<p class="why">Conflict {number:,}</p><h2 class="asked" dir="auto">{escape(conflict.question)}</h2>'
            f"{show_context(name_document(conflict.title, conflict.heading), before, conflict.text, after)}"
            f'<p class="scores">{labels}</p>{_render_earlier(conflict.earlier)}</div>'
        )
        with st.container():  # in every run, or the buttons below would be drawn anew and lose the focus
            _draw_verdict(conflict)
        if conflict.is_gone:
            _draw_way_to_labels(frame)
        else:
            draw_document_link(frame, conflict.document_id, conflict.position)
        if not frame.is_admin:
            return
        register_field(_make_note_key(conflict), f"Reason, conflict {number:,}")
        st.text_input(f"Reason, conflict {number:,}", key=_make_note_key(conflict), max_chars=MAX_NOTE_CHARS,
                      placeholder="Reason (optional)", label_visibility="collapsed")  # fmt: skip
        with st.container(horizontal=True, key=f"agreement_verdicts_{pair}"):
            for label in LABELS:
                name, icon = STYLES[label]
                st.button(f"{name} `conflict {number:,}`", icon=icon, key=f"agreement_{pair}_{label}",
                          on_click=_settle, type="primary" if conflict.verdict == label else "secondary",
                          args=(frame, conflict, label))  # fmt: skip
            if conflict.verdict:
                st.button(f"Reopen `conflict {number:,}`", key=f"agreement_{pair}_open", type="tertiary",
                          on_click=_settle, args=(frame, conflict, None))  # fmt: skip


def _draw_way_to_labels(frame: Frame) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(":material/label_off: This sentence is in no document any more.", width="content")
        navigation.to("data", "Move its labels", corpus=frame.corpus.name, view="list", where="gone")


def _draw_verdict(conflict: ConflictView) -> None:
    if conflict.verdict:
        why = f": {plain(conflict.note)}" if conflict.note else ""
        st.caption(f":green[:material/gavel:] Settled as {conflict.verdict} by {plain(conflict.by)}{why}")


def _render_earlier(verdicts: Sequence[VerdictView]) -> str:
    """`Earlier: correct by ada (the manual says so); opened again by ben.`, as HTML."""
    parts = [
        f"{v.label if v.label in LABELS else 'opened again'} by {v.by}" + (f" ({v.note})" if v.note else "")
        for v in verdicts
    ]
    return f'<p class="scores">Earlier: {escape("; ".join(parts))}.</p>' if parts else ""


def _make_note_key(conflict: ConflictView) -> str:
    """The key of its field."""
    return "agreement_note_{}_{}".format(*_get_pair(conflict))


@guard
def _settle(frame: Frame, conflict: ConflictView, label: str | None) -> None:
    key = _make_note_key(conflict)  # read now: what was typed last came with the click
    st.session_state[_SETTLED_HERE].add(_get_pair(conflict))  # also where somebody else has settled it
    conflicts.adjudicate(
        frame.wb,
        question_id=conflict.question_id,
        sentence_id=conflict.sentence_id,
        annotator_id=frame.annotator.id,
        label=label,
        note=st.session_state.get(key, ""),
        base=conflict.verdict_id,
        labels=conflict.labels,
    )
    st.session_state[key] = ""
