"""Hard negatives: sentences near the question in the bi-encoder's eyes, of the same article or of all others.

A paragraph's own sentences teach a ranker to tell neighbours apart; at work it meets whole articles, and several.
"""

from __future__ import annotations

import hashlib
import random
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from as2core.rankers.bi_encoder import BiEncoderRanker
from as2core.types import Candidate, OnProgress, Question


class Vectors:
    """Unit vectors of texts, float16, kept in `folder/vectors.npz` so that a second run embeds only what is new. The
    encoder may be given as what loads it, for it is not needed where nothing is new."""

    def __init__(self, encoder: BiEncoderRanker | Callable[[], BiEncoderRanker], folder: Path) -> None:
        self._encoder, self._file = encoder, folder / "vectors.npz"
        self._row: dict[int, int] = {}
        self._matrix = np.zeros((0, 0), dtype=np.float16)
        if self._file.exists():
            with np.load(self._file) as kept:
                self._matrix = kept["vectors"]
                self._row = {k: i for i, k in enumerate(kept["keys"].tolist())}

    def learn(self, texts: Sequence[str], on_progress: OnProgress | None = None) -> None:
        """Embed those of the texts that are not known yet."""
        new = list({_key(t): t for t in texts if _key(t) not in self._row}.values())
        if not new:
            return
        encoder = self._encoder if hasattr(self._encoder, "embed") else self._encoder()
        learnt = encoder.embed(new, on_progress).astype(np.float16)
        self._matrix = np.concatenate([self._matrix, learnt]) if len(self._matrix) else learnt
        self._row.update({_key(t): len(self._row) + i for i, t in enumerate(new)})
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self._file.parent, suffix=".part", delete=False) as making:
            part = Path(making.name)
        try:
            with part.open("wb") as file:
                np.savez(file, keys=np.array(list(self._row), dtype=np.uint64), vectors=self._matrix)
            part.rename(self._file)  # two processes may keep the same file: nobody reads half of one
        finally:
            part.unlink(missing_ok=True)

    def knows(self, texts: Sequence[str]) -> bool:
        return all(_key(t) in self._row for t in texts)

    def of(self, texts: Sequence[str]) -> np.ndarray:
        """float32 `(n, hidden)`. Raises KeyError for a text that was not learnt."""
        return self._matrix[[self._row[_key(t)] for t in texts]].astype(np.float32)

    def both(self, question: str, texts: Sequence[str]) -> np.ndarray:
        """The vectors of question and texts `(1 + n, hidden)`: a teacher for the generative ranker."""
        return self.of([question, *texts])

    def teach(self, question: str, texts: Sequence[str]) -> np.ndarray:
        """Cosines `(n,)`: a teacher for distillation."""
        return self.of(texts) @ self.of([question])[0]


def _key(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def add_hard_negatives(
    questions: Sequence[Question], vectors: Vectors, *, each: int = 4, among: int = 30, seed: int = 0
) -> list[Question]:
    """Each question with `each` more incorrect candidates: drawn from the `among` nearest sentences of its article
    (candidates of other questions under the same title), and one of an article drawn at random, its own among them. A
    drawn sentence that the question has already, or that was drawn before, is left out."""
    rng = random.Random(seed)
    pools: dict[str, dict[str, None]] = defaultdict(dict)
    for q in questions:
        for c in q.candidates:
            pools[c.title][c.text] = None
    texts = {title: list(pool) for title, pool in pools.items()}
    matrices = {title: vectors.of(pool) for title, pool in texts.items()}
    titles = list(texts)
    out = []
    for q in questions:
        title, own = q.candidates[0].title, {c.text for c in q.candidates}
        near = np.argsort(-(matrices[title] @ vectors.of([q.text])[0]), kind="stable")[: among + len(own)]
        fresh = [texts[title][i] for i in near if texts[title][i] not in own][:among]
        chosen = dict.fromkeys(rng.sample(fresh, min(each, len(fresh))), title)
        elsewhere = rng.choice(titles)
        chosen.setdefault(rng.choice(texts[elsewhere]), elsewhere)
        extra = tuple(
            Candidate(f"{q.qid}-hard-{i}", t, 0, from_title)
            for i, (t, from_title) in enumerate(chosen.items())
            if t not in own
        )
        out.append(replace(q, candidates=q.candidates + extra))
    return out


def add_far_negatives(
    questions: Sequence[Question], vectors: Vectors, *, each: int = 4, among: int = 30, seed: int = 0
) -> list[Question]:
    """Each question with `each` more incorrect candidates: drawn from the `among` nearest sentences of all articles
    that none of its own candidates is from. Candidates without a title are of no article, and are not drawn."""
    if not each:
        return list(questions)
    rng = random.Random(seed)
    home = {c.text: c.title for q in questions for c in q.candidates if c.title}
    texts = list(home)
    matrix = vectors.of(texts)
    out = []
    for q in questions:
        own = {c.title for c in q.candidates}
        nearest = np.argsort(-(matrix @ vectors.of([q.text])[0]), kind="stable")
        far = list(islice((texts[i] for i in nearest if home[texts[i]] not in own), among))
        drawn = rng.sample(far, min(each, len(far)))
        extra = (Candidate(f"{q.qid}-far-{i}", t, 0, home[t]) for i, t in enumerate(drawn))
        out.append(replace(q, candidates=(*q.candidates, *extra)))
    return out


def keep_hardest(questions: Sequence[Question], vectors: Vectors, *, among: int = 16) -> list[Question]:
    """Each question with its correct candidates and the `among` incorrect ones nearest to it, in their original order:
    random ones of a long list are too easy to learn from."""
    out = []
    for q in questions:
        cosines = vectors.teach(q.text, [c.text for c in q.candidates])
        wrong = [i for i in np.argsort(-cosines, kind="stable") if q.candidates[i].label == 0][:among]
        kept = {*wrong, *(i for i, c in enumerate(q.candidates) if c.label == 1)}
        out.append(replace(q, candidates=tuple(c for i, c in enumerate(q.candidates) if i in kept)))
    return out
