"""A home on SQLite moves to PostgreSQL: its backup goes into an empty database there."""

import os
from contextlib import closing

import pytest
from fake_models import write_version
from postgres_server import own_schema
from sqlalchemy import select, text
from tower_texts import QUESTIONS

from app import bootstrap
from app.ask import asking
from app.corpora import corpora
from app.jobs import queue
from app.labels import annotation, conflicts, consensus, guidelines
from app.upkeep.backup import back_up, check_restore, restore
from app.versions import registry
from app.workbench import audit_log
from as2core.errors import BadSetting
from db.errors import DbError
from db.models import Base
from db.row_copy import copy_rows, is_empty
from db.session import Database, open_database

POSTGRES = os.environ.get("AS2_TEST_POSTGRES_URL", "")
pytestmark = [pytest.mark.postgres, pytest.mark.skipif(not POSTGRES, reason="no AS2_TEST_POSTGRES_URL")]
MARKED = {"audit_event", "corpus", "document", "model_version"}  # what a restore changes on purpose


@pytest.fixture
def settings(sqlite_settings):
    return sqlite_settings


@pytest.fixture
def server(settings, tmp_path):
    """The settings of a home elsewhere with an empty database on PostgreSQL."""
    with own_schema(POSTGRES) as url:
        yield settings.model_copy(update={"home": tmp_path / "elsewhere", "database_url": url})


def read_tables(database):
    with database.read() as s:
        tables = {t.name: t for t in Base.metadata.sorted_tables}
        rows = {name: set(map(repr, s.execute(select(table)))) for name, table in tables.items()}
        nulls = s.scalar(text("SELECT count(*) FROM corpus WHERE automatic IS NULL"))
        return rows, nulls


def test_labels_verdicts_versions_jobs_and_the_audit_log_move_to_postgresql_as_they_are(
    wb, towers, asked, ann, server, models, clock, tmp_path
):
    pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id, "annotator_id": ann.id}
    annotation.give_label(wb, **pair, label="correct")
    annotation.give_label(wb, **pair, label="unsure")
    annotation.undo_last(wb, ann.id, towers.id)
    conflicts.adjudicate(wb, **pair, label="incorrect", note="a\ttab \\ and “quotes”")
    guidelines.write_guidelines(wb, towers.id, "Read the whole sentence.", by=ann.id)
    with wb.write() as s:
        registry.add_candidate(s, wb, "spring", write_version(wb.settings.versions_dir / "spring"))
    deleted = corpora.create_corpus(wb, "deleted")
    corpora.delete_corpus(wb, deleted.id)
    job = queue.enqueue(wb, "score", {}, corpus_id=towers.id)
    back_up(wb, tmp_path / "monday.tar")
    check_restore(server, tmp_path / "monday.tar")
    restore(server, tmp_path / "monday.tar")

    with closing(Database(server.database)) as database:
        (before, nulls), (after, nulls_after) = read_tables(wb.database), read_tables(database)
        assert nulls == nulls_after
        assert {name for name in before if before[name] != after[name]} <= MARKED
        assert {name: len(rows) for name, rows in before.items()} == {name: len(rows) for name, rows in after.items()}
    other = bootstrap.open(server, models, clock)
    with closing(other):
        assert consensus.read_labels(other, asked.question_id) == consensus.read_labels(wb, asked.question_id) != {}
        assert registry.get_version(other, "spring").problem == ""
        assert audit_log.list_events(other, by=None)[0].act == "restore a backup"
        assert corpora.create_corpus(other, "next").id > deleted.id
        assert queue.enqueue(other, "score", {}, corpus_id=towers.id).id > job.id
        again = asking.ask(other, towers.id, QUESTIONS[0])
        assert [c.sentence_id for c in again.candidates] == [c.sentence_id for c in asked.candidates]
        with pytest.raises(BadSetting, match="is not empty: to move a home there, make a new one"):
            restore(server, tmp_path / "monday.tar")


def test_a_move_that_fails_leaves_the_database_empty(wb, towers, server):
    def fail():
        raise OSError(28, "No space left on device")

    with closing(open_database(server.database)) as database:
        with pytest.raises(OSError, match="No space"):
            copy_rows(wb.settings.database_file, database, fail)
        with wb.write() as s:
            s.execute(text("UPDATE document SET text = text || char(0)"))  # which only SQLite takes
        with pytest.raises(DbError, match=r"refused a row of document, so nothing was copied: .*NUL"):
            copy_rows(wb.settings.database_file, database, lambda: None)
        with database.read() as s:
            assert is_empty(s)
