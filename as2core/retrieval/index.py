"""What every index of passages does: one corpus, searched by words and by vector.

An index is derived from the documents and can be built again from them, so nothing in it is worth a backup.
`SqliteIndex` is the one that comes with the program. Ranks leave an index, raw scores do not: those of two engines have
nothing in common, and the lists are fused by rank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from as2core.errors import UnreadableFile
from as2core.text import STOP_WORDS, tokenize
from as2core.types import Hit, Passage

MAX_WORDS = 256  # different ones of a question in a search


class DamagedIndex(UnreadableFile):
    """This is no index, or a part of it is damaged: build it anew from the documents."""


class PassageIndex(Protocol):
    """Threads may share an index, and other processes may write to it meanwhile: what they wrote is found at once.
    Every method may raise DamagedIndex, and UnreadableFile where the store cannot be reached or is full."""

    def upsert_docs(self, docs: Sequence[tuple[str, Sequence[Passage]]]) -> None:
        """Replace each document's passages; a document that has none any more is gone. A passage whose id was there
        before keeps its vector."""

    def set_vectors(self, vectors: Mapping[str, np.ndarray]) -> None:
        """Vectors by passage id, float32 `(d,)` each; ids no longer there are skipped."""

    def search_words(self, question: str, k: int) -> list[Hit]:
        """The `k` best passages by shared words, stop words aside. Every text is allowed; without a word: no hits."""

    def search_vectors(self, vector: np.ndarray, k: int, docs: Sequence[str] | None = None) -> list[Hit]:
        """The `k` passages with the largest inner product with `vector`, float32 `(d,)`; only of `docs` if given.
        Raises BadSetting for a vector of another width."""

    def is_optimized(self) -> bool:
        """Whether the vectors are in the form that is searched quickly."""

    def optimize(self) -> None:
        """Bring them into it. It may take minutes, and other users search meanwhile."""

    def list_pending(self, limit: int) -> list[Passage]:
        """Passages that have no vector yet."""

    def count(self) -> int:
        """How many passages there are."""

    def count_vectors(self) -> int:
        """How many of them have a vector."""

    def find_damage(self) -> str:
        """What is wrong with the index; "" if nothing is. Reads all of it."""

    def close(self) -> None:
        """Close files and connections."""


def list_content_words(question: str) -> list[str]:
    """The question's different words in small letters, without stop words if any others are left; none when the text
    holds no word at all."""
    unique = list(dict.fromkeys(tokenize(question)))
    return ([word for word in unique if word not in STOP_WORDS] or unique)[:MAX_WORDS]
