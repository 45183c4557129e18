"""Augmentation: questions as people type them, candidates with words that say nothing, and questions without an answer.

What is changed for the student its teacher reads as it was (as2core.training.teachers.original_teacher).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from as2core.types import Candidate, Question

MAX_PADDING_WORDS = 9
MIN_NEGATIVES = 4  # of a question without an answer
TYPO, NO_MARK, LOWER_CASE = 0.5, 0.6, 0.3  # shares of the carelessly written questions; one may have several


def write_carelessly(
    questions: Sequence[Question], share: float, rng: random.Random
) -> tuple[list[Question], dict[str, str]]:
    """A share of the questions with a typo, without a question mark or in lower case. Also returns the original text of
    each."""
    out, originals = [], {}
    for q in questions:
        if rng.random() < share and (text := _write_carelessly(q.text, rng)) != q.text:
            originals[text] = q.text
            q = replace(q, text=text)
        out.append(q)
    return out, originals


def pad_candidates(
    questions: Sequence[Question], share: float, rng: random.Random
) -> tuple[list[Question], dict[str, str]]:
    """Append the first words of a random sentence to a share of the candidates. Also returns the original text of each,
    as it is read."""
    texts = [c.text for q in questions for c in q.candidates]
    originals: dict[str, str] = {}

    def pad(c: Candidate) -> Candidate:
        if rng.random() >= share:
            return c
        words = " ".join(rng.choice(texts).split()[: rng.randint(3, MAX_PADDING_WORDS)])
        longer = replace(c, text=f"{c.text} ( {words} )" if rng.random() < 0.5 else f"{c.text} {words}")
        originals[longer.titled_text] = c.titled_text
        return longer

    return [replace(q, candidates=tuple(pad(c) for c in q.candidates)) for q in questions], originals


def drop_answers(questions: Sequence[Question], share: float, rng: random.Random) -> list[Question]:
    """A share of the questions without their correct candidates, so that a ranker learns what no answer looks like.
    Questions with few incorrect ones stay."""
    return [
        replace(q, candidates=tuple(c for c in q.candidates if c.label != 1))
        if rng.random() < share and q.negatives >= MIN_NEGATIVES
        else q
        for q in questions
    ]


def _write_carelessly(question: str, rng: random.Random) -> str:
    text = question.rstrip(" ?") if rng.random() < NO_MARK else question
    words = text.split(" ")
    places = [i for i, w in enumerate(words) if len(w) > 3 and w.isalpha()]
    if places and rng.random() < TYPO:
        i = rng.choice(places)
        words[i] = _mistype(words[i], rng)
    text = " ".join(words)
    return text.lower() if rng.random() < LOWER_CASE else text


def _mistype(word: str, rng: random.Random) -> str:
    """Two neighbouring letters swapped, one left out, or one typed twice; never the first."""
    i = rng.randrange(1, len(word) - 1)
    before, letter, after = word[:i], word[i], word[i + 1 :]
    return rng.choice((before + after[0] + letter + after[1:], before + after, before + letter + letter + after))
