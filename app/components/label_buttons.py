"""Correct, Incorrect, Unsure for a candidate in place, and what is stored about it."""

from __future__ import annotations

import streamlit as st

from app.components import errors
from app.components.page import Frame
from app.components.roles import barred
from app.components.text import plain
from app.services import labelling, rules
from app.services.views import CORRECT, INCORRECT, LABELS, UNSURE, AskView, Shown

LOOK = {
    CORRECT: ("Correct", ":material/check:"),
    INCORRECT: ("Incorrect", ":material/close:"),
    UNSURE: ("Unsure", ":material/question_mark:"),
}
HELD = "Somebody else is judging this just now, or you are in another window. The right arrow goes on."


def label_buttons(frame: Frame, asked: AskView, position: int, *, rank: int, mine: str | None, where: str) -> None:
    """Draw them for the candidate at `position`. Keys are static a place: per-candidate ones replay old clicks when a
    rerun interrupts the run. `mine` is this annotator's label at present, as the database has it."""
    sentence = asked.candidates[position].sentence_id
    why = barred(frame.annotator)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"as2-labels-{where}"):
        for label in LABELS:
            name, icon = LOOK[label]
            st.button(
                name,
                icon=icon,
                key=f"as2_label_{where}_{label}",
                type="primary" if mine == label else "secondary",
                disabled=bool(why),
                help=why,
                on_click=_give,
                args=(frame, asked, sentence, rank, label),
            )
        if mine:
            st.button("Withdraw", key=f"as2_label_{where}_withdraw", type="tertiary", disabled=bool(why),
                      on_click=_withdraw, args=(frame, asked, sentence))  # fmt: skip
            st.caption(f":green[:material/check:] Stored as {mine}, signed {plain(frame.annotator.name)}.")


@errors.guarded
def _give(frame: Frame, asked: AskView, sentence: int, rank: int, label: str) -> None:
    labelling.give_label(
        frame.wb,
        question_id=asked.question_id,
        sentence_id=sentence,
        annotator_id=frame.annotator.id,
        label=label,
        shown=Shown(
            version=asked.version,
            rank=rank,
            scores_visible=True,
            queue="ask",
            guideline=rules.guidelines(frame.wb, asked.corpus_id).version,
        ),
    )


@errors.guarded
def _withdraw(frame: Frame, asked: AskView, sentence: int) -> None:
    labelling.withdraw(frame.wb, question_id=asked.question_id, sentence_id=sentence, annotator_id=frame.annotator.id)
