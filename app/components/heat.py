"""Which words of the question a passage explains: a strip of words, the better explained the fuller their ground."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app.components.text import escaped

LEAST = -8.0  # log P at which a word counts as not explained at all


def strength(log_p: float) -> float:
    """0 for a word the passage does nothing for (log P of -8 and less), 1 for one it makes certain."""
    return min(1.0, max(0.0, 1.0 - log_p / LEAST))


def heat_html(words: Sequence[tuple[str, float]]) -> str:
    """The strip and its legend; every word carries its number, so colour says nothing alone."""
    cells = "".join(
        f'<span class="as2-word" style="--as2-heat:{strength(p) * 100:.0f}%"><span>{escaped(w)}</span>'
        f"<small>{p:.1f}</small></span>"
        for w, p in words
    )
    steps = "".join(
        f'<i style="--as2-heat:{strength(p) * 100:.0f}%"></i>' for p in (LEAST, LEAST * 0.75, LEAST / 2, LEAST / 4, 0)
    )
    legend = f'<p class="as2-legend"><span>{LEAST:.0f}, not explained</span>{steps}<span>0, certain</span></p>'
    return f'<div class="as2-heat" dir="auto">{cells}</div>{legend}'


def draw_heat(words: Sequence[tuple[str, float]]) -> None:
    st.html(heat_html(words))
    mean = sum(p for _, p in words) / len(words) if words else 0.0
    st.caption(f"Log P of each question word, given this sentence and the words before it. Mean over words {mean:.2f}.")
