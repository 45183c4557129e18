"""The embedded index: SQLite's FTS5 for words, and beside each passage its vector as a float32 blob.

Words are ranked by FTS5's BM25 over stemmed tokens. Vectors are searched by brute force in numpy, which at the sizes a
laptop holds beats an extension, and above `EXACT_LIMIT` by their clusters (`as2core.retrieval.stored_vectors`);
there, a search by words ranks the passages that have one of the rarest.

Two traps this avoids: `INSERT OR REPLACE` beside an external-content FTS table corrupts it (rows are deleted, then
inserted), and a raw question is FTS syntax (its words are quoted one by one).
"""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from as2core.errors import FULL_DISK, UnreadableFile
from as2core.retrieval.index import DamagedIndex, list_content_words
from as2core.retrieval.stored_vectors import SCHEMA as CLUSTERS_SCHEMA
from as2core.retrieval.stored_vectors import StoredVectors, list_files
from as2core.types import Hit, Passage

EXACT_LIMIT = 200_000  # vectors that a question is compared with one by one
MAX_MATCHES = 40_000  # passages that a search by words ranks, in an index beyond that limit
_UNCLEAR = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)  # the codes of a full disk, too
_MIN_FREE_BYTES = 100_000  # SQLite's shared memory takes 32 kB
_LAYOUT = 1  # PRAGMA user_version of a file this module can use

_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS passage (
    n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, doc_id TEXT NOT NULL, text TEXT NOT NULL,
    first INTEGER NOT NULL, last INTEGER NOT NULL, vector BLOB, stamp INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS passage_doc ON passage (doc_id);
CREATE INDEX IF NOT EXISTS passage_pending ON passage (n) WHERE vector IS NULL;
CREATE INDEX IF NOT EXISTS passage_stamp ON passage (stamp) WHERE vector IS NOT NULL;
CREATE TABLE IF NOT EXISTS change (
    one INTEGER PRIMARY KEY CHECK (one = 1), stamp INTEGER NOT NULL, removed INTEGER NOT NULL
);
INSERT OR IGNORE INTO change VALUES (1, 0, 0);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (
    text, content = 'passage', content_rowid = 'n', tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER IF NOT EXISTS passage_added AFTER INSERT ON passage BEGIN
    INSERT INTO words (rowid, text) VALUES (new.n, new.text);
END;
CREATE TRIGGER IF NOT EXISTS passage_removed AFTER DELETE ON passage BEGIN
    INSERT INTO words (words, rowid, text) VALUES ('delete', old.n, old.text);
END;
PRAGMA user_version = {_LAYOUT};
COMMIT;
"""  # a number of ours alone  # nosec B608
_ADD = "INSERT INTO passage (id, doc_id, text, first, last, vector, stamp) VALUES (?, ?, ?, ?, ?, ?, ?)"


class SqliteIndex:
    """Passages in one file, searchable by words and by vector, derived from the documents: it can be built again.

    Threads may share it (connections are pooled), and another process may write to the file meanwhile.
    Raises DamagedIndex, and UnreadableFile for a full disk and the like.
    """

    def __init__(self, path: str | Path, exact_limit: int = EXACT_LIMIT) -> None:
        self.path = Path(path)
        self._idle: list[sqlite3.Connection] = []
        self._pool_lock = threading.Lock()
        self._exact_limit, self._vectors = exact_limit, StoredVectors(self.path, exact_limit)
        self._counts: tuple[tuple[int, int], int, int] | None = None  # of this stamp and count of removals
        self._closed = False
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self._connection() as db:
                layout = db.execute("PRAGMA user_version").fetchone()[0]
                if layout == 0:
                    db.executescript(_SCHEMA)
                if layout in (0, _LAYOUT):
                    db.execute(CLUSTERS_SCHEMA)  # which files of earlier releases lack
        except DamagedIndex as error:
            raise DamagedIndex(f"{self.path}: not a search index ({error}); delete it and index again") from error
        if layout not in (0, _LAYOUT):
            raise DamagedIndex(f"{self.path}: an index of another version; delete it and index again")

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Raises DamagedIndex for a damaged file, UnreadableFile for a full disk and the like."""
        with self._pool_lock:
            db = self._idle.pop() if self._idle else None
        try:
            if db is None:
                db = sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)
                db.execute("PRAGMA busy_timeout = 30000")
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("PRAGMA synchronous = NORMAL")
            yield db
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError):  # a fault of the caller
            raise
        except sqlite3.DatabaseError as error:
            if db is not None:
                db.close()
                db = None
            raise _to_error(error, self.path) from error
        finally:
            with self._pool_lock:
                if db is not None and not self._closed:
                    self._idle.append(db)
                    db = None
            if db is not None:
                db.close()

    @contextmanager
    def _transaction(self, mode: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
        with self._connection() as db:
            db.execute(f"BEGIN {mode}")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # a damaged file has ended the transaction
                    db.execute("ROLLBACK")
                raise

    def find_damage(self) -> str:
        """What is wrong with the file; "" if nothing is. Reads all of it."""
        try:
            with self._connection() as db:
                answer = str(db.execute("PRAGMA integrity_check(1)").fetchone()[0])
                db.execute("SELECT stamp, removed FROM change").fetchone()
                db.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
                damage = self._vectors.find_damage(db)
        except UnreadableFile as error:
            return str(error)
        return damage if answer == "ok" else answer

    def upsert_docs(self, docs: Sequence[tuple[str, Sequence[Passage]]]) -> None:
        """Replace each document's passages, all of them or none; a passage that did not change keeps its vector."""
        docs = list(dict(docs).items())
        with self._transaction() as db:
            stamp = _next_stamp(db)
            query = "SELECT id, vector FROM passage WHERE doc_id = ? AND vector IS NOT NULL"
            vectors = {pid: vector for doc_id, _ in docs for pid, vector in db.execute(query, (doc_id,))}
            _delete(db, (doc_id for doc_id, _ in docs))
            rows = (
                (p.id, doc_id, p.text, p.first, p.last, vectors.get(p.id), stamp)
                for doc_id, passages in docs
                for p in passages
            )
            db.executemany(_ADD, rows)

    def set_vectors(self, vectors: Mapping[str, np.ndarray]) -> None:
        """Vectors by passage id, float32 `(d,)` each; ids no longer there are skipped."""
        with self._transaction() as db:
            stamp = _next_stamp(db)
            db.executemany(
                "UPDATE passage SET vector = ?, stamp = ? WHERE id = ?",
                ((np.asarray(v, dtype="<f4").tobytes(), stamp, pid) for pid, v in vectors.items()),
            )

    def search_words(self, question: str, k: int) -> list[Hit]:
        """The `k` best passages by shared words, stop words aside. Every text is allowed; without a word: no hits."""
        words = list_content_words(question)
        if not words or k < 1:
            return []
        is_large = self.count() > self._exact_limit
        with self._connection() as db:
            query = build_match_expression(words)
            if is_large:  # ranked by all words, but only the passages that have one of the rarest
                rare = _choose_rare(db, words)
                twice = [*words, *(w for w in words if w not in rare)]  # each counts once for each time it is here
                query = f"({build_match_expression(rare)}) AND ({build_match_expression(twice)})"
            rows = db.execute(
                "SELECT p.id, p.doc_id FROM (SELECT rowid AS n, rank AS r FROM words WHERE words MATCH ? ORDER BY rank"
                " LIMIT ?) AS found JOIN passage AS p ON p.n = found.n ORDER BY found.r, p.n",
                (query, k),
            ).fetchall()
        return [Hit(pid, doc_id, rank) for rank, (pid, doc_id) in enumerate(rows, 1)]

    def search_vectors(self, vector: np.ndarray, k: int, docs: Sequence[str] | None = None) -> list[Hit]:
        """The `k` passages with the largest inner product, only of `docs` if given. `vector` is float32 `(d,)`."""
        with self._transaction("DEFERRED") as db:
            rows = self._vectors.search(db, np.asarray(vector, dtype=np.float32), k, docs)
        return [Hit(*row.name, rank) for rank, row in enumerate(rows, 1)]

    def is_optimized(self) -> bool:
        """Whether the vectors are in the form that is searched quickly."""
        total = self.count_vectors()
        with self._transaction("DEFERRED") as db:
            return self._vectors.is_optimized(db, total)

    def optimize(self) -> None:
        """Bring the vectors into that form: minutes for a million."""
        self._vectors.optimize(self._transaction, self.count_vectors())

    def list_pending(self, limit: int) -> list[Passage]:
        """Passages that have no vector yet, oldest first."""
        with self._connection() as db:
            rows = db.execute(
                "SELECT id, doc_id, text, first, last FROM passage WHERE vector IS NULL ORDER BY n LIMIT ?", (limit,)
            ).fetchall()
        return [Passage(*row) for row in rows]

    def count(self) -> int:
        """How many passages there are."""
        return self._count()[0]

    def count_vectors(self) -> int:
        """How many of them have a vector."""
        return self._count()[1]

    def _count(self) -> tuple[int, int]:
        """Passages, and those with a vector: counted again once the file has changed, for counting reads all of it."""
        with self._transaction("DEFERRED") as db:
            state = db.execute("SELECT stamp, removed FROM change").fetchone()
            counts = self._counts
            if counts is None or counts[0] != state:
                [total] = db.execute("SELECT count(*) FROM passage").fetchone()
                [pending] = db.execute("SELECT count(*) FROM passage WHERE vector IS NULL").fetchone()
                counts = self._counts = state, total, total - pending
        return counts[1:]

    def close(self) -> None:
        """Close files and connections."""
        with self._pool_lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for db in idle:
            db.close()


def remove_index(path: Path) -> None:
    """Delete the files of a closed index; none is no error."""
    for file in (*(path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm")), *list_files(path)):
        file.unlink(missing_ok=True)


def _to_error(error: sqlite3.DatabaseError, path: Path) -> UnreadableFile:
    code = (getattr(error, "sqlite_errorcode", None) or sqlite3.SQLITE_ERROR) & 0xFF
    if code == sqlite3.SQLITE_FULL or (code in _UNCLEAR and _is_disk_full(path)):
        return UnreadableFile(FULL_DISK)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR):  # the last: a table is missing
        return DamagedIndex(str(error))
    return UnreadableFile(f"the search index {path} cannot be used ({error}): try again, or check its permissions")


def _is_disk_full(path: Path) -> bool:
    """Whether SQLite has no room for the files beside its own, which it does not say."""
    try:
        return shutil.disk_usage(path.parent).free < _MIN_FREE_BYTES
    except OSError:
        return False


def build_match_expression(words: Sequence[str]) -> str:
    """An FTS5 expression for passages with any of these: quoted, joined with OR."""
    return " OR ".join(f'"{word}"' for word in words)


def _choose_rare(db: sqlite3.Connection, words: Sequence[str]) -> list[str]:
    """The rarest words, as many as match `MAX_MATCHES` passages together, one at least: FTS5 computes the score of
    every passage that it matches, and one with none but frequent words is seldom among the best."""
    query = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
    counts = {w: db.execute(query, (f'"{w}"', MAX_MATCHES + 1)).fetchone()[0] for w in words}
    rare: list[str] = []
    total = 0
    for word in sorted(words, key=lambda w: counts[w]):
        total += counts[word]
        if total > MAX_MATCHES and any(counts[w] for w in rare):
            break
        rare.append(word)
    return rare


def _next_stamp(db: sqlite3.Connection) -> int:
    return db.execute("UPDATE change SET stamp = stamp + 1 RETURNING stamp").fetchone()[0]


def _delete(db: sqlite3.Connection, doc_ids: Iterable[str]) -> None:
    before = db.total_changes
    db.executemany("DELETE FROM passage WHERE doc_id = ?", ((doc_id,) for doc_id in doc_ids))
    if db.total_changes > before:
        db.execute("UPDATE change SET removed = removed + 1")
