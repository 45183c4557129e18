"""One object a process: settings, database, indexes, models, clock. Every service takes it first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sqlalchemy.orm import Session

from app.workbench import audit
from app.workbench.later import LaterWrites
from app.workbench.models import ModelProvider
from app.workbench.settings import Settings
from as2core.errors import As2Error, BadSetting
from as2core.retrieval.sqlite import SqliteIndex
from db.errors import BadValue, DbError
from db.session import Database


class DatabaseTrouble(As2Error):
    """The database could not be opened, read or written; the text says why and what to do."""


def storable(text: str) -> str:
    """The text without the characters that some database refuses: NUL, and halves of surrogate pairs."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode()


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, eq=False)
class Workbench:
    """Safe to share between threads. Sessions are short, one a use case."""

    settings: Settings
    database: Database
    models: ModelProvider
    clock: Callable[[], datetime] = utc_now
    marks: dict[str, float] = field(default_factory=dict)  # when this process last did what need not be done often
    results: dict[tuple, tuple] = field(default_factory=dict)  # what took long to count, and until when it is used
    is_closed: threading.Event = field(default_factory=threading.Event)
    later: LaterWrites = field(default_factory=LaterWrites)  # by the id of the question they are about
    _indexes: dict[int, tuple[SqliteIndex, int]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session that cannot write and never waits for a writer."""
        with self._record_refusal(), translate_errors(), self.database.read() as session:
            yield session

    @contextmanager
    def write(self, *, durable: bool = False) -> Iterator[Session]:
        """A session that is committed on leaving; `durable` for labels."""
        with self._record_refusal(), translate_errors(), self.database.write(durable=durable) as session:
            yield session

    @contextmanager
    def _record_refusal(self) -> Iterator[None]:
        """In the audit log, after the transaction that it undoes."""
        try:
            yield
        except audit.Refusal as refusal:
            with translate_errors():
                audit.write_refusal(self, refusal)
            raise

    def analyze(self) -> None:
        """Called after many rows were added, so that the database plans its queries by them."""
        with translate_errors():
            self.database.analyze()

    def index(self, corpus_id: int) -> SqliteIndex:
        """The corpus's index; an empty one if its file is not there."""
        file = self.settings.index_file(corpus_id)
        with self._lock:
            index, inode = self._indexes.get(corpus_id, (None, -1))
            if index is None or not file.exists() or file.stat().st_ino != inode:  # another process built it anew
                if index is not None:
                    index.close()
                index = SqliteIndex(file)
                self._indexes[corpus_id] = index, file.stat().st_ino
            return index

    def has_index(self, corpus_id: int) -> bool:
        return self.settings.index_file(corpus_id).exists()

    def forget_index(self, corpus_id: int) -> None:
        """Close the corpus's index and delete its files."""
        with self._lock:
            index, _ = self._indexes.pop(corpus_id, (None, -1))
            if index is not None:
                index.close()
        file = self.settings.index_file(corpus_id)
        for suffix in ("", "-wal", "-shm"):
            file.with_name(file.name + suffix).unlink(missing_ok=True)

    def close(self) -> None:
        self.later.finish()
        self.is_closed.set()
        with self._lock:
            for index, _ in self._indexes.values():
                index.close()
            self._indexes.clear()
        self.database.close()


@contextmanager
def translate_errors() -> Iterator[None]:
    """Turn errors of the database into one that the pages and the command line show."""
    try:
        yield
    except BadValue as e:
        raise BadSetting(str(e)) from e
    except DbError as e:
        raise DatabaseTrouble(str(e)) from e
