"""One object a process: settings, database, indexes, models, clock. Every service takes it first."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.orm import Session

from app.workbench import audit
from app.workbench.indexes import IndexStore
from app.workbench.later import LaterWrites
from app.workbench.models import ModelProvider
from app.workbench.settings import Settings
from app.workbench.timed_cache import TimedCache
from as2core.errors import As2Error, BadSetting
from as2core.retrieval.index import PassageIndex
from db.errors import BadValue, DatabaseDamaged, DbError
from db.models import Job
from db.session import Database


class DatabaseTrouble(As2Error):
    """The database could not be opened, read or written; the text says why and what to do."""


class DatabaseDamage(DatabaseTrouble):
    """It is damaged, so that trying again is of no use."""


MAX_SEARCH_WORDS = 20


def split_search(text: str) -> tuple[str, ...]:
    """The words that somebody looks for."""
    return tuple(make_storable(text).split()[:MAX_SEARCH_WORDS])


def make_storable(text: str) -> str:
    """The text without the characters that some database refuses: NUL, and halves of surrogate pairs."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode()


def utc_now() -> datetime:
    return datetime.now(UTC)


Rename = Callable[[Job, str, str], None]
"""Has a job name a version anew, old name -> new one, wherever that is due in what it was asked or came to."""


@dataclass(frozen=True, slots=True, eq=False)
class Workbench:
    """Safe to share between threads. Sessions are short, one a use case."""

    settings: Settings
    database: Database
    models: ModelProvider
    indexes: IndexStore
    clock: Callable[[], datetime] = utc_now
    marks: dict[str, float] = field(default_factory=dict)  # when this process last did what need not be done often
    # what took long to read or count; each has one user, who says what is in it
    progress_counts: TimedCache[tuple, tuple[Any, int]] = field(default_factory=lambda: TimedCache(200))
    label_counts: TimedCache[int, tuple[tuple, int]] = field(default_factory=lambda: TimedCache(200))
    readiness: TimedCache[tuple, tuple[bool, tuple[int, ...]]] = field(default_factory=lambda: TimedCache(200))
    same_questions: TimedCache[int, Any] = field(default_factory=lambda: TimedCache(50))
    is_closed: threading.Event = field(default_factory=threading.Event)
    later: LaterWrites = field(default_factory=LaterWrites)  # by the id of the question they are about
    list_renames: Callable[[], Mapping[str, Rename]] = dict  # of the kinds of job that name versions

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

    def mark_if_due(self, act: str, seconds: float) -> bool:
        """Whether this process never did it, or last so long ago; then it counts as done now."""
        now = time.monotonic()
        if now - self.marks.get(act, -seconds) < seconds:
            return False
        self.marks[act] = now
        return True

    def analyze(self) -> None:
        """Called after many rows were added, so that the database plans its queries by them."""
        with translate_errors():
            self.database.analyze()

    def index(self, corpus_id: int) -> PassageIndex:
        """The corpus's index; an empty one if there is none."""
        return self.indexes.get(corpus_id)

    def has_index(self, corpus_id: int) -> bool:
        return self.indexes.exists(corpus_id)

    def forget_index(self, corpus_id: int) -> None:
        """Close the corpus's index and delete it."""
        self.indexes.delete(corpus_id)

    def close(self) -> None:
        self.later.finish()
        self.is_closed.set()
        self.indexes.close()
        self.database.close()


@contextmanager
def translate_errors() -> Iterator[None]:
    """Turn errors of the database into one that the pages and the command line show."""
    try:
        yield
    except BadValue as e:
        raise BadSetting(str(e)) from e
    except DatabaseDamaged as e:
        raise DatabaseDamage(str(e)) from e
    except DbError as e:
        raise DatabaseTrouble(str(e)) from e
