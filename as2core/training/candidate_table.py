"""What a plan of batches has to know of each candidate, in nine bytes: its label, and the length of what is read. Thus
no text is in memory, and a set of any size can be planned.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from as2core.types import Question

UNLABELLED = -1


@dataclass(frozen=True, slots=True, eq=False)
class CandidateTable:
    """The candidates of question i are the rows `starts[i]` to `starts[i + 1]`. `labels`: 1, 0 or UNLABELLED; `chars`
    of the sentence, `title_chars` of the title before it."""

    starts: np.ndarray  # (questions + 1,) int64
    positives: np.ndarray  # (questions,) int32, how many
    negatives: np.ndarray  # (questions,) int32
    labels: np.ndarray  # (candidates,) int8
    chars: np.ndarray  # (candidates,) int32
    title_chars: np.ndarray  # (candidates,) int32

    @classmethod
    def read(cls, questions: Iterable[Question]) -> Self:
        """One pass over the questions."""
        starts, positives, negatives = array("q", [0]), array("i"), array("i")
        labels, chars, title_chars = array("b"), array("i"), array("i")
        for q in questions:
            positives.append(q.positives)
            negatives.append(q.negatives)
            labels.extend(UNLABELLED if c.label is None else c.label for c in q.candidates)
            chars.extend(len(c.text) for c in q.candidates)
            title_chars.extend(len(c.titled_text) - len(c.text) if c.title else 0 for c in q.candidates)
            starts.append(len(labels))
        return cls(*(np.asarray(values) for values in (starts, positives, negatives, labels, chars, title_chars)))

    def list_rows(self, question: int, label: int) -> list[int]:
        """The positions of the candidates with a label, or UNLABELLED, in their question."""
        start, end = self.starts[question : question + 2]
        rows: list[int] = np.flatnonzero(self.labels[start:end] == label).tolist()
        return rows

    def reading_chars(self, question: int, rows: np.ndarray, is_bare: np.ndarray) -> np.ndarray:
        """The lengths of candidates of a question as they are read, without their titles where `is_bare`; both (n,)."""
        rows = self.starts[question] + rows
        return np.asarray(self.chars[rows] + np.where(is_bare, 0, self.title_chars[rows]))
