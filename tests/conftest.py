"""Every test runs offline, on few threads, and away from the user's own data."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
import threading
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from fake_clock import Clock
from hypothesis import settings as hypothesis_settings
from postgres_server import own_schema
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import Engine
from sqlalchemy.util import LRUCache

from db.errors import DatabaseUnreachable
from db.session import Database

# on a busy machine an example may take any time
hypothesis_settings.register_profile("untimed", deadline=None)
hypothesis_settings.load_profile("untimed")

# in a script's background job everything the tests start would be deaf to Ctrl-C
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# each process that a test starts would compile the program anew, and each tester all the tests
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

os.environ.update(
    OMP_NUM_THREADS="1",
    TOKENIZERS_PARALLELISM="false",
    HF_HUB_OFFLINE="1",
    AS2_ENGINE="torch",  # or scores would change by a hundredth once the other engine is ready
    AS2_HOME=tempfile.mkdtemp(prefix="as2-tests-"),  # a test that needs a home makes its own; this one guards .as2
)
atexit.register(shutil.rmtree, os.environ["AS2_HOME"], ignore_errors=True)
for name in ("AS2_DATABASE_URL", "AS2_DATA_DIR"):
    os.environ.pop(name, None)

# The tests make tens of thousands of small files, which a disk keeps them waiting for. They need a gigabyte at most.
MEMORY = Path("/dev/shm")
if MEMORY.is_dir() and min(shutil.disk_usage(MEMORY).free, psutil.virtual_memory().available) > 6 * 2**30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

TOGETHER = ("tests/e2e/", "tests/pages/compare/")  # servers; a home with two comparisons

POSTGRES = os.environ.get("AS2_TEST_POSTGRES_URL", "")
ENGINES = ["sqlite", *([pytest.param("postgres", marks=pytest.mark.postgres)] if POSTGRES else [])]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A tester takes a whole file at a time, and of TOGETHER all files: what they share takes long to make."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return next((folder for folder in TOGETHER if nodeid.startswith(folder)), super()._split_scope(nodeid))

    return Scheduling(config, log)


def pytest_collectstart():
    """The modules of tests are imported, which makes little garbage; to look for it took a fifth of the time."""
    gc.disable()


def pytest_collection_finish(session):
    """What is imported by now stays; to look through it for garbage, over and over, took a fifth of the time."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    if memory := sys.modules.get("accelerate.utils.memory"):  # before each training, of which there are hundreds
        trainings = count()
        memory.gc = SimpleNamespace(collect=lambda: next(trainings) % 10 or gc.collect())


@pytest.fixture(scope="session", autouse=True)
def shared_statements():
    """One cache of compiled statements for the SQLite databases of all tests, each of which has engines of its own;
    compiling took a third of the time. The cache's keys hold the dialect, so any two of them count as the same."""
    statements, make = LRUCache(5000), Engine.__init__

    def make_with_cache(self, *args, **kwargs):
        make(self, *args, **kwargs)
        if isinstance(self.dialect, SQLiteDialect_pysqlite):
            self._compiled_cache = statements

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Engine, "__init__", make_with_cache)
        patch.setattr(SQLiteDialect_pysqlite, "__hash__", lambda self: hash(SQLiteDialect_pysqlite))
        patch.setattr(SQLiteDialect_pysqlite, "__eq__", lambda self, other: isinstance(other, SQLiteDialect_pysqlite))
        yield


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory):
    """An empty SQLite database, migrated once for all tests."""
    from db.session import open_database

    path = tmp_path_factory.mktemp("migrated") / "as2.db"
    open_database(f"sqlite:///{path}").close()
    return path


@pytest.fixture(scope="session")
def schema(migrated_file):
    """The statements that make an empty database what the migrations make it."""
    with closing(sqlite3.connect(migrated_file)) as database:
        return [statement for statement in database.iterdump() if statement not in ("BEGIN TRANSACTION;", "COMMIT;")]


@pytest.fixture(scope="module", autouse=True)
def migrations(schema):
    """A new SQLite database gets the schema at once: to migrate it takes a sixth of a second. One that has the newest
    is left alone. `tests/db` migrates."""
    from db import session

    upgrade = session._upgrade
    [newest] = (statement for statement in schema if 'INTO "alembic_version"' in statement)

    def make_or_upgrade(connection, before_migration):
        is_sqlite = connection.dialect.name == "sqlite"
        tables = is_sqlite and set(connection.exec_driver_sql("SELECT name FROM sqlite_master").scalars())
        if tables == set():
            for statement in schema:
                connection.exec_driver_sql(statement)
        elif not tables or "alembic_version" not in tables or _read_revision(connection) not in newest:
            upgrade(connection, before_migration)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "_upgrade", make_or_upgrade)
        yield


@pytest.fixture(scope="module", autouse=True)
def fast_commits():
    """No test's process waits for the disk: its files need not outlive the machine. Those of `tests/db` do."""
    from db import session

    make = session._sqlite_engine

    def make_without_waiting(url, *, begin, pragmas):
        others = (pragma for pragma in pragmas if not pragma.startswith("synchronous"))
        return make(url, begin=begin, pragmas=(*others, "synchronous=OFF"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "_sqlite_engine", make_without_waiting)
        yield


def _read_revision(connection):
    return repr(connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar())


@pytest.fixture(params=ENGINES)
def database_url(request, tmp_path, migrated_file):
    """An empty database of either engine: a file of its own, or a schema of its own on the server given."""
    if request.param == "sqlite":
        shutil.copy(migrated_file, tmp_path / "as2.db")
        yield f"sqlite:///{tmp_path / 'as2.db'}"
        return
    with own_schema(POSTGRES) as url:
        yield url


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def models():
    from fake_models import FakeModels  # numpy, which reads the environment above

    return FakeModels()


@pytest.fixture
def outage(monkeypatch):
    """outage.set() takes the database's server away, until outage.clear()."""
    away = threading.Event()

    def fail_or(act):
        @contextmanager
        def open_session(*args, **more):
            if away.is_set():
                raise DatabaseUnreachable("cannot reach the database postgresql://as2:***@db.example/as2")
            with act(*args, **more) as session:
                yield session

        return open_session

    for name in ("read", "write"):
        monkeypatch.setattr(Database, name, fail_or(getattr(Database, name)))
    return away
