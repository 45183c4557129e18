"""Beside the label buttons of Ask: whether the question is in the label queues, and how far its labels are."""

from collections.abc import Mapping

import streamlit as st

from app.adapt import readiness
from app.ask import stored_questions
from app.ask.asking import Answer, AskView
from app.labels import consensus
from app.ui import errors, url
from app.ui.label.buttons import LAST_LABELLED_ID, draw_label_state, is_seen
from app.ui.label.sidebar import describe_distance, draw_next_step
from app.ui.page import Frame
from app.ui.text import name_document, plain
from as2core.messages import count


def draw_hints(answer: Answer) -> None:
    """Why the models may not have understood the question."""
    for hint in answer.hints:
        st.caption(f":material/info: {plain(hint)}")


def draw_labels(
    frame: Frame, view: AskView, sentence_id: int, *, mine: str | None, where: str, has_other_wording: bool = False
) -> None:
    """`draw_label_state`, the label that came with the corpus, and the opposite one that a copy of the sentence has."""
    draw_label_state(frame, view, sentence_id, mine=mine, where=where, has_other_wording=has_other_wording)
    if mine and (note := _describe_opposite(frame, view, sentence_id)):
        st.caption(f":material/difference: {plain(note)}", width="content")
    if label := consensus.read_corpus_labels(frame.wb, view.question_id).get(sentence_id):
        st.caption(f"The corpus came with this sentence labelled {label}.", width="content")


def _describe_opposite(frame: Frame, view: AskView, sentence_id: int) -> str:
    """ "" where no other candidate of the same words has the opposite label of this person's."""
    ids = [c.sentence_id for c in view.candidates]
    if sentence_id not in ids:
        return ""
    mine = consensus.read_labels(frame.wb, view.question_id, frame.annotator.id)
    texts, labels = [c.text for c in view.candidates], [mine.get(i) for i in ids]
    if (place := consensus.find_opposite(texts, labels, ids.index(sentence_id))) is None:
        return ""
    other = view.candidates[place]
    return f"You labelled the same words {labels[place]} in “{name_document(other.title, other.heading)}”."


def draw_queue_state(frame: Frame, question_id: int) -> None:
    """Whether the label queues offer the question, and the way in or out."""
    is_queued, why = stored_questions.is_queued(frame.wb, question_id), frame.explain_refusal()
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="as2-queue", width="content"):
        if is_queued:
            st.caption(":material/playlist_add_check: In the label queue", width="content")
        st.button(
            "Remove from the queue" if is_queued else "Add to the label queue",
            icon=None if is_queued else ":material/playlist_add:",
            key=f"as2_queue__{'out' if is_queued else 'in'}",
            type="tertiary",
            disabled=bool(why),
            help=why or ("Labels of the question stay" if is_queued else "Offer its candidates on the page Label"),
            on_click=_set_queued,
            args=(frame, question_id, not is_queued, url.read_question()),
        )


@errors.guard
def _set_queued(frame: Frame, question_id: int, queued: bool, address: Mapping[str, str]) -> None:
    if not is_seen(address):
        return
    stored_questions.set_queued(frame.wb, [question_id], queued=queued, by=frame.annotator.id)


def draw_label_count(frame: Frame, question_id: int) -> None:
    """After a label on this question: how many the corpus has, and what a retrain still needs."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content", key="as2-count"):
        if st.session_state.get(LAST_LABELLED_ID) != question_id:
            return
        distance = readiness.measure_distance(frame.wb, frame.corpus.id)
        st.caption(f"{count(distance.labels, 'label')}. {describe_distance(distance)}", width="content")
        draw_next_step(distance)
