"""A home of an earlier release, opened by this one."""

import errno
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from fake_models import write_version
from sqlalchemy import select, text

from app import bootstrap
from app.adapt.report import RetrainReport
from app.jobs import queue
from app.jobs.process import hold_worker_lock
from app.labels import annotation, conflicts, guidelines, rules
from app.versions import registry
from app.workbench import people
from app.workbench.workbench import DatabaseTrouble
from db.models import Flag
from db.session import Database

EARLIER = (
    "DROP INDEX ix_document_corpus_id_split_rules_sentences_updated",
    "ALTER TABLE document DROP COLUMN split_rules",
    "ALTER TABLE sentence DROP COLUMN heading",
    "UPDATE alembic_version SET version_num = '0014'",
)


def make_older(settings, models):
    """Settings whose database an earlier release made."""
    bootstrap.open(settings, models).close()
    database = Database(settings.database)
    with database.write() as s:
        for statement in EARLIER:
            s.execute(text(statement))
    database.close()
    return settings


@pytest.fixture
def older(settings, models):
    return make_older(settings, models)


# revision 0004, made by the program of 21 November: one corpus of one's own, labelled by ann and bob, and a retrain
STORED = Path(__file__).with_name("older_home.sql")
OWN, RETRAIN = 2, 9


@pytest.fixture
def upgraded(sqlite_settings, models, clock):
    """The stored home, opened in a folder other than the one in which it was made."""
    write_version(sqlite_settings.versions_dir / "forty-9", note="first retrain", metrics={"AP": 0.8561})
    with closing(sqlite3.connect(sqlite_settings.home / "as2.db")) as database:
        database.executescript(STORED.read_text())
    opened = bootstrap.open(sqlite_settings, models, clock)
    yield opened
    opened.close()


def read_revision(settings):
    database = Database(settings.database)
    with database.read() as s:
        revision = s.scalar(text("SELECT version_num FROM alembic_version"))
    database.close()
    return revision


def test_beside_a_worker_of_an_earlier_release_nothing_is_migrated_and_the_remedy_is_told(older, models, monkeypatch):
    monkeypatch.setattr("app.bootstrap.LOCK_SECONDS", 0)
    with hold_worker_lock(older), pytest.raises(DatabaseTrouble, match="stop that release's app and worker") as refusal:
        bootstrap.open(older, models)
    assert "\n" not in str(refusal.value) and str(older.home) in str(refusal.value)
    assert read_revision(older) == "0014"
    bootstrap.open(older, models).close()
    assert read_revision(older) > "0014"


def test_the_database_is_kept_as_it_was_before_its_migration(sqlite_settings, models, caplog):
    settings = make_older(sqlite_settings, models)
    bootstrap.open(settings, models).close()
    kept = settings.home / "as2.db.before-migration"
    with closing(sqlite3.connect(kept)) as database:
        assert database.execute("SELECT version_num FROM alembic_version").fetchall() == [("0014",)]
        assert "heading" not in [row[1] for row in database.execute("PRAGMA table_info(sentence)")]
    before = kept.stat().st_mtime_ns
    bootstrap.open(settings, models).close()
    assert kept.stat().st_mtime_ns == before, "nothing is migrated"
    assert caplog.text == ""


def test_without_room_for_a_copy_the_database_is_migrated_and_the_log_says_so(
    sqlite_settings, models, monkeypatch, caplog
):
    def fail(source, target, on_progress=None):
        target.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    settings = make_older(sqlite_settings, models)
    monkeypatch.setattr("app.upkeep.database_copy.write_copy", fail)
    bootstrap.open(settings, models).close()
    assert read_revision(settings) > "0014"
    assert "no copy of" in caplog.text and "No space left on device" in caplog.text
    assert not list(settings.home.glob("*before-migration*"))


def test_a_worker_of_this_release_keeps_nobody_from_opening(settings, models):
    bootstrap.open(settings, models).close()
    before = read_revision(settings)
    with hold_worker_lock(settings):
        bootstrap.open(settings, models).close()
        assert read_revision(settings) == before > "0014"


def count_labels(wb):
    names = "SELECT a.name, l.label FROM current_label l JOIN annotator a ON a.id = l.annotator_id"
    with wb.read() as s:
        statement = text(f"SELECT name, label, count(*) FROM ({names}) GROUP BY name, label ORDER BY name, label")
        return [tuple(row) for row in s.execute(statement)]


def test_labels_people_rules_and_verdicts_of_an_earlier_release_are_there(upgraded):
    given = [("ann", "correct", 7), ("ann", "incorrect", 6), ("bob", "correct", 1), ("bob", "incorrect", 6)]
    assert count_labels(upgraded) == given
    ann = people.sign_in(upgraded, "ann")
    assert (ann.role, people.sign_in(upgraded, "bob").role) == ("admin", "annotator")
    assert rules.read_rules(upgraded, OWN).overlap == 2
    written = guidelines.read_guidelines(upgraded, OWN)
    assert (written.version, written.by, written.text) == (1, "ann", "A sentence is correct if it answers alone.\n")
    notes = {c.question: (c.verdict, c.note) for c in conflicts.list_conflicts(upgraded, OWN, ann.id)}
    assert notes["When is the filter changed?"] == ("incorrect", "It is about the machine.")
    with upgraded.read() as s:
        assert s.scalars(select(Flag.note)).all() == ["Is this meant for adults only?"]


def test_one_goes_on_labelling_where_one_was(upgraded):
    ann = people.sign_in(upgraded, "ann")
    last = annotation.undo_last(upgraded, ann.id, OWN)
    assert (last.question_id, last.label) == (266, None)
    again = annotation.give_label(
        upgraded, question_id=266, sentence_id=last.sentence_id, annotator_id=ann.id, label="incorrect"
    )
    assert again.changed
    assert count_labels(upgraded)[:2] == [("ann", "correct", 6), ("ann", "incorrect", 7)]


def test_a_retrain_of_an_earlier_release_has_its_report_and_its_version_answers(upgraded):
    job = queue.load_job(upgraded, RETRAIN)
    report = RetrainReport.from_json(job.result)
    assert (report.version, report.base) == ("forty-9", "cascade")
    assert (report.before["AP"], report.after["AP"]) == pytest.approx((0.8113, 0.8561), abs=1e-4)
    assert len(report.per_question) == 11
    version = registry.find_active(upgraded)
    assert (version.name, version.problem) == ("forty-9", "")
    assert Path(version.path).is_relative_to(upgraded.settings.home)
    assert [p.words for p in version.promotions] == ["to try it"]
