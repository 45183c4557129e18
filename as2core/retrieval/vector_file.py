"""Passage vectors in a file, so that a corpus that comes with them can be searched by meaning at once.

A vector is stored in half precision under a digest of its passage's text, and the file names the weights that made it.
A passage whose text has changed, or a program with other weights, therefore finds nothing here and embeds as usual.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from hashlib import blake2s
from pathlib import Path

import numpy as np

from as2core.errors import UnreadableFile
from as2core.system.files import replace_file

DIGEST_BYTES = 8


class VectorFile:
    """The vectors of one corpus, `(passages, d)`, by the text of the passage. `weights`: their SHA-256."""

    def __init__(self, texts: Sequence[str], vectors: np.ndarray, weights: str) -> None:
        self.weights = weights
        self._vectors = dict(zip(map(_digest, texts), np.asarray(vectors, dtype=np.float16), strict=True))

    def __len__(self) -> int:
        return len(self._vectors)

    def get(self, text: str) -> np.ndarray | None:
        """float32 `(d,)`, None for a text that is not in the file."""
        vector = self._vectors.get(_digest(text))
        return None if vector is None else vector.astype(np.float32)

    def save(self, path: Path) -> None:
        """Write it as a whole; the same vectors give the same bytes."""
        digests = sorted(self._vectors)
        content = io.BytesIO()
        np.savez(
            content,
            digests=np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(-1, DIGEST_BYTES),
            vectors=np.stack([self._vectors[d] for d in digests]) if digests else np.zeros((0, 0), np.float16),
            weights=np.array(self.weights),
        )
        with replace_file(path) as part:
            part.write_bytes(content.getvalue())

    @classmethod
    def load(cls, path: Path) -> VectorFile:
        """Raises UnreadableFile."""
        try:
            with np.load(path, allow_pickle=False) as arrays:
                digests, vectors, weights = arrays["digests"], arrays["vectors"], str(arrays["weights"])
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise UnreadableFile(f"{path}: not a file of passage vectors ({error})") from error
        file = cls((), np.zeros((0, 0)), weights)
        file._vectors = {row.tobytes(): vector for row, vector in zip(digests, vectors, strict=True)}
        return file


def _digest(text: str) -> bytes:
    return blake2s(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()
