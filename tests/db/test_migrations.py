import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import JSON, Boolean, DateTime, Float, Integer, MetaData, delete, insert, inspect, select, text

from db.errors import DatabaseTooNew, DbError
from db.models import Candidate, Question, Run, Sentence
from db.repositories import jobs, labels, people
from db.session import MIGRATIONS, Database, open_database

FILLED = (
    "INSERT INTO corpus (id, name, digest, created) VALUES (1, 'rivers', '', :now)",
    "INSERT INTO document VALUES (1, 1, 'rhine', 'Rhine', '', 'It is long.', 'd', 1, :yes, :now)",
    "INSERT INTO sentence VALUES (1, 1, 1, 'rhine-0', 0, 0, 0, 11, 'It is long.', 1, :no)",
    "INSERT INTO question VALUES (1, 1, 'q', 'How long is it?', 1, '', 'asked', '', :now)",
    "INSERT INTO annotator VALUES (1, 'starter', :yes, :now), (2, 'ann', :no, :now), (3, 'bob', :no, :now)",
    "INSERT INTO label_event VALUES (1, 1, 1, 2, 'correct', NULL, 'cascade', 1, :yes, 'tops', :now)",
)


def upgrade(connection, revision):
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def test_a_database_of_the_first_revision_keeps_its_labels_and_its_first_person_becomes_an_admin(tmp_path, now):
    url = f"sqlite:///{tmp_path / 'old.db'}"
    old = Database(url)
    with old.migrating() as connection:
        upgrade(connection, "0001")
    with old.engine.begin() as connection:
        for statement in FILLED:
            connection.execute(text(statement), {"now": now.isoformat(sep=" "), "yes": True, "no": False})
    old.close()
    new = open_database(url)
    with new.read() as s:
        [label] = labels.list_labels_of_corpus(s, 1)
        event = labels.find_newest_event(s, 1, 1, 2)
        roles = [(p.name, p.role) for p in people.list_people(s)]
    new.close()
    assert (label.annotator, label.label) == ("ann", "correct")
    assert (event.shown_version, event.act, event.control, event.arm, event.guideline) == ("cascade", "", False, "", 0)
    assert roles == [("ann", "admin"), ("bob", "annotator")]


@pytest.fixture
def full(tmp_path, now):
    """A database of revision 0005 with a row 1 and a row 7 in every table; row 1 refers to rows 1, row 7 to rows 7."""
    opened = Database(f"sqlite:///{tmp_path / 'full.db'}")
    with opened.migrating() as connection:
        upgrade(connection, "0005")
    with opened.engine.begin() as connection:
        for table in tables(connection):
            for i in (1, 7):
                connection.execute(insert(table), {c.name: value(c, i, now) for c in table.columns})
    yield opened
    opened.close()


def tables(connection):
    metadata = MetaData()
    metadata.reflect(connection)
    return [t for t in metadata.sorted_tables if t.name not in ("alembic_version", "sqlite_sequence")]


def value(column, i, now):
    kinds = {Boolean: i == 7, DateTime: now, JSON: {"n": i}, Float: i / 8, Integer: i}
    if column.name == "undoes":
        return {1: None, 7: 1}[i]
    return next((v for kind, v in kinds.items() if isinstance(column.type, kind)), f"{column.name} {i}")


def everything(connection):
    stored = {t.name: connection.execute(select(t).order_by(*t.primary_key)).all() for t in tables(connection)}
    return stored | {"current_label": connection.execute(text("SELECT * FROM current_label ORDER BY id")).all()}


def constraints(connection):
    """Of every table its columns, indexes, unique constraints and foreign keys, and every trigger and view."""
    seen = inspect(connection)
    looks = (seen.get_indexes, seen.get_unique_constraints, seen.get_foreign_keys)
    found = {
        t.name: (
            connection.execute(text(f"PRAGMA table_info({t.name})")).all(),
            *(sorted(look(t.name), key=lambda x: x["name"]) for look in looks),
        )
        for t in tables(connection)
    }
    others = "SELECT name, sql FROM sqlite_master WHERE type IN ('trigger', 'view') ORDER BY name"
    return found | {"others": connection.execute(text(others)).all()}


def test_to_make_ids_unique_changes_no_row_and_no_constraint(full):
    with full.engine.connect() as connection:
        rows, held = everything(connection), constraints(connection)
    assert all(len(found) == 2 for found in rows.values())
    with full.migrating() as connection:
        upgrade(connection, "0006")
    with full.engine.connect() as connection:
        assert everything(connection) == rows
        assert constraints(connection) == held
        assert connection.execute(text("PRAGMA foreign_key_check")).all() == []
        assert connection.scalar(text("PRAGMA foreign_keys")) == 1
        assert connection.scalar(text("PRAGMA integrity_check")) == "ok"


def test_a_migrated_database_gives_no_id_a_second_time(full):
    new = open_database(str(full.url))
    with new.write() as s:
        for table in (Candidate.__table__, Question.__table__, Sentence.__table__):
            newest = s.execute(select(table).where(table.c.id == 7)).one()._asdict()
            s.execute(delete(table).where(table.c.id == 7))
            del newest["id"]
            if table.name == "candidate":  # its question and its sentence go next
                s.execute(delete(table))
                newest |= {"question_id": 1, "sentence_id": 1}
            assert s.execute(insert(table).values(newest)).inserted_primary_key == (8,)
    new.close()


def test_with_foreign_keys_on_the_tables_are_left_alone(full):
    with full.engine.connect() as connection:
        rows = everything(connection)
    with pytest.raises(DbError, match="would take labels along"), full.engine.begin() as connection:
        upgrade(connection, "head")
    with full.engine.connect() as connection:
        assert everything(connection) == rows


TYPED = {  # question -> its origin, what its runs say they were for, its labels in turn
    "typed": ("asked", [{"by": "ask"}], []),
    "typed and labelled": ("asked", [{"by": "ask"}], ["correct"]),
    "typed, its label withdrawn": ("asked", [{"by": "job"}, {"by": "ask"}], ["correct", "withdrawn"]),
    "typed before runs said what they were for": ("asked", [{}], []),
    "from a list": ("asked", [{"by": "job"}], []),
    "from a list, not ranked yet": ("asked", [], []),
    "imported without labels": ("imported", [], []),
    "proposed, then asked": ("proposed", [{"by": "ask"}], []),
}


def open_at(revision: str, database_url: str, folder: Path) -> tuple[str, Database]:
    """A database as an older program left it, and its address."""
    url = f"sqlite:///{folder / 'old.db'}" if database_url.startswith("sqlite") else database_url
    old = Database(url)
    with old.migrating() as connection:
        upgrade(connection, revision)
    return url, old


def test_questions_that_were_only_typed_leave_the_queues_and_all_others_stay(database_url, tmp_path, now):
    url, old = open_at("0006", database_url, tmp_path)
    with old.engine.begin() as connection:
        by_name = {t.name: t for t in tables(connection)}

        def add(table, **columns):
            names = by_name[table].columns.keys()
            more = {"created": now, "updated": now, "text_key": 1, "settings": {}, "seconds": {}}
            connection.execute(insert(by_name[table]).values({k: v for k, v in more.items() if k in names} | columns))

        words = {"external_id": "a", "title": "", "source": "", "text": "It is old.", "digest": ""}
        add("corpus", id=1, name="rivers", digest="")
        add("document", id=1, corpus_id=1, sentences=1, indexed=True, **words)
        place = {"position": 0, "paragraph": 0, "start": 0, "end": 10, "text": "It is old.", "external_id": "a-0"}
        add("sentence", id=1, corpus_id=1, document_id=1, retired=False, **place)
        add("annotator", id=1, name="ann", imported=False)
        add("model_version", id=1, name="cascade", kind="cascade", path="", note="", state="shipped", metrics={})
        for number, (words, (origin, runs, labels_given)) in enumerate(TYPED.items(), 1):
            add("question", id=number, corpus_id=1, external_id=words, text=words, origin=origin, kind="", split="")
            for settings in runs:
                place = {"id": 10 * number + len(settings) + runs.index(settings), "question_id": number}
                add("run", version_id=1, last_exit=6, threshold=0.5, **place | {"settings": settings})
            for label in labels_given:
                place = {"question_id": number, "sentence_id": 1, "annotator_id": 1}
                add("label_event", label=label, shown_version="", scores_visible=True, queue="ask", **place)
    old.close()
    new = open_database(url)
    with new.read() as s:
        found = {q.text: (q.origin, q.queued) for q in s.scalars(select(Question))}
        runs = s.scalars(select(Run.annotator_id)).all()
    new.close()
    assert found == {
        "typed": ("asked", False),
        "typed and labelled": ("asked", True),
        "typed, its label withdrawn": ("asked", False),
        "typed before runs said what they were for": ("asked", False),
        "from a list": ("listed", True),
        "from a list, not ranked yet": ("listed", True),
        "imported without labels": ("imported", True),
        "proposed, then asked": ("proposed", True),
    }
    assert runs == [None] * 7


class Refusal(Exception):
    pass


def refuse():
    raise Refusal


def test_what_refuses_a_migration_leaves_an_older_database_as_it_is_and_is_asked_for_no_other(database_url, tmp_path):
    url, old = open_at("0014", database_url, tmp_path)
    with pytest.raises(Refusal):
        open_database(url, before_migration=refuse)
    with old.read() as s:
        assert s.scalar(text("SELECT version_num FROM alembic_version")) == "0014"
    old.close()
    open_database(url).close()
    current = open_database(url, before_migration=refuse)
    with current.write() as s:
        s.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    current.close()
    with pytest.raises(DatabaseTooNew):
        open_database(url, before_migration=refuse)


def test_a_new_database_needs_nobodys_leave(tmp_path):
    new = open_database(f"sqlite:///{tmp_path / 'new.db'}", before_migration=refuse)
    with new.read() as s:
        assert s.scalar(text("SELECT version_num FROM alembic_version")) > "0014"
    new.close()


def test_jobs_keep_their_events_when_they_learn_who_started_them(database_url, tmp_path, now):
    url, old = open_at("0007", database_url, tmp_path)
    with old.engine.begin() as connection:
        by_name = {t.name: t for t in tables(connection)}
        job = {"kind": "retrain", "state": "done", "progress": 1.0, "message": "", "settings": {}, "result": {"n": 1}}
        more = {"error": "", "log": "", "attempt": 1, "attempts": 3, "cancelling": False, "worker": "", "created": now}
        connection.execute(insert(by_name["job"]), {**job, **more})
        connection.execute(insert(by_name["job_event"]), {"job_id": 1, "payload": {"kind": "step"}, "created": now})
    old.close()
    new = open_database(url)
    with new.write() as s:
        [stored] = jobs.list_jobs(s)
        assert (stored.id, stored.result, stored.annotator_id) == (1, {"n": 1}, None)
        assert jobs.list_events(s, [1], 10) == {1: [{"kind": "step"}]}
        s.delete(stored)
        s.flush()
        assert jobs.add_job(s, "embed", {}, now).id == 2  # no number twice
    new.close()


def test_other_tests_begin_with_what_the_migrations_make(schema, migrated_file):
    with closing(sqlite3.connect(migrated_file)) as migrated, closing(sqlite3.connect(":memory:")) as made:
        for statement in schema:
            made.execute(statement)
        made.commit()
        assert list(made.iterdump()) == list(migrated.iterdump())
