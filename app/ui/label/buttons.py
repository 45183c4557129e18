"""Correct, Incorrect, Unsure for a candidate on the page Ask, and its stored label."""

from collections.abc import Mapping

import streamlit as st

from app.ask.asking import AskView
from app.labels import annotation, guidelines
from app.labels.items import Presentation
from app.labels.queues import ASK
from app.ui import errors, url
from app.ui.page import Frame
from app.ui.text import plain
from as2core.types import CORRECT, INCORRECT, LABELS, UNSURE

STYLES = {
    CORRECT: ("Correct", ":material/check:"),
    INCORRECT: ("Incorrect", ":material/close:"),
    UNSURE: ("Unsure", ":material/question_mark:"),
}
# place on the page -> which candidate is there; read out with the buttons' names, which would be the same otherwise
CANDIDATES = {
    "answer": "",
    "near": "candidate beside the picture",
    "table": "candidate from the table",
    "together": "best by both rankers",
    "base": "first answer",
    "against": "second answer",
}
UNLABELLED = "Does it answer the question? A retrain learns from your labels."
LAST_LABELLED_ID = "_as2_labelled"  # of the session: the question that got a label on Ask last
LOCKED = "Someone else is labelling this item, or you have it open in another window. Press → for the next one."


def draw_label_buttons(
    frame: Frame, view: AskView, sentence: int, *, rank: int | None, mine: str | None, where: str
) -> None:
    """Draw them for the sentence of that id. Keys are static a place: per-candidate ones replay old clicks when a rerun
    interrupts the run. `rank`: None if it was not retrieved. `mine` is this annotator's label at present, as the
    database has it; `draw_label_state` says it below. `where`: of `CANDIDATES`."""
    why, address = frame.explain_refusal(), url.read_question()
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", width="content", key=f"as2-labels-{where}"
    ):
        for label in LABELS:
            name, icon = STYLES[label]
            st.button(
                _name_button(name, where),
                icon=icon,
                key=f"as2_label_{where}_{label}",
                type="primary" if mine == label else "secondary",
                disabled=bool(why),
                help=why,
                on_click=_give,
                args=(frame, view, sentence, rank, label, address),
            )


def draw_label_state(
    frame: Frame, view: AskView, sentence: int, *, mine: str | None, where: str, has_other_wording: bool = False
) -> None:
    """Below the buttons: the stored label, and the way to take it back. The line is there without a label, too, so that
    nothing moves when one is given. `has_other_wording`: whether a label for the question in other words is shown."""
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", width="content", key=f"as2-state-{where}"
    ):
        if not mine:
            text = "You have not labelled it for this wording." if has_other_wording else UNLABELLED
            st.caption(text, width="content")
            return
        signed = f":green[:material/check:] Stored as {mine}, signed {plain(frame.annotator.name)}."
        st.caption(signed, width="content")
        why = frame.explain_refusal()
        st.button(_name_button("Withdraw", where), key=f"as2_label_{where}_withdraw", type="tertiary",
                  disabled=bool(why), help=why, on_click=_withdraw,
                  args=(frame, view, sentence, url.read_question()))  # fmt: skip


def _name_button(name: str, where: str) -> str:
    """What stands in `code` is not drawn, but read out (theme.css)."""
    return f"{name} `({CANDIDATES[where]})`" if CANDIDATES[where] else name


def is_seen(address: Mapping[str, str]) -> bool:
    """Whether the browser showed what was drawn with this address when the click came, which is told otherwise."""
    if is_late := url.is_late(address):
        st.toast("The answer has just changed. Nothing was recorded.", icon=":material/block:")
    return not is_late


@errors.guard
def _give(frame: Frame, view: AskView, sentence: int, rank: int | None, label: str, address: Mapping[str, str]) -> None:
    if not is_seen(address):
        return
    annotation.give_label(
        frame.wb,
        question_id=view.question_id,
        sentence_id=sentence,
        annotator_id=frame.annotator.id,
        label=label,
        presentation=Presentation(
            version=view.version,
            rank=rank,
            scores_visible=True,
            queue=ASK,
            guideline=guidelines.read_guidelines(frame.wb, view.corpus_id).version,
        ),
    )
    st.session_state[LAST_LABELLED_ID] = view.question_id


@errors.guard
def _withdraw(frame: Frame, view: AskView, sentence: int, address: Mapping[str, str]) -> None:
    if is_seen(address):
        by = frame.annotator.id
        annotation.withdraw(frame.wb, question_id=view.question_id, sentence_id=sentence, annotator_id=by)
