"""Questions that are made when they are looked at, so that a set of any size can be trained on
(as2core.data.question_file reads them), and what keeps them so: a choice of them, and a change to each.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Self, overload

import numpy as np

from as2core.data import jsonl
from as2core.types import Question


class LazyQuestions(Sequence[Question]):
    """A sequence whose question i is `load(keys[i])`, made anew each time. A slice is another one."""

    def __init__(self, load: Callable[[int], Question], keys: np.ndarray) -> None:
        self._load, self._keys = load, keys

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[Question]:
        """A pass looks at all candidates several times: they are parsed once."""
        for key in self._keys.tolist():
            question = self._load(key)
            yield replace(question, candidates=tuple(question.candidates))

    @overload
    def __getitem__(self, index: int) -> Question: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Question | Self:
        if isinstance(index, slice):
            return type(self)(self._load, self._keys[index])
        return self._load(int(self._keys[index]))

    @cached_property
    def sha256(self) -> str:
        return jsonl.digest(self)


def map_questions(questions: Sequence[Question], change: Callable[[int, Question], Question]) -> Sequence[Question]:
    """`change(i, question)` for each: a list, or of questions in a file again such that are made when looked at."""
    if isinstance(questions, LazyQuestions):
        return LazyQuestions(lambda i: change(i, questions[i]), np.arange(len(questions)))
    return [change(i, q) for i, q in enumerate(questions)]


def filter_questions(questions: Sequence[Question], is_wanted: Callable[[Question], object]) -> Sequence[Question]:
    """Those wanted: a list, or of questions in a file such that stay there."""
    if isinstance(questions, LazyQuestions):
        rows = array("q", (i for i, q in enumerate(questions) if is_wanted(q)))
        return LazyQuestions(questions.__getitem__, np.array(rows, dtype=np.int64))
    return [q for q in questions if is_wanted(q)]


def digest_questions(questions: Iterable[Question]) -> str:
    """The SHA-256 of the questions as JSONL; of questions in a file it is computed once."""
    return questions.sha256 if isinstance(questions, LazyQuestions) else jsonl.digest(questions)
