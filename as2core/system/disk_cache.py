"""Bytes by key in one SQLite file, bounded: the entries longest unused go first.

Several processes may share it (WAL, one short transaction a call). It only ever saves work, so what goes wrong with it
is logged, and the caller does the work: a file that cannot be used holds nothing, and a damaged one is begun anew. Keys
say what a value depends on, so that nothing stale is found.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

log = logging.getLogger(__name__)
T = TypeVar("T")

MAX_KEYS = 500  # of one query
_SCHEMA = """
CREATE TABLE IF NOT EXISTS entry (key BLOB PRIMARY KEY, bytes INTEGER NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS entry_used ON entry (used);
CREATE TABLE IF NOT EXISTS state (key BLOB PRIMARY KEY, tensors BLOB NOT NULL);
"""
# The sum of all sizes is kept, since it is asked for at every put: summing a million entries takes longer than storing.
# REPLACE takes the old entry away without a trigger, so the insert accounts for it, also that of an older program.
_TOTAL = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS total (bytes INTEGER NOT NULL);
INSERT INTO total SELECT coalesce(sum(bytes), 0) FROM entry WHERE NOT EXISTS (SELECT 1 FROM total);
CREATE TRIGGER IF NOT EXISTS entry_insert BEFORE INSERT ON entry BEGIN
    UPDATE total SET bytes = bytes + new.bytes - coalesce((SELECT bytes FROM entry WHERE key = new.key), 0);
END;
CREATE TRIGGER IF NOT EXISTS entry_delete AFTER DELETE ON entry BEGIN
    UPDATE total SET bytes = bytes - old.bytes;
END;
COMMIT;
"""


class DiskCache:
    """`max_bytes` bounds the stored values; `page_bytes` is the file's page, for values of about that size or less.
    `content` names them in the log. A copy shares the file."""

    def __init__(self, path: Path, *, max_bytes: int, content: str, page_bytes: int = 4096) -> None:
        self.path, self.max_bytes, self.content = Path(path), max_bytes, content
        self._page_bytes = page_bytes
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def __deepcopy__(self, _memo: dict) -> DiskCache:
        return self

    def get_bytes(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Those that are there, and a note that they were used."""
        distinct = [*dict.fromkeys(keys)]

        def read(c: sqlite3.Connection) -> dict[bytes, bytes]:
            values: dict[bytes, bytes] = {}
            for some in (distinct[i : i + MAX_KEYS] for i in range(0, len(distinct), MAX_KEYS)):
                marks = ",".join("?" * len(some))
                query = f"SELECT key, tensors FROM state WHERE key IN ({marks})"  # question marks alone  # nosec B608
                values |= dict(c.execute(query, some))
            if values:
                with c:
                    now = _begin_use(c)
                    c.executemany("UPDATE entry SET used = ? WHERE key = ?", [(now, key) for key in values])
            return values

        return self._try(read) or {}

    def put_bytes(self, values: Mapping[bytes, bytes]) -> None:
        """Store values, then drop the longest unused until the bound holds."""

        def write(c: sqlite3.Connection) -> None:
            with c:
                now = _begin_use(c)
                c.executemany("INSERT OR REPLACE INTO state VALUES (?, ?)", values.items())
                c.executemany(
                    "INSERT OR REPLACE INTO entry VALUES (?, ?, ?)", [(k, len(v), now) for k, v in values.items()]
                )
                excess = _read_total(c) - self.max_bytes
                old_keys = []
                if excess > 0:
                    for key, size in c.execute("SELECT key, bytes FROM entry ORDER BY used, key"):
                        old_keys.append((key,))
                        excess -= size
                        if excess <= 0:
                            break
                c.executemany("DELETE FROM entry WHERE key = ?", old_keys)
                c.executemany("DELETE FROM state WHERE key = ?", old_keys)

        if values:
            self._try(write)

    @property
    def size_bytes(self) -> int:
        """Of all values."""
        return self._try(_read_total) or 0

    def close(self) -> None:
        with self._lock:
            self._close()

    def begin_anew(self, reason: object) -> None:
        """Replace the file by an empty one: a value cannot be read."""
        with self._lock:
            self._remove(reason)

    def _try(self, act: Callable[[sqlite3.Connection], T]) -> T | None:
        """The act's result, or None where the file cannot be used; a damaged file is replaced by an empty one, once."""
        with self._lock:
            for first in (True, False):
                try:
                    if self._connection is None:
                        self._connection = self._open()
                    return act(self._connection)
                except (sqlite3.OperationalError, OSError) as e:  # locked, full, not writable
                    log.warning("scoring without cached %s: %s: %s", self.content, self.path, e)
                    return None
                except sqlite3.DatabaseError as e:
                    if first:
                        self._remove(e)
                    else:
                        self._close()
        return None

    def _remove(self, reason: object) -> None:
        log.warning("%s is damaged and replaced by an empty one: %s", self.path, reason)
        self._close()
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        c = sqlite3.connect(self.path, timeout=5, isolation_level=None, check_same_thread=False)
        c.execute(f"PRAGMA page_size={self._page_bytes}")
        c.execute("PRAGMA journal_mode=WAL")
        c.execute("PRAGMA synchronous=NORMAL")
        c.execute("PRAGMA journal_size_limit=67108864")
        c.executescript(_SCHEMA)
        if c.execute("SELECT 1 FROM sqlite_master WHERE name = 'entry_delete'").fetchone() is None:
            c.executescript(_TOTAL)
        return c


def _read_total(c: sqlite3.Connection) -> int:
    return c.execute("SELECT bytes FROM total").fetchone()[0]


def _begin_use(c: sqlite3.Connection) -> int:
    """Begin a transaction, which `with c` ends; the number of this use."""
    c.execute("BEGIN IMMEDIATE")  # a writer waits for another instead of failing half-way
    return c.execute("SELECT coalesce(max(used), 0) + 1 FROM entry").fetchone()[0]
