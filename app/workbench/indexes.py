"""The search indexes by corpus: where they are, which are open in this process, and which are gone."""

from __future__ import annotations

import threading
from typing import Protocol

from app.workbench.settings import Settings
from as2core.retrieval.index import PassageIndex
from as2core.retrieval.milvus import MilvusIndexes
from as2core.retrieval.sqlite import SqliteIndex, remove_index

VECTOR_WIDTH = 384  # of the shipped embedder


def open_indexes(settings: Settings) -> IndexStore:
    """Those of the server that the settings name, or files in the home."""
    return MilvusIndexes(settings.index_url, width=VECTOR_WIDTH) if settings.index_url else SqliteIndexes(settings)


class IndexStore(Protocol):
    """Threads may share it."""

    def get(self, corpus_id: int) -> PassageIndex:
        """The corpus's index, shared and left open; an empty one if there is none."""

    def open(self, corpus_id: int) -> PassageIndex:
        """The same for the caller alone, who closes it: nobody deletes it under a long job."""

    def exists(self, corpus_id: int) -> bool: ...

    def delete(self, corpus_id: int) -> None:
        """Close the corpus's index and delete it; none is no error."""

    def close(self) -> None:
        """Close all that are open."""


class SqliteIndexes:
    """A file a corpus in the home. A process notices when another one has built a file anew."""

    def __init__(self, settings: Settings) -> None:
        self._file, self._exact_limit = settings.index_file, settings.exact_passages
        self._open: dict[int, tuple[SqliteIndex, int]] = {}  # and the inode of its file
        self._lock = threading.Lock()

    def get(self, corpus_id: int) -> PassageIndex:
        file = self._file(corpus_id)
        with self._lock:
            index, inode = self._open.get(corpus_id, (None, -1))
            if index is None or not file.exists() or file.stat().st_ino != inode:
                if index is not None:
                    index.close()
                index = SqliteIndex(file, self._exact_limit)
                self._open[corpus_id] = index, file.stat().st_ino
            return index

    def open(self, corpus_id: int) -> PassageIndex:
        return SqliteIndex(self._file(corpus_id), self._exact_limit)

    def exists(self, corpus_id: int) -> bool:
        return self._file(corpus_id).exists()

    def delete(self, corpus_id: int) -> None:
        with self._lock:
            index, _ = self._open.pop(corpus_id, (None, -1))
            if index is not None:
                index.close()
        remove_index(self._file(corpus_id))

    def close(self) -> None:
        with self._lock:
            for index, _ in self._open.values():
                index.close()
            self._open.clear()
