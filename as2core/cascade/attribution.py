"""Which words of a candidate carried its score, by occlusion (Zeiler and Fergus, 2014, section 4.2; for words Li,
Monroe and Jurafsky, 2016, "Understanding Neural Networks through Representation Erasure"): leave each word out in turn,
and see how much lower the score is without it.

Where we differ: the word is cut from the text, not its vector set to zero, and the effect is the difference of the
logits, not a relative one of log-likelihoods. Cutting words out found the words that matter better than a mask in their
place or integrated gradients (docs/decisions/0034-words-are-left-out.md, `benchmarks/word_attribution.py`). Words that
say the same cover for each other: each alone has a small effect.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from as2core.text import find_words
from as2core.types import Candidate

MAX_PARTS = 60  # of a candidate's text that are left out in turn; in a longer text adjacent words go together


@dataclass(frozen=True, slots=True)
class WordEffect:
    """What a word adds to the score, less than 0 if it speaks against the candidate: `text[start:end]`, one word or, in
    a long text, adjacent ones."""

    start: int
    end: int
    effect: float


@dataclass(frozen=True, slots=True)
class Attribution:
    """`score` is that of the whole candidate, a logit; `title` the effect of its document's title, None without one."""

    score: float
    words: tuple[WordEffect, ...]
    title: float | None


def list_parts(text: str) -> list[tuple[int, int]]:
    """What is left out in turn: the words, or even groups of adjacent ones where there are more than MAX_PARTS."""
    words = find_words(text)
    size = max(1, math.ceil(len(words) / MAX_PARTS))
    groups = [words[i : i + size] for i in range(0, len(words), size)]
    return [(group[0][0], group[-1][1]) for group in groups]


def attribute_by_occlusion(score: Callable[[Sequence[str]], np.ndarray], candidate: Candidate) -> Attribution:
    """`score` gives the logits `(n,)` of one question's candidate texts, each independent of the others."""
    parts = list_parts(candidate.text)
    texts = [candidate.text[:start] + candidate.text[end:] for start, end in parts]
    variants = [candidate, *(replace(candidate, text=t) for t in texts), replace(candidate, title="")]
    whole, *without, untitled = score([v.titled_text for v in variants]).tolist()
    words = tuple(WordEffect(*part, whole - s) for part, s in zip(parts, without, strict=True))
    return Attribution(whole, words, whole - untitled if candidate.title.split() else None)
