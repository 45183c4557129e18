"""Passages read before, on disk, so that a sentence asked about before costs a question nothing but its own tokens.

One SQLite file. An entry's key is the model's fingerprint and the text's hash: a model that changed finds nothing of
its former self. The file is bounded: the entries longest unused go first. Several processes may share it (WAL, one
short transaction a call); it only ever saves work, so what goes wrong with it is logged and the score comes without it.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from torch import nn

    from as2core.nn.kept_passages import PassageState

log = logging.getLogger(__name__)
T = TypeVar("T")

MAX_BYTES = 1 << 30  # some 3,000 sentences of the default model
_FORMAT = 2  # 1: threads that tokenised at once could leave a passage uncut
_SCHEMA = """
CREATE TABLE IF NOT EXISTS entry (key BLOB PRIMARY KEY, bytes INTEGER NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS entry_used ON entry (used);
CREATE TABLE IF NOT EXISTS state (key BLOB PRIMARY KEY, tensors BLOB NOT NULL);
"""


class PassageCache:
    """`max_bytes` bounds the stored tensors; memories are stored as float16, half of what the model works in."""

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES) -> None:
        self.path, self.max_bytes = Path(path), max_bytes
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def __deepcopy__(self, _memo: dict) -> PassageCache:
        return self  # a copy of a ranker shares the file

    def get(self, model: str, texts: Iterable[str]) -> dict[str, PassageState]:
        """Those of the texts that are there, and a note that they were used. `model` is `fingerprint`'s."""
        keys = {_key(model, t): t for t in texts}

        def read(c: sqlite3.Connection) -> dict[str, PassageState]:
            states = {}
            for key, text in keys.items():
                row = c.execute("SELECT tensors FROM state WHERE key = ?", (key,)).fetchone()
                if row is not None:
                    states[text] = _unpack(row[0])
            if states:
                with c:
                    now = _begin_use(c)
                    c.executemany("UPDATE entry SET used = ? WHERE key = ?", [(now, _key(model, t)) for t in states])
            return states

        return self._try(read) or {}

    def put(self, model: str, states: Mapping[str, PassageState]) -> None:
        """Store passages, then drop the longest unused until the bound holds."""
        rows = [(_key(model, t), _pack(k)) for t, k in states.items()]

        def write(c: sqlite3.Connection) -> None:
            with c:
                now = _begin_use(c)
                c.executemany("INSERT OR REPLACE INTO state VALUES (?, ?)", rows)
                c.executemany("INSERT OR REPLACE INTO entry VALUES (?, ?, ?)", [(k, len(b), now) for k, b in rows])
                excess = c.execute("SELECT coalesce(sum(bytes), 0) FROM entry").fetchone()[0] - self.max_bytes
                removed = []
                for key, size in c.execute("SELECT key, bytes FROM entry ORDER BY used, key"):
                    if excess <= 0:
                        break
                    removed.append((key,))
                    excess -= size
                for name in ("entry", "state"):
                    c.executemany(f"DELETE FROM {name} WHERE key = ?", removed)

        self._try(write)

    @property
    def bytes(self) -> int:
        """Of all stored tensors."""
        return self._try(lambda c: c.execute("SELECT coalesce(sum(bytes), 0) FROM entry").fetchone()[0]) or 0

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _try(self, act: Callable[[sqlite3.Connection], T]) -> T | None:
        """The act's result, or None where the file cannot be used; a damaged file is replaced by an empty one, once."""
        from safetensors import SafetensorError

        with self._lock:
            for first in (True, False):
                try:
                    if self._connection is None:
                        self._connection = _open(self.path)
                    return act(self._connection)
                except (sqlite3.OperationalError, OSError) as e:  # locked, full, not writable
                    log.warning("scoring without cached passages: %s: %s", self.path, e)
                    return None
                except (sqlite3.DatabaseError, SafetensorError) as e:
                    log.warning("%s is damaged and replaced by an empty one: %s", self.path, e)
                    if self._connection is not None:
                        self._connection.close()
                        self._connection = None
                    if first:
                        for suffix in ("", "-wal", "-shm"):
                            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        return None


def fingerprint(module: nn.Module, max_length: int | None = None) -> str:
    """What a model's kept passages depend on: its kind, every weight, and where it cuts a passage (at the module's own
    `max_length` if none is given)."""
    import torch

    cut = module.max_length if max_length is None else max_length
    digest = hashlib.blake2b(f"{_FORMAT} {type(module).__name__} {cut}".encode(), digest_size=16)
    for name, tensor in sorted(module.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _key(model: str, text: str) -> bytes:
    return hashlib.blake2b(f"{model}\0{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _pack(state: PassageState) -> bytes:
    from safetensors.torch import save

    return save({"memory": state.memory.half().cpu().contiguous(), **{f".{k}": v.cpu() for k, v in state.rest.items()}})


def _unpack(blob: bytes) -> PassageState:
    from safetensors.torch import load

    from as2core.nn.kept_passages import PassageState

    tensors = load(blob)
    return PassageState(tensors.pop("memory"), {k[1:]: v for k, v in tensors.items()})


def _open(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    c = sqlite3.connect(path, timeout=5, isolation_level=None, check_same_thread=False)
    c.execute("PRAGMA page_size=16384")  # entries are hundreds of kilobytes
    c.execute("PRAGMA journal_mode=WAL")
    c.execute("PRAGMA synchronous=NORMAL")
    c.execute("PRAGMA journal_size_limit=67108864")
    c.executescript(_SCHEMA)
    return c


def _begin_use(c: sqlite3.Connection) -> int:
    """Begin a transaction, which `with c` ends; the number of this use."""
    c.execute("BEGIN IMMEDIATE")  # a writer waits for another instead of failing half-way
    return c.execute("SELECT coalesce(max(used), 0) + 1 FROM entry").fetchone()[0]
