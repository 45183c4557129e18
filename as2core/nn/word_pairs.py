"""A question and its candidates as words: the input of Cosinet, Rel-CNN and Compare-Aggregate.

Words are positions in one matrix of the different words' vectors, so a word that stands in ten candidates is looked up
once. Each word also carries how it relates to the other text: the largest cosine with a word there (Bonadiman and
Moschitti, 2020, section 4.1.1), and whether the same word stands there (Severyn and Moschitti, 2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import chain

import numpy as np
import torch
from torch.nn.functional import pad

from as2core.nn.word_vectors import WordVectors
from as2core.text import tokenize

MAX_WORDS = 200  # of a text; a longer one is cut


@dataclass(frozen=True, slots=True)
class Side:
    """One text of each pair. `ids` (pairs, length) are rows of the vectors, 0 for padding; `cosine` and `shared`
    (pairs, length) say how a word relates to the other text."""

    ids: torch.Tensor
    cosine: torch.Tensor
    shared: torch.Tensor

    @property
    def mask(self) -> torch.Tensor:
        return self.ids > 0

    def to(self, device: torch.device | str) -> Side:
        return Side(self.ids.to(device), self.cosine.to(device), self.shared.to(device))


@dataclass(frozen=True, slots=True)
class WordPairs:
    """`vectors` (different words + 1, size), row 0 zeros; the pairs of several questions one after the other, `sizes`
    each."""

    vectors: torch.Tensor
    question: Side
    candidate: Side
    sizes: list[int]

    def to(self, device: torch.device | str) -> WordPairs:
        """The pairs on a device."""
        return WordPairs(self.vectors.to(device), self.question.to(device), self.candidate.to(device), self.sizes)


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


def join(many: Sequence[WordPairs]) -> WordPairs:
    """The pairs of several questions as one batch."""
    starts = np.cumsum([0, *(len(p.vectors) for p in many[:-1])])
    questions = [_shift_ids(p.question, int(start)) for p, start in zip(many, starts, strict=True)]
    candidates = [_shift_ids(p.candidate, int(start)) for p, start in zip(many, starts, strict=True)]
    vectors = torch.cat([p.vectors for p in many])
    return WordPairs(vectors, _stack_sides(questions), _stack_sides(candidates), [n for p in many for n in p.sizes])


def _pad_side(texts: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> Side:
    """Ids, cosines and shared marks of each text, padded with zeros to the longest."""
    shape = (len(texts), max(len(ids) for ids, _, _ in texts))
    out = [np.zeros(shape, dtype=kind) for kind in (np.int64, np.float32, np.float32)]
    for i, text in enumerate(texts):
        for padded, values in zip(out, text, strict=True):
            padded[i, : len(values)] = values
    return Side(*map(torch.from_numpy, out))


def _shift_ids(side: Side, by: int) -> Side:
    return Side(torch.where(side.ids > 0, side.ids + by, 0), side.cosine, side.shared)


def _stack_sides(sides: Sequence[Side]) -> Side:
    """The sides' rows, padded with zeros to the longest."""
    longest = max(s.ids.shape[1] for s in sides)
    parts = [[pad(getattr(s, f.name), (0, longest - s.ids.shape[1])) for s in sides] for f in fields(Side)]
    return Side(*map(torch.cat, parts))
