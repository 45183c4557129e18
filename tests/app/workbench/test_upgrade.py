"""A home of an earlier release, opened by this one."""

import pytest
from sqlalchemy import text

from app import bootstrap
from app.jobs.process import hold_worker_lock
from app.workbench.workbench import DatabaseTrouble
from db.session import Database

EARLIER = (
    "ALTER TABLE sentence DROP COLUMN heading",
    "UPDATE alembic_version SET version_num = '0014'",
)


@pytest.fixture
def older(settings, models):
    """Settings whose database an earlier release made."""
    bootstrap.open(settings, models).close()
    database = Database(settings.database)
    with database.write() as s:
        for statement in EARLIER:
            s.execute(text(statement))
    database.close()
    return settings


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


def test_a_worker_of_this_release_keeps_nobody_from_opening(settings, models):
    bootstrap.open(settings, models).close()
    with hold_worker_lock(settings):
        bootstrap.open(settings, models).close()
