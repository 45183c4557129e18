"""One object a process: settings, database, indexes, models, clock. Every service takes it first."""

from __future__ import annotations

import logging
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
from app.workbench.later_writes import LaterWrites
from app.workbench.models import ModelProvider
from app.workbench.settings import Settings
from app.workbench.timed_cache import TimedCache
from as2core.errors import As2Error, BadSetting
from as2core.retrieval.index import PassageIndex
from db.errors import BadValue, CommitUnknown, DatabaseBusy, DatabaseDamaged, DatabaseUnreachable, DbError
from db.models import Job
from db.session import Database

log = logging.getLogger(__name__)


class DatabaseTrouble(As2Error):
    """The database could not be opened, read or written; the text says why and what to do."""

    @property
    def is_outage(self) -> bool:
        """Whether the database's server does not answer: then the text says where it was looked for."""
        return isinstance(self.__cause__, DatabaseUnreachable)


class DatabaseDamage(DatabaseTrouble):
    """It is damaged, so that trying again is of no use."""


class DatabaseOutage(DatabaseTrouble):
    """The database's server went away. The text may be shown to anybody: the log says where the server was looked for,
    once an outage."""

    @property
    def is_uncertain(self) -> bool:
        """Whether it went away while what was done was committed."""
        return self.__cause__ is not None and isinstance(self.__cause__.__cause__, CommitUnknown)


class DatabaseContention(DatabaseTrouble):
    """Somebody else held a lock for too long: what needed it was not done, and can be tried again."""


OUTAGE_TEXT = "the database is unavailable at the moment"
OUTAGE_MARK, LAST_OUTAGE_MARK = "outage", "last outage"  # of a workbench: whether the database is away; since when not
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
    readiness: TimedCache[tuple, tuple[Any, tuple[int, ...]]] = field(default_factory=lambda: TimedCache(200))
    outcome_marks: TimedCache[int, tuple[tuple[int, int], tuple[int, int]]] = field(
        default_factory=lambda: TimedCache(200)
    )
    label_summaries: TimedCache[tuple, tuple[tuple, Any]] = field(default_factory=lambda: TimedCache(50))
    same_questions: TimedCache[int, Any] = field(default_factory=lambda: TimedCache(50))
    is_closed: threading.Event = field(default_factory=threading.Event)
    later: LaterWrites = field(default_factory=LaterWrites)  # by the id of the question they are about
    list_renames: Callable[[], Mapping[str, Rename]] = dict  # of the kinds of job that name versions

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session that cannot write and never waits for a writer."""
        with self._record_refusal(), self._notice_outage(), self.database.read() as session:
            yield session

    @contextmanager
    def write(self, *, durable: bool = False) -> Iterator[Session]:
        """A session that is committed on leaving; `durable` for labels."""
        with self._record_refusal(), self._notice_outage(), self.database.write(durable=durable) as session:
            yield session

    @contextmanager
    def _record_refusal(self) -> Iterator[None]:
        """In the audit log, after the transaction that it undoes."""
        try:
            yield
        except audit.Refusal as refusal:
            with self._notice_outage():
                audit.write_refusal(self, refusal)
            raise

    @contextmanager
    def _notice_outage(self) -> Iterator[None]:
        """Translate errors; log when the database goes away, and when it is back."""
        try:
            with translate_errors():
                yield
        except DatabaseTrouble as e:
            if not e.is_outage:
                raise
            self.marks[LAST_OUTAGE_MARK] = self.clock().timestamp()
            if OUTAGE_MARK not in self.marks:
                self.marks[OUTAGE_MARK] = self.marks[LAST_OUTAGE_MARK]
                log.error("%s", e)
            raise DatabaseOutage(OUTAGE_TEXT) from e
        if OUTAGE_MARK in self.marks and self.marks.pop(OUTAGE_MARK, None) is not None:
            log.warning("the database can be reached again")

    def had_outage_within(self, seconds: float) -> bool:
        """Whether this process found the database away so short a time ago."""
        return self.clock().timestamp() - self.marks.get(LAST_OUTAGE_MARK, float("-inf")) < seconds

    def mark_if_due(self, act: str, seconds: float) -> bool:
        """Whether this process never did it, or last so long ago; then it counts as done now."""
        now = time.monotonic()
        if now - self.marks.get(act, -seconds) < seconds:
            return False
        self.marks[act] = now
        return True

    def analyze(self) -> None:
        """Called after many rows were added, so that the database plans its queries by them."""
        with self._notice_outage():
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
        self.later.close()
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
    except DatabaseBusy as e:
        raise DatabaseContention(str(e)) from e
    except DbError as e:
        raise DatabaseTrouble(str(e)) from e
