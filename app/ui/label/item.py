"""The item to label, as markup: why it is offered, the question, and the candidate marked among its neighbours."""

from pathlib import Path

import streamlit as st

from app.labels.items import QuestionItem, QueueItem
from app.labels.queues import DECIDE, QUEUES
from app.ui.text import drop_announcement, escape, name_document, shorten

MAX_QUESTION_CHARS = 200  # of a question above what is labelled for it
_CSS = Path(__file__).with_name("label.css")


def draw_style() -> None:
    """The style sheet of the label page's markup; once a run."""
    st.html(_CSS)


def render_tag(label: str) -> str:
    return f'<span class="as2-tag {escape(label)}">{escape(label.capitalize())}</span>'


def show_context(source: str, before: str, text: str, after: str) -> str:
    """A sentence marked between its neighbours, below its `source`, as HTML."""
    near = [f'<span class="near">{escape(drop_announcement(t, text))}</span>' for t in (before, after)]
    line = f'<p class="source">{escape(source)}</p>'
    return f'{line}<p class="context" dir="auto">{near[0]} <mark>{escape(text)}</mark> {near[1]}</p>'


def note_non_training(item: QueueItem | QuestionItem) -> str:
    """HTML, "" for a question that a retrain learns from."""
    if not item.is_non_training:
        return ""
    return '<p class="source">Held out or for validation: a retrain does not learn from this question.</p>'


def goes_by_probability(item: QueueItem | QuestionItem) -> bool:
    """Whether its queue is in the order of the probability, which is of no use elsewhere: the one that Ask shows is a
    share among all candidates of the question."""
    queue = QUEUES.get(item.assignment.queue)
    return queue is not None and queue.is_by_probability and not item.assignment.control


def explain_choice(reason: str, description: str, *, of: str = "one") -> str:
    """Why the queue offers an item or one of its list, as HTML; "" for what its description above says already."""
    reason = reason.removeprefix(description).strip()
    return f"<b>Why this {of}:</b> {escape(reason)}" if reason else ""


def draw(item: QueueItem, *, scores_visible: bool, description: str) -> None:
    """`description`: of the queue, as it stands above the item."""
    own = f"<span>Your label:</span> {render_tag(item.label)}" if item.label else ""
    show_scores = scores_visible and not item.assignment.is_blind
    why = item.why if show_scores else item.why_unscored
    texts = _scores(item) if show_scores else ""
    scores = f'<p class="scores">{texts}</p>' if texts else ""
    others = "".join(f"<span>{escape(name)}: {render_tag(label)}</span>" for name, label in item.peers)
    peers = f'<p class="scores">{others}</p>' if others else ""
    st.html(
        f"""<div class="as2-item" data-testid="as2-item">
        <p class="why"><span>{explain_choice(why, description)}</span> {own}</p>
        <h2 class="asked" dir="auto">{escape(shorten(item.question, MAX_QUESTION_CHARS))}</h2>{note_non_training(item)}
        {show_context(name_document(item.title, item.heading), item.before, item.text, item.after)}
        {scores}{peers}</div>"""
    )
    draw_long_question(item)


def draw_long_question(item: QueueItem | QuestionItem) -> None:
    """The way to all of a question that is shown cut."""
    if len(item.question) > MAX_QUESTION_CHARS:
        with st.expander("The whole question", key=f"label_question_{item.question_id}"):
            st.html(f'<p class="as2-question" dir="auto">{escape(item.question)}</p>')


def _scores(item: QueueItem) -> str:
    parts = []
    if item.rank is not None:
        parts.append(f"cascade rank {item.rank} of {item.candidates}")
    if item.probability is not None and goes_by_probability(item):
        parts.append(f"own probability {item.probability:.2f}")
    if item.generative_rank is not None:
        parts.append(f"generative rank {item.generative_rank}")
    if not parts and item.assignment.queue == DECIDE:
        return ""  # its reason names two rankers' ranks
    if not parts:
        return "<span>Not ranked yet.</span>"
    if item.version:
        parts.append(f"version {escape(item.version)}")
    return "".join(f"<span>{p}</span>" for p in parts)
