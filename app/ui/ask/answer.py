"""The answer: a sentence between its neighbours, its probability in words and as a number, and its document."""

import streamlit as st

from app.ask.asking import AskView
from app.ranking.retrieval import RetrievedSentence
from app.ui.text import count, escape, name_document, percent, plain

VERDICTS = (
    (0.95, "Almost certainly the answer"),
    (0.8, "Very likely the answer"),
    (0.6, "Probably the answer"),
    (0.4, "Perhaps the answer"),
    (0.0, "Possibly the answer"),
)


def describe_probability(probability: float) -> str:
    """A calibrated probability above the threshold, in words."""
    return next(words for floor, words in VERDICTS if probability >= floor)


def render_context(candidate: RetrievedSentence, *, quiet: bool = False) -> str:
    """The sentence marked between its neighbours, as HTML. `quiet` marks it without the accent."""
    around = [f'<span class="as2-near">{escape(t)}</span>' if t else "" for t in (candidate.before, candidate.after)]
    kind = "as2-mark as2-mark-quiet" if quiet else "as2-mark"
    title = escape(name_document(candidate.title))
    source = f'<p class="as2-source">{title} <span>· sentence {candidate.position + 1}</span></p>'
    text = f'{around[0]} <mark class="{kind}">{escape(candidate.text)}</mark> {around[1]}'
    return f'<p class="as2-passage" dir="auto">{text}</p>{source}'


def render_meter(probability: float, threshold: float) -> str:
    """A bar with a notch at the threshold, with a sentence for screen readers."""
    label = f"probability {percent(probability)}, threshold for an answer {percent(threshold)}"
    bar = f'<i style="width:{probability * 100:.1f}%"></i><b style="left:{threshold * 100:.1f}%"></b>'
    return f'<div class="as2-meter" role="img" aria-label="{label}">{bar}</div>'


def draw_answer(view: AskView, position: int) -> None:
    """The candidate at `position` as the answer, or as the best candidate where none reaches the threshold."""
    candidate, probability = view.candidates[position], float(view.probability[position])
    kind, label = "as2-answer", "Answer"
    if not view.is_calibrated:
        note = f"Score {probability:.2f}. This model is not calibrated: "
        note += "its scores only rank, they are not probabilities."
        body = f'<p class="as2-verdict">Best candidate</p>{render_context(candidate)}<p class="as2-note">{note}</p>'
    elif probability < view.threshold:
        kind, label = "as2-answer as2-answer-none", "No answer"
        note = f"The best candidate has a probability of {percent(probability)}. "
        note += f"An answer needs {percent(view.threshold)}."
        body = f'<p class="as2-verdict">No answer found in this corpus</p><p class="as2-note">{note}</p>'
        body += render_meter(probability, view.threshold) + render_context(candidate, quiet=True)
    else:
        verdict = f"{describe_probability(probability)} <span>{percent(probability)}</span>"
        body = f'<p class="as2-verdict">{verdict}</p>{render_meter(probability, view.threshold)}'
        body += render_context(candidate)
    st.html(f'<section class="{kind}" aria-label="{label}">{body}</section>')


def draw_facts(view: AskView) -> None:
    """What was searched, how long it took, and the services' notes."""
    documents = len({c.document_id for c in view.candidates})
    total = view.seconds.get("total", sum(view.seconds.values()))
    amount = f"{count(len(view.candidates), 'sentence')} from {count(documents, 'document')}"
    if view.trace.first is not None:
        amount = f"{view.trace.first.survivors:,} of {amount}"
    st.caption(f"Ranked {amount} in {total:.1f} s; retrieval took {view.seconds.get('retrieve', 0.0):.2f} s of it.")
    for note in view.notes:
        st.caption(plain(note))
