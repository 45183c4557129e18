"""Engines and sessions: one database object a process, one short session a use case.

SQLite's defaults lose concurrent updates, so the driver's own transactions are off (`isolation_level=None`) and three
engines share the file: a reader (deferred snapshot, cannot write, never waits), a writer (`BEGIN IMMEDIATE`: what it
reads is still true when it writes), and a durable writer (the same, synced to the disk before the commit returns: for
labels). PostgreSQL needs one engine for all three.
"""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, ExceptionContext, create_engine, event, make_url, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session, SessionTransaction
from sqlalchemy.pool import ConnectionPoolEntry

from db.errors import (
    BadValue,
    CommitUnknown,
    DatabaseBusy,
    DatabaseDamaged,
    DatabaseTooNew,
    DatabaseUnreachable,
    DbError,
)
from db.models import Base

BUSY_MS = 5000  # after which a write that waits for others gives up
RETRY_MS = 10
BUSY = "the database is busy with another write: try again in a moment"
OPENING_BUSY = (
    "the database could not be opened, and was not changed: another program has held it for more than two minutes. "
    "Wait until that ends, or stop it (an app, a worker or a command of this or an earlier release), and try again"
)
TOO_NEW = (
    "this database was made by a newer version of AS2 Workbench: update the program, or go back to a backup from "
    "before the update (`as2 restore FILE`)"
)
LOCK_SECONDS = 10  # on PostgreSQL, after which a statement that waits for another transaction's lock gives up
LOCK_BUSY = (
    "the database is busy: another transaction has held a lock for too long, so this step was not done. Try again in a "
    "moment; if it goes on, `as2 check` names that transaction"
)
UNTESTED_SECONDS = 10.0  # that a connection may lie unused before it is tested
MAX_OPENING_TRIES = 25
UNCLEAR = ("disk I/O error", "unable to open")  # of SQLite, for a full disk, too
SQLITE_DAMAGE = ("not a database", "malformed", "no such table")  # in what it says
MIGRATION_LOCK = 7263  # of PostgreSQL; who opens the database waits for it
MIN_FREE_BYTES = 100_000  # SQLite's shared memory takes 32 kB
MIGRATIONS = Path(__file__).with_name("migrations")


class Database:
    """`read()` and `write()` give a session; leaving `write()` commits, an exception rolls back."""

    def __init__(self, url: str) -> None:
        self.url = make_url(url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        if self.sqlite:
            eager = f"busy_timeout={RETRY_MS}"
            self._reader = _sqlite_engine(self.url, begin="BEGIN", pragmas=("query_only=ON",))
            self._writer = _sqlite_engine(self.url, begin="BEGIN IMMEDIATE", pragmas=("synchronous=NORMAL", eager))
            self._durable = _sqlite_engine(self.url, begin="BEGIN IMMEDIATE", pragmas=("synchronous=FULL", eager))
        else:
            self._reader = self._writer = self._durable = _postgres_engine(self.url)
        for engine in {self._reader, self._writer, self._durable}:
            event.listen(engine, "handle_error", _explain_value)

    @contextmanager
    def read(self) -> Iterator[Session]:
        with _translate_errors(self), Session(self._reader, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def write(self, *, durable: bool = False) -> Iterator[Session]:
        """`durable`: on SQLite, what was written survives a power cut once this returns, not only a kill."""
        engine = self._durable if durable else self._writer
        with (
            _translate_errors(self),
            Session(engine, expire_on_commit=False) as session,
            session.begin() as transaction,
        ):
            yield session
            if transaction.is_active:  # else it was committed earlier
                session.flush()
                self._commit(transaction)

    def _commit(self, transaction: SessionTransaction) -> None:
        try:
            with _translate_errors(self):
                transaction.commit()
        except DatabaseUnreachable as e:
            raise CommitUnknown(str(e)) from e

    def analyze(self) -> None:
        """After many rows were added: PostgreSQL plans by its last statistics, which may be from before them."""
        if self.sqlite:
            return
        # without it the rows are stored all the same
        with suppress(DatabaseBusy), _translate_errors(self), self.engine.begin() as connection:
            connection.execute(text(f"ANALYZE {', '.join(Base.metadata.tables)}"))

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """A transaction that others wait for. SQLite makes some tables anew, and to drop an old one would delete what
        refers to it: foreign keys are off, which cannot be switched once it has begun."""
        if not self.sqlite:
            with self.engine.begin() as connection:
                patience = connection.scalar(text("SHOW lock_timeout"))
                connection.execute(text("SET LOCAL lock_timeout = 0"))  # another process may migrate for long
                connection.execute(text(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"))
                connection.execute(text(f"SET LOCAL lock_timeout = '{patience}'"))
                yield connection
            return
        eager = f"busy_timeout={RETRY_MS}"
        engine = _sqlite_engine(self.url, begin="BEGIN IMMEDIATE", pragmas=(eager, "foreign_keys=OFF"))
        try:
            with engine.begin() as connection:
                yield connection
        finally:
            engine.dispose()

    @property
    def engine(self) -> Engine:
        """The writer, for tests that look underneath."""
        return self._writer

    def close(self) -> None:
        for engine in {self._reader, self._writer, self._durable}:
            engine.dispose()


def open_database(url: str, *, before_migration: Callable[[], None] = lambda: None) -> Database:
    """Open, creating or migrating what is there to the newest revision. `before_migration` is called before a database
    of an earlier release is changed; what it raises leaves that as it was. Raises DbError with the remedy."""
    try:
        database = Database(url)
    except (ArgumentError, ValueError) as e:  # its text may hold a part of the password
        raise DbError(
            "AS2_DATABASE_URL names no database that can be used: write it as "
            "postgresql+psycopg://user:password@host/name or sqlite:////path/to/file, or leave it out"
        ) from e
    if database.sqlite and (path := database.url.database) and not Path(path).parent.exists():
        raise DbError(f"there is no folder {Path(path).parent} for the database: make it, or correct AS2_DATABASE_URL")
    try:
        _migrate(database, before_migration)
    except BaseException:
        database.close()
        raise
    return database


def _migrate(database: Database, before_migration: Callable[[], None]) -> None:
    """One process migrates while others wait. A new SQLite file's switch to WAL does not wait by itself: try again."""
    for remaining in reversed(range(MAX_OPENING_TRIES)):
        try:
            with _translate_errors(database), database.migrating() as connection:
                _upgrade(connection, before_migration)
            return
        except DatabaseBusy as e:
            if not remaining:
                raise DatabaseBusy(OPENING_BUSY) from e
            time.sleep(0.2)


def _upgrade(connection: Connection, before_migration: Callable[[], None]) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        scripts = ScriptDirectory.from_config(config)
        revision = MigrationContext.configure(connection).get_current_revision()
        if revision is not None and revision != scripts.get_current_head():
            scripts.get_revision(revision)  # raises for one of a newer release
            before_migration()
        command.upgrade(config, "head")
    except CommandError as e:
        if "Can't locate revision" in str(e):
            raise DatabaseTooNew(TOO_NEW) from e
        raise DbError(f"the database could not be migrated: {e}") from e


def _with_driver(url: URL) -> URL:
    if url.get_backend_name() not in ("postgresql", "postgres"):
        raise ValueError(url.drivername)
    return url.set(drivername="postgresql+psycopg") if url.drivername in ("postgresql", "postgres") else url


def _postgres_engine(url: URL) -> Engine:
    """A connection that lay unused for a while is tested before it is used, as the server may have gone meanwhile; to
    test each would be a round trip a transaction, four a label. A statement waits for a lock for a limited time; by
    PostgreSQL's default it waits for ever, and a transaction that hangs elsewhere would hang every page."""
    engine = create_engine(_with_driver(url))

    @event.listens_for(engine, "connect")
    def _limit_waits(connection: DBAPIConnection, _record: object) -> None:
        cursor = connection.cursor()  # a limit that the address, the role or the server sets holds as it is
        cursor.execute(
            f"SELECT set_config('lock_timeout', '{LOCK_SECONDS}s', false) WHERE current_setting('lock_timeout') = '0'"
        )
        cursor.close()
        connection.commit()

    @event.listens_for(engine, "checkin")
    def _note(_connection: object, record: ConnectionPoolEntry) -> None:
        record.info["unused since"] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def _test(connection: DBAPIConnection, record: ConnectionPoolEntry, _proxy: object) -> None:
        since = record.info.get("unused since")
        if since is not None and time.monotonic() - since > UNTESTED_SECONDS:
            try:
                engine.dialect.do_ping(connection)
            except engine.dialect.loaded_dbapi.Error as e:
                raise DisconnectionError from e  # the pool opens another one

    return engine


def _sqlite_engine(url: URL, *, begin: str, pragmas: tuple[str, ...]) -> Engine:
    engine = create_engine(url, connect_args={"timeout": BUSY_MS / 1000, "check_same_thread": False})

    @event.listens_for(engine, "connect")
    def _prepare(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None
        connection.create_function("lower", 1, _lower, deterministic=True)
        for pragma in ("journal_mode=WAL", f"busy_timeout={BUSY_MS}", "foreign_keys=ON", *pragmas):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        """SQLite tries for a lock less and less often, up to ten times a second, so a writer that has waited long is
        overtaken by one that has just come: try again every `RETRY_MS` instead."""
        driver, until = connection.connection.driver_connection, time.monotonic() + BUSY_MS / 1000
        while driver is not None and time.monotonic() < until:
            try:
                driver.execute(begin)
                return
            except sqlite3.DatabaseError as e:
                if getattr(e, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY:
                    break
        connection.exec_driver_sql(begin)  # whose error is raised as any statement's

    return engine


def _explain_value(context: ExceptionContext) -> BaseException | None:
    """Drivers raise Python's own errors for values that they cannot pass on."""
    if isinstance(context.original_exception, OverflowError):
        return BadValue("a number is larger than any that is stored here: check the id")
    if isinstance(context.original_exception, UnicodeEncodeError):
        return BadValue("a text holds half of a character (a lone surrogate): type it anew")
    return None


def _lower(value: str | bytes | float | None) -> str | bytes | float | None:
    """SQLite's own lowers A to Z only; this one any letter, as PostgreSQL's does."""
    return value.lower() if isinstance(value, str) else value


@contextmanager
def _translate_errors(database: Database) -> Iterator[None]:
    """Turn the driver's errors into one sentence; everything else passes."""
    try:
        yield
    except DBAPIError as e:
        reason = str(e.orig).strip().splitlines()[0]
        if e.connection_invalidated:
            raise _to_unreachable(reason, database) from e
        raise _to_error(reason, database) from e
    except PoolTimeout as e:  # all connections wait for something
        raise DatabaseBusy(BUSY) from e
    except SQLAlchemyError as e:
        raise DbError(f"the database refused: {str(e).splitlines()[0]}") from e


def _describe_place(database: Database) -> str:
    """The server's address, or the path of SQLite's file: in an address, blanks and accents would be escaped."""
    file = database.url.database if database.sqlite else None
    return file or database.url.render_as_string(hide_password=True)


def _to_unreachable(reason: str, database: Database) -> DatabaseUnreachable:
    return DatabaseUnreachable(f"cannot reach the database {_describe_place(database)}: {reason}")


def _to_error(reason: str, database: Database) -> DbError:
    where = _describe_place(database)
    if reason.startswith(UNCLEAR) and _is_disk_full(database):
        reason = "disk is full"
    remedies: dict[str, Callable[[], DbError]] = {
        "locked": lambda: DatabaseBusy(BUSY),
        "deadlock": lambda: DatabaseBusy(BUSY),
        "lock timeout": lambda: DatabaseBusy(LOCK_BUSY),
        "unable to open": lambda: DbError(f"cannot open the database {where}: check the path and its permissions"),
        "readonly": lambda: DbError(f"the database {where} cannot be written: check its permissions"),
        "not a database": lambda: DatabaseDamaged(
            f"{where} is not a SQLite database: move it away or set AS2_DATABASE_URL"
        ),
        "malformed": lambda: DatabaseDamaged(f"the database {where} is damaged: {reason}"),
        "no such table": lambda: DatabaseDamaged(f"the database {where} is damaged: {reason}"),
        "No space left": lambda: DbError("the disk of the database is full: free some space and try again"),
        "disk is full": lambda: DbError("the disk is full: free some space and try again"),
        "connection": lambda: _to_unreachable(reason, database),
        "resolve host": lambda: _to_unreachable(reason, database),
    }
    for mark, make in remedies.items():
        if mark in reason and (database.sqlite or mark not in SQLITE_DAMAGE):
            return make()
    return DbError(f"the database refused: {reason}")


def _is_disk_full(database: Database) -> bool:
    """Whether SQLite has no room for the files beside its own, which it does not say."""
    try:
        return database.sqlite and shutil.disk_usage(Path(str(database.url.database)).parent).free < MIN_FREE_BYTES
    except OSError:
        return False
