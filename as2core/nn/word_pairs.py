"""A question and its candidates as words: the input of Cosinet, Rel-CNN and Compare-Aggregate.

Words are positions in one matrix of the different words' vectors, so a word that stands in ten candidates is looked up
once. Each word also carries how it relates to the other text: the largest cosine with a word there (Bonadiman and
Moschitti, 2020, section 4.1.1), and whether the same word stands there (Severyn and Moschitti, 2016).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Self

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from as2core.nn.word_vectors import WordVectors
from as2core.text import tokenize

MAX_WORDS = 200  # of a text; a longer one is cut


@dataclass(frozen=True, slots=True)
class Side:
    """One text of each pair. `ids` (pairs, length) are rows of the vectors, 0 for padding; `cosine` and `shared`
    (pairs, length) say how a word relates to the other text."""

    ids: Tensor
    cosine: Tensor
    shared: Tensor

    @property
    def mask(self) -> Tensor:
        return self.ids > 0

    def to(self, device: torch.device | str) -> Self:
        return replace(self, ids=self.ids.to(device), cosine=self.cosine.to(device), shared=self.shared.to(device))


@dataclass(frozen=True, slots=True)
class WordPairs:
    """`vectors` (different words + 1, size), row 0 zeros; the pairs of several questions one after the other, `sizes`
    each."""

    vectors: Tensor
    question: Side
    candidate: Side
    sizes: list[int]

    def to(self, device: torch.device | str) -> Self:
        """The pairs on a device."""
        question, candidate = self.question.to(device), self.candidate.to(device)
        return replace(self, vectors=self.vectors.to(device), question=question, candidate=candidate)


def word_pairs(question: str, texts: Sequence[str], table: WordVectors) -> WordPairs:
    """The pairs of one question. A text without words counts as one unknown word."""
    tokenised = [tokenize(t)[:MAX_WORDS] or [""] for t in (question, *texts)]
    vocabulary = {w: i for i, w in enumerate(dict.fromkeys(chain.from_iterable(tokenised)), 1)}
    vectors = np.zeros((len(vocabulary) + 1, table.size), dtype=np.float32)
    vectors[1:] = table(list(vocabulary))
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    q, *others = [np.array([vocabulary[w] for w in text]) for text in tokenised]
    similarity = unit[q] @ unit.T  # (question words, different words + 1)
    in_question = np.zeros(len(vectors), dtype=bool)
    in_question[q] = True
    questions, candidates = [], []
    for c in others:
        in_candidate = np.zeros(len(vectors), dtype=bool)
        in_candidate[c] = True
        here = similarity[:, c]  # (question words, candidate words)
        questions.append((q, here.max(1), in_candidate[q]))
        candidates.append((c, here.max(0), in_question[c]))
    return WordPairs(torch.from_numpy(vectors), _pad_side(questions), _pad_side(candidates), [len(others)])


def join_questions(many: Sequence[WordPairs]) -> WordPairs:
    """The pairs of several questions as one batch."""
    starts = np.cumsum([0, *(len(p.vectors) for p in many[:-1])]).tolist()
    questions = _stack_sides([p.question for p in many], starts)
    candidates = _stack_sides([p.candidate for p in many], starts)
    return WordPairs(torch.cat([p.vectors for p in many]), questions, candidates, [n for p in many for n in p.sizes])


def _pad_side(texts: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> Side:
    """Ids, cosines and shared marks of each text, padded with zeros to the longest."""
    columns = zip(*texts, strict=True)
    ids, cosine, shared = (pad_sequence([torch.from_numpy(a) for a in c], batch_first=True) for c in columns)
    return Side(ids, cosine, shared.float())


def _stack_sides(sides: Sequence[Side], starts: Sequence[int]) -> Side:
    """The sides' rows, padded with zeros to the longest; the ids of each side count from its start."""
    ids = [torch.where(s.ids > 0, s.ids + start, 0) for s, start in zip(sides, starts, strict=True)]
    columns = ids, [s.cosine for s in sides], [s.shared for s in sides]
    return Side(*(pad_sequence(list(chain.from_iterable(parts)), batch_first=True) for parts in columns))
