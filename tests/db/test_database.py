import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from db import session
from db.errors import DatabaseBusy, DatabaseDamaged, DatabaseTooNew, DbError
from db.models import Base
from db.repositories import corpora, labels, people
from db.repositories.integrity import find_stuck_transaction
from db.session import Database, open_database

REPO = Path(__file__).parents[2]


def test_the_migrations_make_exactly_the_tables_the_models_describe(database):
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        differences = [d for d in compare_metadata(context, Base.metadata) if "current_label" not in str(d)]
    assert differences == []


def test_opening_twice_keeps_what_is_there(database, database_url, now):
    with database.write() as s:
        corpora.add_corpus(s, "rivers", now)
    again = open_database(database_url)
    with again.read() as s:
        assert [c.name for c in corpora.list_corpora(s)] == ["rivers"]
    again.close()


def test_two_processes_that_open_a_new_database_at_once_both_succeed(tmp_path):
    url = f"sqlite:///{tmp_path / 'new.db'}"
    code = f"from db.session import open_database; open_database({url!r}).close()"
    started = [subprocess.Popen([sys.executable, "-c", code], cwd=REPO, stderr=subprocess.PIPE) for _ in range(3)]
    assert [(p.wait(60), p.stderr.read()) for p in started] == [(0, b"")] * 3


def test_what_eight_threads_read_and_write_back_is_all_counted(database, now):
    with database.write() as s:
        corpora.add_corpus(s, "0", now)

    def add_one(times: int) -> None:
        for _ in range(times):
            with database.write() as s:
                if not database.sqlite:
                    corpora.lock_corpus(s, 1)
                name = s.scalar(text("SELECT name FROM corpus WHERE id = 1"))
                s.execute(text("UPDATE corpus SET name = :n WHERE id = 1"), {"n": str(int(name) + 1)})

    threads = [threading.Thread(target=add_one, args=(25,)) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    with database.read() as s:
        assert corpora.list_corpora(s)[0].name == "200"


def test_a_reader_cannot_write(tmp_path, now):
    database = open_database(f"sqlite:///{tmp_path / 'as2.db'}")
    with pytest.raises(DbError, match="cannot be written"), database.read() as s:
        corpora.add_corpus(s, "rivers", now)
    database.close()


def test_a_reader_goes_on_while_a_writer_is_at_work(database, now):
    with database.write() as writing:
        corpora.add_corpus(writing, "rivers", now)
        with database.read() as reading:
            assert corpora.list_corpora(reading) == []
    with database.read() as reading:
        assert len(corpora.list_corpora(reading)) == 1


def test_an_exception_rolls_everything_back(database, now):
    with pytest.raises(ZeroDivisionError), database.write() as s:
        corpora.add_corpus(s, "rivers", now)
        raise ZeroDivisionError
    with database.read() as s:
        assert corpora.list_corpora(s) == []


def test_only_the_durable_writer_waits_for_the_disk(tmp_path):
    database = open_database(f"sqlite:///{tmp_path / 'as2.db'}")
    normal, full = 1, 2
    with database.write() as s:
        assert s.scalar(text("PRAGMA synchronous")) == normal
    with database.write(durable=True) as s:
        assert s.scalar(text("PRAGMA synchronous")) == full
        assert s.scalar(text("PRAGMA journal_mode")) == "wal"
        assert s.scalar(text("PRAGMA foreign_keys")) == 1
    database.close()


def test_a_label_event_cannot_be_rewritten(database, add_document, now):
    corpus_id, _ = add_document("rhine", ["The Rhine is a river."])
    with database.write() as s:
        who = people.ensure_annotator(s, "ann", now)
        s.execute(
            text(
                "INSERT INTO question (id, corpus_id, external_id, text, text_key, kind, origin, split, created) "
                "VALUES (1, :c, 'q', 'What?', 1, '', 'asked', '', :now)"
            ),
            {"c": corpus_id, "now": now},
        )
        labels.add_event(s, 1, 1, who.id, "correct", now)
    with pytest.raises(DbError, match="append-only"), database.write() as s:
        s.execute(text("UPDATE label_event SET label = 'incorrect'"))


def test_a_write_that_cannot_get_the_lock_says_that_the_database_is_busy(tmp_path, monkeypatch):
    monkeypatch.setattr("db.session.BUSY_MS", 50)
    database = open_database(f"sqlite:///{tmp_path / 'as2.db'}")
    with database.write() as one:
        corpora.list_corpora(one)  # a transaction begins with its first statement
        with pytest.raises(DatabaseBusy, match="try again"), database.write(durable=True) as other:
            corpora.list_corpora(other)
    database.close()


@pytest.mark.parametrize(
    ("url", "reason", "error"),
    [
        ("sqlite:///as2.db", "database disk image is malformed", DatabaseDamaged),
        ("sqlite:///as2.db", "no such table: corpus", DatabaseDamaged),
        ("postgresql://as2@db.example/as2", 'malformed array literal: "x"', DbError),
        ("postgresql://as2@db.example/as2", "no such table space", DbError),
    ],
)
def test_only_sqlite_s_words_for_damage_are_told_as_damage(url, reason, error):
    database = Database(url)
    with pytest.raises(DbError) as told, session._translate_errors(database):
        raise DBAPIError("SELECT 1", {}, Exception(reason))
    assert type(told.value) is error and reason in str(told.value)
    database.close()


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("deadlock detected\nDETAIL:  Process 1 waits for process 2", "is busy with another write: try again"),
        ('could not extend file "base/5/16384": No space left on device', "disk of the database is full: free some"),
    ],
)
def test_what_postgresql_refuses_for_the_moment_is_told_with_what_helps(reason, message):
    database = Database("postgresql://as2@db.example/as2")
    with pytest.raises(DbError, match=message), session._translate_errors(database):
        raise DBAPIError("SELECT 1", {}, Exception(reason))
    database.close()


def test_a_write_waits_for_another_longer_than_one_try(tmp_path, monkeypatch):
    """SQLite itself gives up after TRY_MS; the writer asks again until the lock is free."""
    database = open_database(f"sqlite:///{tmp_path / 'as2.db'}")
    tries, tried_often, made = [], threading.Event(), []

    def now():  # asked before every try
        tries.append(threading.current_thread())
        if tries.count(waiting) > 20:
            tried_often.set()
        return time.monotonic()

    def waits():
        with database.write(durable=True) as other:
            made.append(corpora.list_corpora(other))

    with database.write() as one:
        corpora.list_corpora(one)
        waiting = threading.Thread(target=waits)
        monkeypatch.setattr("db.session.time", SimpleNamespace(monotonic=now))
        waiting.start()
        assert tried_often.wait(20)
        assert not made
    waiting.join()
    assert made == [[]]
    database.close()


def test_a_folder_that_is_not_there_is_named_and_not_made(tmp_path):
    folder = tmp_path / "mistyped"
    with pytest.raises(DbError, match=f"there is no folder {folder} .*AS2_DATABASE_URL"):
        open_database(f"sqlite:///{folder / 'as2.db'}")
    assert not folder.exists()


def test_a_file_that_is_no_database_is_named(tmp_path):
    (tmp_path / "as2.db").write_text("this is a letter, and a rather long one, to nobody in particular" * 20)
    with pytest.raises(DbError, match="is not a SQLite database"):
        open_database(f"sqlite:///{tmp_path / 'as2.db'}")


def test_a_database_that_a_full_disk_keeps_from_opening_is_not_called_damaged(tmp_path, monkeypatch):
    file = tmp_path / "Bücher 1.db"
    file.mkdir()  # which SQLite cannot open either
    url = f"sqlite:///{file}"
    with pytest.raises(DbError, match=f"cannot open the database {file}: check"):  # as it can be pasted
        open_database(url)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=0))
    with pytest.raises(DbError, match="the disk is full: free some space"):
        open_database(url)


def test_a_database_of_a_newer_program_is_refused_with_the_remedy(database, database_url):
    with database.write() as s:
        s.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(DatabaseTooNew, match=r"update the program, or go back to a backup .*`as2 restore FILE`"):
        open_database(database_url)


def test_who_cannot_open_a_database_that_another_program_holds_reads_what_to_stop(tmp_path, monkeypatch):
    monkeypatch.setattr("db.session.BUSY_MS", 1)
    monkeypatch.setattr("db.session.MAX_OPENING_TRIES", 1)
    url = f"sqlite:///{tmp_path / 'as2.db'}"
    holder = open_database(url)
    with holder.migrating(), pytest.raises(DatabaseBusy, match="an app, a worker or a command of this or an earlier"):
        open_database(url)
    holder.close()


def test_a_server_that_is_not_there_is_named_without_the_password():
    with pytest.raises(DbError, match="cannot reach the database") as told:
        open_database("postgresql://ann:secret@127.0.0.1:1/labels")
    assert "secret" not in str(told.value)
    assert "127.0.0.1" in str(told.value)


@pytest.mark.parametrize(
    "url", ["labels", "mysql://ann:secret@host/labels", "sqlite+no:///x", "postgresql://a@host:secret/x"]
)
def test_an_address_of_no_database_we_can_use_is_told_with_one_that_would_do(url):
    with pytest.raises(DbError, match=r"AS2_DATABASE_URL .*postgresql\+psycopg://") as told:
        open_database(url)
    assert "secret" not in str(told.value)


def test_a_url_without_a_driver_means_psycopg():
    database = Database("postgresql://127.0.0.1/labels")
    assert database.engine.dialect.driver == "psycopg"
    database.close()


def test_stock_is_taken_of_the_rows_that_came(database, add_document):
    add_document("thames", ["It is long.", "It is wide."])
    database.analyze()
    if database.sqlite:
        return
    with database.read() as s:
        known = s.scalar(text("SELECT reltuples FROM pg_class WHERE oid = 'sentence'::regclass"))
    assert known == 2


@pytest.mark.postgres
def test_a_connection_that_lay_unused_is_tested_and_one_that_was_just_used_is_not(database, monkeypatch):
    if database.sqlite:
        pytest.skip("a file has no connections that end")
    pings = []
    ping = database.engine.dialect.do_ping
    monkeypatch.setattr(database.engine.dialect, "do_ping", lambda c: pings.append(c) or ping(c))
    for _ in range(3):
        with database.read() as s:
            corpora.list_corpora(s)
    assert not pings
    monkeypatch.setattr("db.session.UNTESTED_SECONDS", -1.0)
    with database.read() as s:
        own = s.scalar(text("SELECT pg_backend_pid()"))
    with create_engine(database.url).begin() as other:
        other.execute(text(f"SELECT pg_terminate_backend({own})"))
    with database.read() as s:
        assert s.scalar(text("SELECT pg_backend_pid()")) != own
    assert pings


@contextmanager
def hold_rows(database, table):
    """A transaction that has locked the rows of a table and does nothing more, as of a process that hangs; gives the
    number of its server process."""
    engine = create_engine(database.url)
    with engine.begin() as connection:
        connection.execute(text(f"SELECT id FROM {table} FOR UPDATE"))
        yield connection.scalar(text("SELECT pg_backend_pid()"))
    engine.dispose()


@pytest.mark.postgres
def test_a_write_gives_up_where_a_transaction_elsewhere_hangs(database_url, now, monkeypatch):
    monkeypatch.setattr("db.session.LOCK_SECONDS", 0.2)
    database = open_database(database_url)
    if database.sqlite:
        pytest.skip("its writers wait for each other, for a limited time")
    with database.write() as s:
        people.ensure_annotator(s, "ann", now)
    with hold_rows(database, "annotator"):
        message = r"held a lock .* not done\. Try again .* `as2 check`"
        with pytest.raises(DatabaseBusy, match=message), database.write() as s:
            people.ensure_annotator(s, "ben", now)
            people.lock_people(s, {1})
        with database.read() as s:
            assert [p.name for p in people.list_people(s)] == ["ann"]
        database.analyze()
    with database.write() as s:
        people.lock_people(s, {1})
    database.close()


@pytest.mark.postgres
def test_a_limit_of_waits_in_the_address_holds_and_who_opens_waits_for_a_migration(database_url, monkeypatch):
    monkeypatch.setattr("db.session.LOCK_SECONDS", 0.2)
    if database_url.startswith("sqlite"):
        pytest.skip("SQLite has its own limit")
    database = Database(f"{database_url}%20-clock_timeout%3D7s")
    with database.read() as s:
        assert s.scalar(text("SHOW lock_timeout")) == "7s"
    database.close()
    database, waiting = Database(database_url), threading.Thread(target=lambda: open_database(database_url).close())
    with database.migrating() as connection:
        assert connection.scalar(text("SHOW lock_timeout")) == "200ms"
        waiting.start()
        while not find_long_waits(database):
            assert waiting.is_alive()
    waiting.join(20)
    assert not waiting.is_alive()
    database.close()


def find_long_waits(database):
    """How many have waited for a migration for longer than a write would wait for a lock."""
    waits = "wait_event = 'advisory' AND clock_timestamp() - query_start > interval '0.4 s'"
    with database.read() as s:
        return s.scalar(text(f"SELECT count(*) FROM pg_stat_activity WHERE {waits}"))


@pytest.mark.postgres
def test_the_transaction_that_others_wait_for_is_named(database, now):
    if database.sqlite:
        pytest.skip("no other server process")
    with database.write() as s:
        people.ensure_annotator(s, "ann", now)
    with hold_rows(database, "annotator") as pid:
        assert find_stuck(database, 60) == ""
        stuck = find_stuck(database, 0)
        assert f"server process {pid}, user" in stuck and "does nothing" in stuck
        waiting = threading.Thread(target=wait_for_lock, args=(database,))
        waiting.start()
        while "transactions that wait for it: 1" not in (stuck := find_stuck(database, 60)):
            assert waiting.is_alive()
        assert find_stuck(database, 60, wait_seconds=60) == ""  # as people do who label at the same time
    assert f"server process {pid}" in stuck
    waiting.join(20)


def find_stuck(database, idle_seconds, wait_seconds=0):
    with database.read() as s:  # a transaction sees what others do as it was when it first looked
        return find_stuck_transaction(s, idle_seconds=idle_seconds, wait_seconds=wait_seconds)


def wait_for_lock(database):
    with database.write() as s:
        people.lock_people(s, {1})
