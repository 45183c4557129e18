"""Does the top answer stay when the question or a candidate is written carelessly?

The questions are the same questions: upper case, no question mark, one typo; or the top candidate wrapped in words that
say nothing. A ranker that reads what is meant keeps its first sentence. With `corrected` the questions' spelling is
corrected first, as the workbench does.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from as2core.metrics import order
from as2core.questions.spelling import correct_spelling
from as2core.rankers.base import Ranker, known_words
from as2core.types import Candidate, Question

NOISE = "( see also the note on this page )"


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

REWRITES: Rewrites = {"upper case": str.upper, "no question mark": no_question_mark, "typo": typo}


class _SpellingCorrected:
    """A ranker whose questions are corrected before it reads them."""

    def __init__(self, ranker: Ranker) -> None:
        self.name, self._ranker, self._known_words = ranker.name, ranker, known_words(ranker)

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        question = correct_spelling(question, [c.text for c in candidates], self._known_words)
        return self._ranker.score(question, candidates)


def measure_robustness(
    ranker: Ranker, questions: Sequence[Question], *, corrected: bool = False, rewrites: Rewrites = REWRITES
) -> dict[str, float]:
    """The share of questions whose top candidate stays on top, by the kind of change: the `rewrites`, and "padded
    candidate"; {} without questions. With `corrected` the spelling of all questions is corrected first."""
    ranker = _SpellingCorrected(ranker) if corrected else ranker
    tops = [(q, _top(ranker, q.text, q.candidates)) for q in questions if len(q.candidates) > 1]
    if not tops:
        return {}
    stays = {
        name: [_top(ranker, rewrite(q.text), q.candidates) == top for q, top in tops]
        for name, rewrite in rewrites.items()
    }
    stays["padded candidate"] = [_top(ranker, q.text, _pad(q.candidates, top)) == top for q, top in tops]
    return {name: sum(flags) / len(flags) for name, flags in stays.items()}


def _top(ranker: Ranker, question: str, candidates: Sequence[Candidate]) -> int:
    return int(order(ranker.score(question, candidates))[0])


def _pad(candidates: Sequence[Candidate], at: int) -> list[Candidate]:
    return [replace(c, text=f"{c.text} {NOISE}") if i == at else c for i, c in enumerate(candidates)]
