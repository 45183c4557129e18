"""Which words of the question a sentence makes likelier than the average candidate does: a strip of words."""

import math
from collections.abc import Sequence

import streamlit as st

from app.ask.explanation import WordGain
from app.ui.text import escape
from as2core.messages import count
from as2core.text import STOP_WORDS, tokenize

FULL_RATIO = 8.0  # so many times likelier, or less likely, has the strongest background
MIN_RATIO = 1.25  # a ratio below is no difference worth a background


def compute_strength(gain: float) -> float:
    """The background's strength: 0 for what is as likely as from the average candidate, 1 from `FULL_RATIO` on."""
    size = abs(gain)
    return 0.0 if size < math.log(MIN_RATIO) else min(1.0, size / math.log(FULL_RATIO))


def format_ratio(gain: float) -> str:
    """`5.2`, `16`; how many times likelier, or less likely if the gain is below 0."""
    ratio = math.exp(min(abs(gain), 700.0))
    return f"{ratio:.1f}" if ratio < 9.95 else f"{ratio:,.0f}" if ratio < 1e6 else "over a million"


def describe_gain(word: str, gain: float) -> str:
    """`“chocolate” is 5.2 times likelier from this sentence than from the average candidate`."""
    if compute_strength(gain) == 0:
        return f"“{word}” is about as likely from this sentence as from the average candidate"
    if gain > 0:
        return f"“{word}” is {format_ratio(gain)} times likelier from this sentence than from the average candidate"
    return f"“{word}” is {format_ratio(gain)} times less likely from this sentence than from the average candidate"


def render_word_scores(gains: Sequence[WordGain]) -> str:
    """The strip and a sentence on it, as HTML. Every word shows its ratio, with × for likelier and ÷ for less likely,
    so nothing depends on colour alone."""
    cells = []
    for g in gains:
        strength, ratio = compute_strength(g.gain), format_ratio(g.gain)
        kind = "as2-word as2-word-less" if g.gain < 0 and strength else "as2-word"
        sign, hint = "÷" if g.gain < 0 and ratio != "1.0" else "×", escape(describe_gain(g.word, g.gain))
        cells.append(
            f'<span class="{kind}" style="--as2-heat:{strength * 100:.0f}%" title="{hint}">'
            f"<span>{escape(g.word)}</span><small>{sign} {ratio}</small></span>"
        )
    return f'<div class="as2-heat" dir="auto">{"".join(cells)}</div>{render_summary(gains)}'


def render_summary(gains: Sequence[WordGain]) -> str:
    """The word that gained most, in a sentence: one of the words that carry meaning if any of them gained."""
    likelier = [g for g in gains if g.gain > 0 and compute_strength(g.gain) > 0]
    content = [g for g in likelier if not STOP_WORDS.issuperset(tokenize(g.word))]
    best = max(content or likelier, key=lambda g: g.gain, default=None)
    if best is None:
        return '<p class="as2-note as2-heat-note">No word is clearly likelier from this sentence.</p>'
    return f'<p class="as2-note as2-heat-note">{escape(describe_gain(best.word, best.gain))}.</p>'


def draw_word_scores(gains: Sequence[WordGain], candidates: int) -> None:
    st.html(render_word_scores(gains))
    st.caption(
        "How likely the generative ranker finds each word, given this sentence and the words before it: ×\u00a0times "
        f"likelier, ÷\u00a0times less likely than the mean over the {count(candidates, 'candidate')} ranked."
    )
