"""Which words of a sentence carried its score, marked in it: shaded what speaks for it, shaded and underlined with dots
what speaks against it."""

import streamlit as st

from app.ask import explanation
from app.ask.asking import AskView
from app.ui.text import escape, format_signed, plain
from app.workbench.workbench import Workbench
from as2core.cascade.attribution import Attribution, WordEffect
from as2core.errors import As2Error

MIN_EFFECT = 0.1  # in logits; less is not marked
MIN_SHARE = 0.15  # of the strongest word's effect; less is not marked
FULL_EFFECT = 0.3  # a strongest word with less does not get the strongest background
MAX_LISTED_WORDS = 5  # on either side
METHOD = "Each word was left out in turn and the score computed again; the number is what the word adds to it."


def _key(view: AskView) -> str:
    return f"as2_score_words_{view.question_id}"


def draw_toggle(view: AskView) -> None:
    st.toggle("Words that carried the score", key=_key(view))


def load_attribution(wb: Workbench, view: AskView, position: int) -> Attribution | None:
    """None while the toggle is off, and where it failed, which is shown."""
    if not st.session_state.get(_key(view)):
        return None
    try:
        return explanation.attribute_score(wb, view, position)
    except As2Error as error:
        st.caption(plain(f"The words that carried the score are not known: {error}"))
        return None


def select_words(attribution: Attribution) -> list[WordEffect]:
    """The words with a notable effect, in their order."""
    strongest = max((abs(w.effect) for w in attribution.words), default=0.0)
    return [w for w in attribution.words if abs(w.effect) >= max(MIN_EFFECT, MIN_SHARE * strongest)]


def render_words(text: str, attribution: Attribution) -> str:
    """The sentence with its notable words marked, as HTML."""
    words, parts, at = select_words(attribution), [], 0
    full = max([FULL_EFFECT, *(abs(w.effect) for w in words)])
    for w in words:
        word, change = text[w.start : w.end], "lower" if w.effect > 0 else "higher"
        hint = escape(f"Without “{word}” the score would be {abs(w.effect):.2f} {change}")
        kind = "as2-for" if w.effect > 0 else "as2-against"
        heat = f"--as2-heat:{abs(w.effect) / full * 100:.0f}%"
        marked = f'<span class="{kind}" style="{heat}" title="{hint}">{escape(word)}</span>'
        parts += [escape(text[at : w.start]), marked]
        at = w.end
    return "".join([*parts, escape(text[at:])])


def render_summary(text: str, title: str, attribution: Attribution) -> str:
    """The marks in words, strongest first, each with its number; and how they were computed."""
    words, parts = select_words(attribution), []
    raising = sorted((w for w in words if w.effect > 0), key=lambda w: -w.effect)
    lowering = sorted((w for w in words if w.effect < 0), key=lambda w: w.effect)
    for name, kind, side in (("Raise", "as2-for", raising), ("Lower", "as2-against", lowering)):
        if side:
            names = [f"{escape(text[w.start : w.end])}&nbsp;{format_signed(w.effect, 2)}" for w in side]
            sample = f'<span class="{kind}" style="--as2-heat:60%">{name} the score</span>'
            parts.append(f"{sample} {', '.join(names[:MAX_LISTED_WORDS])}.")
    if not words:
        parts.append(f"No single word carried the score: without any one of them it changes by less than {MIN_EFFECT}.")
    if attribution.title is not None and abs(attribution.title) >= MIN_EFFECT:
        parts.append(f"The title “{escape(title)}” {format_signed(attribution.title, 2)}.")
    return f'<p class="as2-note as2-words-note">{" ".join(parts)} <small>{METHOD}</small></p>'
