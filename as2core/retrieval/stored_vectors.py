"""The vectors of a SQLite index: few of them in memory and compared with each question, many in a file of clusters.

A file of clusters (`as2core.retrieval.clusters`) holds the vectors up to a stamp of the index and never changes. What
was written since is in memory as before; what was removed since is no longer among the index's rows, and a hit that is
none of them is passed over. When too much has changed, a new file is written and takes the place of the old one in one
transaction, so that whoever is interrupted leaves the old one. A file that is damaged or gone counts as none: all
vectors are compared, from memory, until there is a new one.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import numpy as np

from as2core.retrieval.clusters import Block, DamagedClusters, Nearest, VectorClusters, check_width, write_clusters
from as2core.retrieval.matrix import ScoredRow, VectorMatrix

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS clusters"
    " (one INTEGER PRIMARY KEY CHECK (one = 1), file TEXT NOT NULL, stamp INTEGER NOT NULL)"
)
LOOSE_PART = 10  # so large a part of the limit, or of the file, may have changed since
READ_ROWS = 8192
READ_NAMES = 500
LIFE_SECONDS = 3600.0  # of a part of a file that nobody writes to

log = logging.getLogger(__name__)

Transaction = Callable[[str], AbstractContextManager[sqlite3.Connection]]


class StoredVectors:
    """Follows the rows of one index file, whichever process writes them. `limit`: how many vectors are compared with
    every question; above it, `optimize` writes the file of clusters."""

    def __init__(self, path: Path, limit: int) -> None:
        self._path, self._limit = path, limit
        self._lock = threading.Lock()
        self._matrix = VectorMatrix()
        self._state = (0, 0)  # the stamp and the count of removals that the matrix includes
        self._row: tuple[str, int] | None = None  # the file of clusters that was tried last, and its stamp
        self._clusters: VectorClusters | None = None

    @property
    def _base(self) -> int:
        """The stamp up to which rows are in the clusters."""
        return self._row[1] if self._row and self._clusters else 0

    def search(self, db: sqlite3.Connection, vector: np.ndarray, k: int, docs: Sequence[str] | None) -> list[ScoredRow]:
        """The `k` rows with the largest inner product with `vector` (d,), best first, equal ones by number; only of
        `docs` if given. `db` is in a transaction."""
        with self._lock:
            self._follow_clusters(db)
            nearest = None
            if self._clusters is not None:
                check_width(vector, self._clusters.width)
                if docs is not None:
                    return _rank_documents(db, vector, k, docs)
                try:
                    nearest = self._clusters.nearest(vector)
                except DamagedClusters as error:
                    self._give_up(error)
            self._follow_rows(db)
            loose, base = self._matrix.nearest(vector, k, docs), self._base
        if nearest is None:
            return loose
        return _best([*loose, *_load_live(db, nearest, base, k)], k)

    def is_optimized(self, db: sqlite3.Connection, total: int) -> bool:
        """Whether `optimize` has nothing to do. `total`: of the vectors."""
        with self._lock:
            self._follow_clusters(db)
            if total <= self._limit or self._clusters is None:
                return total <= self._limit and self._row is None
            rows = self._clusters.rows
            [loose] = db.execute(
                "SELECT count(*) FROM passage WHERE vector IS NOT NULL AND stamp > ?", (self._base,)
            ).fetchone()
        removed = rows - (total - loose)
        return loose + removed <= max(self._limit, rows) // LOOSE_PART

    def optimize(self, begin: Transaction, total: int) -> None:
        """Write a new file of clusters, or have none where there are few vectors now."""
        with self._lock, begin("DEFERRED") as db:
            self._follow_clusters(db)
            [stamp] = db.execute("SELECT stamp FROM change").fetchone()
            old = self._clusters
        path = self._path.with_name(f"{self._path.name}.vectors-{uuid.uuid4().hex[:12]}")
        # as many lists as the file had do until it is twice as large
        centroids = old.centroids if old is not None and total < 2 * old.rows else None
        if total > self._limit:
            write_clusters(path, _read_blocks(begin, stamp), centroids=centroids)
        with begin("IMMEDIATE") as db:
            now = db.execute("SELECT stamp FROM clusters").fetchone()
            if now is None or now[0] <= stamp:
                db.execute("DELETE FROM clusters")
                if path.exists():
                    db.execute("INSERT INTO clusters VALUES (1, ?, ?)", (path.name, stamp))
            row = db.execute("SELECT file FROM clusters").fetchone()
        _remove_others(self._path, row[0] if row else "")

    def find_damage(self, db: sqlite3.Connection) -> str:
        """What is wrong with the file of clusters; "" if nothing is. Reads all of it."""
        row = db.execute("SELECT file FROM clusters").fetchone()
        try:
            return VectorClusters(self._path.with_name(row[0])).find_damage() if row else ""
        except DamagedClusters as error:
            return str(error)

    def _follow_clusters(self, db: sqlite3.Connection) -> None:
        """Open the file that the index names, once."""
        row = db.execute("SELECT file, stamp FROM clusters").fetchone()
        if row == self._row:
            return
        self._row, self._clusters = row, None
        if row is not None:
            try:
                self._clusters = VectorClusters(self._path.with_name(row[0]))
            except DamagedClusters as error:
                log.warning("%s: all vectors are compared until there is a new file", error)
        self._forget_rows()

    def _give_up(self, error: DamagedClusters) -> None:
        log.warning("%s: all vectors are compared until there is a new file", error)
        self._clusters = None
        self._forget_rows()

    def _forget_rows(self) -> None:
        self._matrix, self._state = VectorMatrix(), (self._base, -1)

    def _follow_rows(self, db: sqlite3.Connection) -> None:
        """Bring the matrix up to date with the rows: add those stamped since, and drop the removed ones."""
        now = db.execute("SELECT stamp, removed FROM change").fetchone()
        if now == self._state:
            return
        if now[1] != self._state[1] and len(self._matrix):
            query = "SELECT n FROM passage WHERE vector IS NOT NULL AND stamp > ?"
            self._matrix.retain({n for (n,) in db.execute(query, (self._base,))})
        rows = db.execute(
            "SELECT n, id, doc_id, vector FROM passage WHERE vector IS NOT NULL AND stamp > ? ORDER BY n",
            (self._state[0],),
        )
        for n, pid, doc_id, blob in rows:
            self._matrix.put(n, (pid, doc_id), np.frombuffer(blob, dtype="<f4"))
        self._state = now


def _best(rows: list[ScoredRow], k: int) -> list[ScoredRow]:
    return sorted(rows, key=lambda r: (-r.score, r.number))[:k]


def _load_live(db: sqlite3.Connection, nearest: Nearest, base: int, k: int) -> list[ScoredRow]:
    """The best `k` that are still rows, and have not been written since."""
    live: list[ScoredRow] = []
    for at in range(0, len(nearest.numbers), READ_NAMES):
        if len(live) >= k:
            break
        numbers = nearest.numbers[at : at + READ_NAMES].tolist()
        marks = ",".join("?" * len(numbers))
        query = f"SELECT n, id, doc_id FROM passage WHERE n IN ({marks}) AND stamp <= ?"  # marks alone  # nosec B608
        names = {n: (pid, doc_id) for n, pid, doc_id in db.execute(query, (*numbers, base))}
        scores = nearest.scores[at : at + READ_NAMES].tolist()
        live += [ScoredRow(s, n, names[n]) for s, n in zip(scores, numbers, strict=True) if n in names]
    return live[:k]


def _rank_documents(db: sqlite3.Connection, vector: np.ndarray, k: int, docs: Sequence[str]) -> list[ScoredRow]:
    """Of a few documents all vectors are read."""
    query = "SELECT n, id, doc_id, vector FROM passage WHERE doc_id = ? AND vector IS NOT NULL"
    rows = [row for doc_id in dict.fromkeys(docs) for row in db.execute(query, (doc_id,))]
    if not rows or k < 1:
        return []
    scores = np.stack([np.frombuffer(blob, dtype="<f4") for *_, blob in rows]) @ vector
    return _best([ScoredRow(float(s), n, (pid, d)) for s, (n, pid, d, _) in zip(scores, rows, strict=True)], k)


def _read_blocks(begin: Transaction, stamp: int) -> Iterator[Block]:
    """The vectors written up to this stamp, in short transactions: a row that changes meanwhile has a later stamp."""
    last = -1
    query = "SELECT n, vector FROM passage WHERE n > ? AND vector IS NOT NULL AND +stamp <= ? ORDER BY n LIMIT ?"
    while True:
        with begin("DEFERRED") as db:
            rows = db.execute(query, (last, stamp, READ_ROWS)).fetchall()
        if not rows:
            return
        last = rows[-1][0]
        yield np.array([n for n, _ in rows]), np.stack([np.frombuffer(blob, dtype="<f4") for _, blob in rows])


def list_files(path: Path) -> list[Path]:
    """The files of clusters beside this index, old ones and parts included."""
    return list(path.parent.glob(f"{path.name}.vectors-*"))


def _remove_others(path: Path, name: str) -> None:
    """Delete all files of clusters but this one. What another process is writing stays."""
    for file in list_files(path):
        with suppress(OSError):
            if file.name != name and time.time() - file.stat().st_mtime > LIFE_SECONDS * (file.suffix == ".part"):
                file.unlink()
