"""Which words of the question a sentence explains: a strip of words with a background by log P."""

from collections.abc import Sequence
from statistics import fmean

import streamlit as st

from app.ui.text import escape

MIN_LOG_P = -8.0  # the background is empty from here down


def compute_strength(log_p: float) -> float:
    """The background's strength: 0 for `MIN_LOG_P` and less, 1 for a word that the sentence makes certain."""
    return min(1.0, max(0.0, 1.0 - log_p / MIN_LOG_P))


def render_word_scores(words: Sequence[tuple[str, float]]) -> str:
    """The strip and its legend, as HTML; every word shows its number, so nothing depends on colour alone."""
    cells = "".join(
        f'<span class="as2-word" style="--as2-heat:{compute_strength(p) * 100:.0f}%"><span>{escape(w)}</span>'
        f"<small>{p:.1f}</small></span>"
        for w, p in words
    )
    steps = "".join(f'<i style="--as2-heat:{percent}%"></i>' for percent in (0, 25, 50, 75, 100))
    legend = f'<p class="as2-legend"><span>{MIN_LOG_P:.0f}, not explained</span>{steps}<span>0, certain</span></p>'
    return f'<div class="as2-heat" dir="auto">{cells}</div>{legend}'


def draw_word_scores(words: Sequence[tuple[str, float]]) -> None:
    st.html(render_word_scores(words))
    mean = fmean(p for _, p in words) if words else 0.0
    st.caption(
        "Log-probability of each question word, given this sentence and the words before it. "
        f"Mean over words: {mean:.2f}."
    )
