"""Under an answer that is not labelled correct: the sentence that is, and how far it came."""

from collections.abc import Mapping, Sequence

import streamlit as st

from app.ask.asking import AskView
from app.ask.overlooked import OverlookedSentence, list_overlooked_sentences
from app.labels.queues import TOPS
from app.ui import navigation
from app.ui.ask import result
from app.ui.ask.drop_reason import list_standings
from app.ui.ask.notes.document_link import draw_document_link
from app.ui.page import Frame
from app.ui.text import name_document, plain, shorten
from as2core.cascade.trace import CascadeTrace
from as2core.types import INCORRECT

MAX_TEXT_CHARS = 160


def draw_overlooked_note(frame: Frame, view: AskView, run: CascadeTrace, best: int, labels: Mapping[int, str]) -> None:
    """The container is there in any case, so that nothing below moves to another place."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="as2-overlooked"):
        sentences = list_overlooked_sentences(frame.wb, view, run, labels)
        if not sentences:
            return
        was_rejected = labels.get(view.candidates[best].sentence_id) == INCORRECT
        st.markdown(describe_overlooked_sentences(run, sentences, was_rejected=was_rejected), width="stretch")
        first = sentences[0]
        if first.candidate is not None:
            st.button("Show details", key="as2_overlooked", type="tertiary", icon=":material/search:",
                      on_click=result.choose, args=(first.candidate,))  # fmt: skip
        else:
            draw_document_link(frame, first.document_id, first.position)
        navigation.to("label", "Label its candidates", corpus=frame.corpus.name, queue=TOPS, mode="list",
                      only=str(view.question_id))  # fmt: skip


def describe_overlooked_sentences(
    run: CascadeTrace, sentences: Sequence[OverlookedSentence], *, was_rejected: bool
) -> str:
    """As Markdown: the best-ranked of them, and how many more there are. `was_rejected`: the answer is labelled
    incorrect."""
    first, others = sentences[0], len(sentences) - 1
    place = f"{name_document(first.title, first.heading)}, sentence {first.position + 1}"
    source = f"{place}; {describe_rank(run, first.candidate)}"
    return (
        f":green[:material/check:] Labelled correct{' instead' if was_rejected else ''}: "
        f"“{plain(shorten(first.text, MAX_TEXT_CHARS))}” ({plain(source)})"
        + (f" and {others:,} more" if others else "")
    )


def describe_rank(run: CascadeTrace, candidate: int | None) -> str:
    """Where the model has it."""
    if candidate is None:
        return "the search did not retrieve it"
    last = list_standings(run, candidate)[-1]
    if last.stays:
        return f"rank {last.rank:,}"
    is_first = run.first is not None and candidate in run.first.dropped
    return f"dropped {'by the' if is_first else 'after'} {last.title}, rank {last.rank:,}"
