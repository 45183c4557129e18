"""Hard negatives: sentences near the question by the bi-encoder's cosine, of the same article or of all others.

A paragraph's sentences teach a ranker to distinguish neighbours; in use it meets whole articles, and several.
"""

from __future__ import annotations

import hashlib
import logging
import random
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Protocol

import numpy as np

from as2core.system.files import replace_file
from as2core.types import Candidate, OnProgress, Question

log = logging.getLogger(__name__)
# what numpy raises for a damaged file
UNREADABLE = (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)


class TextEncoder(Protocol):
    def embed(self, texts: Sequence[str], on_progress: OnProgress | None = None) -> np.ndarray: ...


class VectorCache:
    """Unit vectors of texts, float16, stored in `folder/vectors.npz` so that a second run embeds only new texts. The
    encoder is loaded when there are new texts. `weights`: the SHA-256 of the encoder's. A file that cannot be read, or
    of other weights, is as good as none, and is replaced."""

    def __init__(self, load_encoder: Callable[[], TextEncoder], folder: Path, weights: str) -> None:
        self._load_encoder, self._file, self._weights = load_encoder, folder / "vectors.npz", weights
        self._row: dict[int, int] = {}
        self._matrix = np.zeros((0, 0), dtype=np.float16)
        if self._file.exists():
            self._read()

    def _read(self) -> None:
        try:
            with np.load(self._file, allow_pickle=False) as arrays:
                weights = str(arrays["weights"]) if "weights" in arrays else ""  # files of older programs name none
                keys, matrix = arrays["keys"].tolist(), arrays["vectors"]
        except UNREADABLE as error:
            log.warning("%s is not read, its vectors are made anew: %s", self._file, error)
            return
        if weights == self._weights and matrix.ndim == 2 and len(keys) == len(matrix):
            self._row, self._matrix = {k: i for i, k in enumerate(keys)}, matrix

    def embed(self, texts: Sequence[str], on_progress: OnProgress | None = None) -> None:
        """Embed the texts that are not in the cache yet."""
        new = list({_text_key(t): t for t in texts if _text_key(t) not in self._row}.values())
        if not new:
            return
        vectors = self._load_encoder().embed(new, on_progress).astype(np.float16)
        self._matrix = np.concatenate([self._matrix, vectors]) if len(self._matrix) else vectors
        self._row.update({_text_key(t): len(self._row) + i for i, t in enumerate(new)})
        with replace_file(self._file) as part, part.open("wb") as out:
            keys = np.array(list(self._row), dtype=np.uint64)
            np.savez(out, keys=keys, vectors=self._matrix, weights=np.array(self._weights))

    def has_all(self, texts: Sequence[str]) -> bool:
        return all(_text_key(t) in self._row for t in texts)

    def get(self, texts: Sequence[str]) -> np.ndarray:
        """float32 `(n, hidden)`. Raises KeyError for a text that was not embedded."""
        return self._matrix[[self._row[_text_key(t)] for t in texts]].astype(np.float32)

    def teach_vectors(self, question: str, texts: Sequence[str]) -> np.ndarray:
        """The vectors of question and texts `(1 + n, hidden)`: a teacher for the generative ranker."""
        return self.get([question, *texts])

    def cosines(self, question: str, texts: Sequence[str]) -> np.ndarray:
        """Cosines `(n,)`: a teacher for distillation."""
        return self.get(texts) @ self.get([question])[0]


def _text_key(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def add_hard_negatives(
    questions: Sequence[Question], vectors: VectorCache, *, each: int = 4, among: int = 30, seed: int = 0
) -> list[Question]:
    """Each question with `each` more incorrect candidates: drawn from the `among` nearest sentences of its article
    (candidates of other questions under the same title), and one of any article, drawn at random. Sentences that the
    question already has are left out."""
    rng = random.Random(seed)
    pools: dict[str, dict[str, None]] = defaultdict(dict)
    for q in questions:
        for c in q.candidates:
            pools[c.title][c.text] = None
    texts = {title: list(pool) for title, pool in pools.items()}
    matrices = {title: vectors.get(pool) for title, pool in texts.items()}
    titles = list(texts)
    out = []
    for q in questions:
        title, own = q.candidates[0].title, {c.text for c in q.candidates}
        near = np.argsort(-(matrices[title] @ vectors.get([q.text])[0]), kind="stable")[: among + len(own)]
        fresh = [texts[title][i] for i in near if texts[title][i] not in own][:among]
        title_by_text = dict.fromkeys(rng.sample(fresh, min(each, len(fresh))), title)
        elsewhere = rng.choice(titles)
        title_by_text.setdefault(rng.choice(texts[elsewhere]), elsewhere)
        extra = tuple(
            Candidate(f"{q.qid}-hard-{i}", t, 0, from_title)
            for i, (t, from_title) in enumerate(title_by_text.items())
            if t not in own
        )
        out.append(replace(q, candidates=q.candidates + extra))
    return out


def add_far_negatives(
    questions: Sequence[Question], vectors: VectorCache, *, each: int = 4, among: int = 30, seed: int = 0
) -> list[Question]:
    """Each question with `each` more incorrect candidates: drawn from the `among` nearest sentences of articles that
    none of its own candidates is from. Candidates without a title belong to no article and are not drawn."""
    if not each:
        return list(questions)
    rng = random.Random(seed)
    title_of = {c.text: c.title for q in questions for c in q.candidates if c.title}
    texts = list(title_of)
    matrix = vectors.get(texts)
    out = []
    for q in questions:
        own = {c.title for c in q.candidates}
        nearest = np.argsort(-(matrix @ vectors.get([q.text])[0]), kind="stable")
        far = list(islice((texts[i] for i in nearest if title_of[texts[i]] not in own), among))
        picks = rng.sample(far, min(each, len(far)))
        extra = (Candidate(f"{q.qid}-far-{i}", t, 0, title_of[t]) for i, t in enumerate(picks))
        out.append(replace(q, candidates=(*q.candidates, *extra)))
    return out


def keep_nearest_negatives(questions: Sequence[Question], vectors: VectorCache, *, among: int = 16) -> list[Question]:
    """Each question with its correct candidates and the `among` incorrect ones nearest to it, in their original order:
    random ones of a long list are too easy."""
    out = []
    for q in questions:
        cosines = vectors.cosines(q.text, [c.text for c in q.candidates])
        wrong = [i for i in np.argsort(-cosines, kind="stable") if q.candidates[i].label == 0][:among]
        hardest = {*wrong, *(i for i, c in enumerate(q.candidates) if c.label == 1)}
        out.append(replace(q, candidates=tuple(c for i, c in enumerate(q.candidates) if i in hardest)))
    return out
