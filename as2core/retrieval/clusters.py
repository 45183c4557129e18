"""Vectors in a file, in the order of their clusters: a search reads the clusters nearest to the question alone.

This is the inverted file of Jégou, Douze and Schmid (Product quantization for nearest neighbor search, 2011, section
IV): k-means over a sample gives centroids, each vector is put into the list of its nearest one, and a search scans the
lists whose centroids are nearest. Different here: the vectors themselves are stored, in half precision, instead of
residuals in a few bytes, so nothing has to be ranked again; and a list is read from the file when it is scanned. The
system's page cache holds the file, once for all processes, and a file that was cut short is an error, where mapped
memory would end the process. The centroids are those of directions (spherical k-means), since vectors of passages have
length 1.
"""

from __future__ import annotations

import os
import struct
import weakref
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import numpy as np

from as2core.errors import BadSetting, UnreadableFile

PROBES = 96  # lists that a search reads, however many there are
SAMPLE_PER_LIST = 40  # vectors that k-means looks at
ROUNDS = 8  # of k-means
BLOCK = 8192  # vectors at a time
MAX_PRODUCTS = 2**24  # in memory at a time
_KIND = b"AS2CLUS1"
_HEAD = struct.Struct("<8sQQQL")  # kind, rows, width, lists, CRC-32 of all that is between it and the vectors
Block = tuple[np.ndarray, np.ndarray]  # int64 (rows,), float32 (rows, d)


class DamagedClusters(UnreadableFile):
    """The file is cut short, or is none of these."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """Rows by their product with the question, best first."""

    numbers: np.ndarray  # int64 (rows,)
    scores: np.ndarray  # float32 (rows,)


class VectorClusters:
    """An open file. Threads may share it. Raises DamagedClusters, here and in every search."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = os.open(path, os.O_RDONLY)
        except OSError as error:
            raise DamagedClusters(f"{path}: {error.strerror}") from error
        weakref.finalize(self, os.close, self._file)  # with the last search that reads it
        try:
            self._read_head()
        except ValueError as error:
            raise DamagedClusters(f"{path}: not a file of vectors in clusters ({error})") from error

    def _read_head(self) -> None:
        kind, self.rows, self.width, lists, crc = _HEAD.unpack(self._read(0, _HEAD.size))
        sizes = 4 * lists * self.width, 8 * (lists + 1), 8 * self.rows
        self._begin = _HEAD.size + sum(sizes)
        if kind != _KIND or os.fstat(self._file).st_size != self._begin + 2 * self.rows * self.width:
            raise ValueError("another kind or length")
        guide = self._read(_HEAD.size, sum(sizes))
        if zlib.crc32(guide) != crc:
            raise ValueError("a changed byte")
        self.centroids = np.frombuffer(guide[: sizes[0]], dtype="<f4").reshape(lists, self.width)
        self._offsets = np.frombuffer(guide[sizes[0] : -sizes[2]], dtype="<i8")
        self._numbers = np.frombuffer(guide[-sizes[2] :], dtype="<i8")

    def nearest(self, vector: np.ndarray, probes: int = PROBES) -> Nearest:
        """All rows of the `probes` nearest lists. `vector` is float32 `(d,)`; BadSetting for another width."""
        check_width(vector, self.width)
        products = self.centroids @ vector  # (lists,)
        probes = min(probes, len(products))
        lists = np.sort(np.argpartition(-products, probes - 1)[:probes])
        spans = [(int(self._offsets[i]), int(self._offsets[i + 1])) for i in lists]
        # list by list, so that what is read and converted stays in the processor's cache
        scores = np.concatenate([self._load(a, b).astype(np.float32) @ vector for a, b in spans])
        numbers = np.concatenate([self._numbers[a:b] for a, b in spans])
        order = np.lexsort((numbers, -scores))
        return Nearest(numbers[order], scores[order])

    def find_damage(self) -> str:
        """ "" if all can be read and every vector is a number."""
        try:
            for a in range(0, self.rows, BLOCK):
                if not np.isfinite(self._load(a, min(self.rows, a + BLOCK))).all():
                    return f"{self.path}: a vector that is no number"
        except DamagedClusters as error:
            return str(error)
        return ""

    def _load(self, first: int, end: int) -> np.ndarray:
        """The vectors of these rows, float16 `(end - first, d)`."""
        content = self._read(self._begin + 2 * first * self.width, 2 * (end - first) * self.width)
        return np.frombuffer(content, dtype="<f2").reshape(-1, self.width)

    def _read(self, at: int, size: int) -> bytes:
        try:
            content = os.pread(self._file, size, at)
        except OSError as error:
            raise DamagedClusters(f"{self.path}: {error.strerror}") from error
        if len(content) != size:
            raise DamagedClusters(f"{self.path}: cut short")
        return content


def check_width(vector: np.ndarray, width: int) -> None:
    """Raises BadSetting."""
    if vector.shape != (width,):
        raise BadSetting(
            f"a vector of shape {vector.shape} for an index of width {width}; "
            "embed all passages and questions with the same model"
        )


def write_clusters(path: Path, blocks: Iterable[Block], *, centroids: np.ndarray | None = None, seed: int = 0) -> int:
    """Write a file of these rows, as a whole or not at all, and return how many there are: none, and nothing is
    written. `centroids` of an earlier file, float32 `(lists, d)`, save the k-means.

    Twice the size of the file is needed on the disk meanwhile, and memory for the sample: 61 KB a list at 384 values.
    Raises BadSetting for vectors of several widths.
    """
    part = path.with_name(f"{path.name}.part")
    with TemporaryFile(dir=path.parent) as raw:
        numbers, width = _spool(raw, blocks)
        if not len(numbers):
            return 0
        vectors = np.memmap(raw, dtype="<f2", mode="r", shape=(len(numbers), width))
        if centroids is None:
            centroids = train(vectors, max(1, round(4 * len(numbers) ** 0.5)), seed)
        lists = _assign(vectors, centroids)
        order = np.lexsort((numbers, lists))
        offsets = np.searchsorted(lists[order], np.arange(len(centroids) + 1))
        guide = centroids.astype("<f4").tobytes() + offsets.astype("<i8").tobytes() + numbers[order].tobytes()
        try:
            with part.open("wb") as file:
                file.write(_HEAD.pack(_KIND, len(numbers), width, len(centroids), zlib.crc32(guide)) + guide)
                for at in range(0, len(order), BLOCK):
                    file.write(vectors[order[at : at + BLOCK]].tobytes())
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    return len(numbers)


def _spool(file: IO[bytes], blocks: Iterable[Block]) -> tuple[np.ndarray, int]:
    """Write the vectors one after another; returns the numbers of their rows, and the width."""
    numbers, width = [np.zeros(0, dtype="<i8")], 0
    for block_numbers, vectors in blocks:
        width = width or vectors.shape[1]
        check_width(vectors[0], width)
        numbers.append(np.asarray(block_numbers, dtype="<i8"))
        file.write(vectors.astype("<f2").tobytes())
    file.flush()
    return np.concatenate(numbers), width


def train(vectors: np.ndarray, lists: int, seed: int) -> np.ndarray:
    """Centroids of length 1, `(lists, d)`, by spherical k-means over a sample. One without vectors stays."""
    draw = np.random.default_rng(seed)
    sample_size = min(len(vectors), lists * SAMPLE_PER_LIST)
    sample = vectors[np.sort(draw.choice(len(vectors), sample_size, replace=False))].astype(np.float32)
    centroids = _normalise(sample[draw.choice(sample_size, min(lists, sample_size), replace=False)])
    for _ in range(ROUNDS):
        nearest = _assign(sample, centroids)
        order = np.argsort(nearest, kind="stable")
        present, first = np.unique(nearest[order], return_index=True)
        centroids[present] = _normalise(np.add.reduceat(sample[order], first))
    return centroids


def _assign(vectors: np.ndarray, centroids: np.ndarray) -> np.ndarray:
    """The nearest centroid of each row, int64 (rows,)."""
    size = max(64, MAX_PRODUCTS // len(centroids))
    blocks = (vectors[at : at + size].astype(np.float32) for at in range(0, len(vectors), size))
    return np.concatenate([np.argmax(block @ centroids.T, axis=1) for block in blocks])


def _normalise(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
