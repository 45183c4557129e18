"""The answer: a sentence among its neighbours, how sure the model is in words and in a number, and where it stands."""

from __future__ import annotations

import streamlit as st

from app.components.text import count, escaped, percent, plain, titled
from app.services.views import AskView, CandidateView

WORDS = (
    (0.95, "Almost certainly the answer"),
    (0.8, "Very likely the answer"),
    (0.6, "Probably the answer"),
    (0.4, "Perhaps the answer"),
    (0.0, "Possibly the answer"),
)


def in_words(probability: float) -> str:
    """A calibrated probability said aloud, for one that counts as an answer."""
    return next(words for floor, words in WORDS if probability >= floor)


def in_context(candidate: CandidateView, *, quiet: bool = False) -> str:
    """The sentence marked between its neighbours, as HTML. `quiet` marks it without the accent."""
    around = [f'<span class="as2-near">{escaped(t)}</span>' if t else "" for t in (candidate.before, candidate.after)]
    kind = "as2-mark as2-mark-quiet" if quiet else "as2-mark"
    title = escaped(titled(candidate.title))
    source = f'<p class="as2-source">{title} <span>· sentence {candidate.position + 1}</span></p>'
    text = f'{around[0]} <mark class="{kind}">{escaped(candidate.text)}</mark> {around[1]}'
    return f'<p class="as2-passage" dir="auto">{text}</p>{source}'


def meter(probability: float, threshold: float | None) -> str:
    """A bar with a notch at the threshold, read out as one sentence."""
    told = f"probability {percent(probability)}"
    notch = ""
    if threshold is not None:
        told += f", an answer takes {percent(threshold)}"
        notch = f'<b style="left:{threshold * 100:.1f}%"></b>'
    fill = f'<i style="width:{probability * 100:.1f}%"></i>'
    return f'<div class="as2-meter" role="img" aria-label="{told}">{fill}{notch}</div>'


def draw_answer(asked: AskView, position: int) -> None:
    """The candidate at `position` as the answer, or as the nearest thing to one where none reaches the threshold."""
    candidate, probability = asked.candidates[position], float(asked.probability[position])
    if not asked.calibrated:
        head = "The best candidate"
        note = f"Score {probability:.2f}. This model's scores are not calibrated: read them as an order only."
        body = f'<p class="as2-verdict">{head}</p>{in_context(candidate)}<p class="as2-note">{note}</p>'
        st.html(f'<section class="as2-answer" aria-label="Answer">{body}</section>')
        return
    if probability < asked.threshold:
        note = (
            f"The nearest sentence has a probability of {percent(probability)}; "
            f"from {percent(asked.threshold)} on it would count as an answer."
        )
        head = '<p class="as2-verdict">This corpus seems to hold no answer.</p>'
        inside = f'{head}<p class="as2-note">{note}</p>{meter(probability, asked.threshold)}'
        inside += in_context(candidate, quiet=True)
        st.html(f'<section class="as2-answer as2-answer-none" aria-label="No answer">{inside}</section>')
        return
    head = f'<p class="as2-verdict">{in_words(probability)} <span>{percent(probability)}</span></p>'
    inside = f"{head}{meter(probability, asked.threshold)}{in_context(candidate)}"
    st.html(f'<section class="as2-answer" aria-label="Answer">{inside}</section>')


def draw_facts(asked: AskView) -> None:
    """What was looked through, how long it took, and what the services noted."""
    documents = len({c.document_id for c in asked.candidates})
    total = asked.seconds.get("total", sum(asked.seconds.values()))
    found = f"{count(len(asked.candidates), 'sentence')} of {count(documents, 'document')}"
    if asked.trace.first is not None:
        found = f"{asked.trace.first.kept:,} of {found}"
    st.caption(f"Ranked {found} in {total:.1f} s, of which retrieval took {asked.seconds.get('retrieve', 0.0):.2f} s.")
    for note in asked.notes:
        st.caption(plain(note))
