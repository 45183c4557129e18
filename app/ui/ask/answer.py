"""The answer: a sentence between its neighbours, its probability in words and as a number, and its document."""

import streamlit as st

from app.ask.asking import Answer, AskView
from app.ranking.retrieval import RetrievedSentence
from app.ui import url
from app.ui.ask.score_words import render_summary, render_words
from app.ui.text import drop_announcement, escape, format_percent, name_document, plain
from as2core.cascade.attribution import Attribution
from as2core.messages import count

MIN_POSSIBLE = 0.45
VERDICTS = (
    (0.9, "Almost certainly the answer"),
    (0.75, "Very likely the answer"),
    (0.6, "Probably the answer"),
    (MIN_POSSIBLE, "Possibly the answer"),
    (0.1, "Uncertain"),
    (0.0, "Unlikely"),
)
READ_ON = "read the next candidates, too"  # after a percentage lower than MIN_POSSIBLE that no label confirms

BELOW_ANSWERS = (
    "This sentence comes closest, but its score is below that of most correct answers. The percentages in the table "
    "only compare the candidates with each other."
)
NO_ANSWER, NONE_BY_THE_RANKER = "No answer found in this corpus", "The ranker finds no answer"
MIN_SHOWN_SECONDS = 0.1  # of a question; what is below is not told more exactly


def describe_probability(probability: float) -> str:
    """How often such an answer is right, in words."""
    return next(words for floor, words in VERDICTS if round(probability, 2) >= floor)  # as the percentage is


def explain_probability(answer: Answer, probability: float) -> str:
    """What the percentage means, and how high it can be."""
    text = "About this share of answers with the same percentage were correct, on the questions it was fitted on."
    if not probability <= answer.max_probability < 1:
        return text
    limit = f"At most {format_percent(answer.max_probability)} for this version: so many had an answer that was found."
    return f"{text} {limit} The candidates of a question share one probability; as2 serve rates each by itself."


def render_percent(share: float) -> str:
    """Never broken over two lines."""
    return format_percent(share).replace(" ", "\u00a0")


def render_context(candidate: RetrievedSentence, *, quiet: bool = False, attribution: Attribution | None = None) -> str:
    """The sentence marked between its neighbours, as HTML. `quiet` marks it without the accent; an attribution marks
    the words that carried its score, and sums them up below."""
    neighbours = [drop_announcement(t, candidate.text) for t in (candidate.before, candidate.after)]
    around = [f'<span class="as2-near">{escape(t)}</span>' if t else "" for t in neighbours]
    kind = "as2-mark as2-mark-quiet" if quiet or attribution else "as2-mark"
    sentence, summary = escape(candidate.text), ""
    if attribution:
        sentence = render_words(candidate.text, attribution)
        summary = render_summary(candidate.text, name_document(candidate.title, candidate.heading), attribution)
    title = escape(name_document(candidate.title, candidate.heading))
    source = f'<p class="as2-source">{title} <span>· sentence {candidate.position + 1}</span></p>'
    text = f'{around[0]} <mark class="{kind}">{sentence}</mark> {around[1]}'
    return f'<p class="as2-passage" dir="auto">{text}</p>{summary}{source}'


def render_meter(probability: float) -> str:
    """A bar, with a sentence for screen readers."""
    bar = f'<i style="width:{probability * 100:.1f}%"></i>'
    return f'<div class="as2-meter" role="img" aria-label="probability {format_percent(probability)}">{bar}</div>'


def draw_answer(
    view: Answer,
    position: int,
    attribution: Attribution | None = None,
    *,
    name: str = "",
    mark: str = "",
    own_label: str = "",
    is_confirmed: bool = False,
    none: str = NO_ANSWER,
) -> None:
    """The best candidate, at `position`, as the answer, or as the best candidate where nothing speaks for it.
    `name` tells screen readers whose answer it is, where there is more than one. `mark`: HTML of a note on it;
    `own_label`: HTML of the reader's label, which takes no line of its own, so that no button moves when it is given;
    `is_confirmed`: it is labelled correct; `none`: what is said where nothing speaks for it."""
    candidate, probability = view.candidates[position], float(view.probability[position])
    kind, label, note = "as2-answer", "Answer", ""
    if not view.is_calibrated:
        verdict, meter = "Best candidate", ""
        note = (
            f"Score {probability:.2f}. This ranker is not calibrated: its scores only rank, they are not probabilities."
        )
    elif not view.is_answer[position]:
        if is_confirmed:
            meter, alone = "", "the ranker alone finds no answer"
            verdict = alone.capitalize() if own_label else f"Labelled correct; {alone}"  # which says it already
        else:
            kind, label = "as2-answer as2-answer-none", "No answer"
            verdict, meter, note = none, "", BELOW_ANSWERS
    else:
        title = explain_probability(view, probability)
        verdict = f'{describe_probability(probability)} <span title="{title}">{render_percent(probability)}</span>'
        verdict += f" · {READ_ON}" if round(probability, 2) < MIN_POSSIBLE and not is_confirmed else ""
        meter = render_meter(probability)
    context = render_context(candidate, quiet=label == "No answer", attribution=attribution)
    kind += " as2-answer-labelled" if is_confirmed else ""
    label += f" ({name})" if name else ""
    verdict = " · ".join(filter(None, (verdict, own_label)))
    draw_card(kind, label, verdict, meter, context, " · ".join(filter(None, (mark, note))))


def draw_card(kind: str, label: str, verdict: str, meter: str, context: str, note: str) -> None:
    """All but `kind` and `label` as HTML; `label` is for screen readers. The address tells which question the answer is
    to: a click counts for that alone (keys.js)."""
    note = f'<p class="as2-note">{note}</p>' if note else ""
    body = f'<p class="as2-verdict">{verdict}</p>{meter}{context}{note}'
    address = escape("|".join(url.read_question().values()))
    st.html(f'<section class="{kind}" aria-label="{escape(label)}" data-address="{address}">{body}</section>')


def draw_facts(view: AskView) -> None:
    """What was searched, how long it took, and the services' notes."""
    documents = len({c.document_id for c in view.candidates})
    total = view.seconds.get("total", sum(view.seconds.values()))
    amount = f"{count(len(view.candidates), 'sentence')} from {count(documents, 'document')}"
    if view.trace.first is not None:
        amount = f"{view.trace.first.survivors:,} of {amount}"
    retrieval = (
        "The search chose these documents from all of the corpus. "
        f"It took {describe_latency(view.seconds.get('retrieve', 0.0))} of the time."
    )
    st.caption(  # short: beside it, a switch comes with the first label, and nothing is to move then
        " ".join([f"Ranked {amount} in {describe_latency(total)}.", *map(plain, view.notes)]),
        help=retrieval if total >= MIN_SHOWN_SECONDS else None,
    )


def describe_latency(seconds: float) -> str:
    """`1.2 s`, and never `0.0 s`."""
    return f"under {MIN_SHOWN_SECONDS}\u00a0s" if seconds < MIN_SHOWN_SECONDS else f"{seconds:.1f}\u00a0s"
