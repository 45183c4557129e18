"""Does the top answer stay when the question or a candidate is written carelessly?

The questions are the same questions: upper case, no question mark, one typo; or the top candidate wrapped in words that
say nothing. A ranker that reads what is meant keeps its first sentence. `mending` asks the same of a ranker whose
questions are mended first, as the workbench mends them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from as2core.rankers.base import Ranker, order
from as2core.spelling import mended
from as2core.types import Candidate, Question

NOISE = "( see also the note on this page )"


def upper_case(question: str) -> str:
    return question.upper()


def no_question_mark(question: str) -> str:
    return question.rstrip(" ?")


def typo(question: str) -> str:
    """Two neighbouring letters inside the longest word change places; the word is drawn by no chance."""
    words = question.split(" ")
    at = max(range(len(words)), key=lambda i: len(words[i]))
    word = words[at]
    swaps = [i for i in range(1, len(word) - 2) if word[i] != word[i + 1] and word[i : i + 2].isalpha()]
    if swaps:
        i = random.Random(word).choice(swaps)
        words[at] = word[:i] + word[i + 1] + word[i] + word[i + 2 :]
    return " ".join(words)


Rewrites = dict[str, Callable[[str], str]]

REWRITES: Rewrites = {
    "upper case": upper_case,
    "no question mark": no_question_mark,
    "typo": typo,
}


class _Mending:
    """A ranker that reads every question mended."""

    def __init__(self, ranker: Ranker) -> None:
        self.name, self._ranker = ranker.name, ranker
        self._known = getattr(ranker, "known_words", frozenset())

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        return self._ranker.score(mended(question, [c.text for c in candidates], self._known), candidates)


def robustness(
    ranker: Ranker, questions: Sequence[Question], *, mending: bool = False, rewrites: Rewrites = REWRITES
) -> dict[str, float]:
    """The share of questions whose top candidate stays on top, by what was done to them: the `rewrites`, and "padded
    candidate"; {} without questions. With `mending` the ranker reads all questions mended (`spelling`)."""
    ranker = _Mending(ranker) if mending else ranker
    asked = [q for q in questions if len(q.candidates) > 1]
    if not asked:
        return {}
    first = [_top(ranker, q.text, q.candidates) for q in asked]
    stays = {
        name: [_top(ranker, rewrite(q.text), q.candidates) == top for q, top in zip(asked, first, strict=True)]
        for name, rewrite in rewrites.items()
    }
    stays["padded candidate"] = [
        _top(ranker, q.text, _padded(q.candidates, top)) == top for q, top in zip(asked, first, strict=True)
    ]
    return {name: sum(kept) / len(kept) for name, kept in stays.items()}


def _top(ranker: Ranker, question: str, candidates: Sequence[Candidate]) -> int:
    return int(order(ranker.score(question, candidates))[0])


def _padded(candidates: Sequence[Candidate], at: int) -> list[Candidate]:
    return [replace(c, text=f"{c.text} {NOISE}") if i == at else c for i, c in enumerate(candidates)]
