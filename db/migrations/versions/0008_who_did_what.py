"""An audit log that cannot be changed, who started a job, and since when a person's sessions count."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from db.errors import DbError
from db.migrations.tables import create_tables

revision = "0008"
down_revision = "0007"

TABLE = """audit_event | id int, created time, actor text, act text, target text, outcome text, detail text | id | | |
    act, actor | auto"""
SQLITE_GUARD = """
CREATE TRIGGER audit_event_has_no_{act} BEFORE {act} ON audit_event
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END
"""
POSTGRES_GUARD = """
CREATE FUNCTION refuse_audit_event_change() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$;
CREATE TRIGGER audit_event_is_append_only BEFORE UPDATE OR DELETE ON audit_event
FOR EACH ROW EXECUTE FUNCTION refuse_audit_event_change()
"""


def upgrade() -> None:
    create_tables(TABLE)
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        for act in ("update", "delete"):
            op.execute(SQLITE_GUARD.format(act=act))
    else:
        op.execute(POSTGRES_GUARD)
    for name in ("login_at", "sessions_from"):
        op.add_column("annotator", sa.Column(name, sa.DateTime(timezone=True), nullable=True))
    _add_owner(connection)


def _add_owner(connection: sa.Connection) -> None:
    """SQLite makes the table anew for a constraint. With foreign keys on, that would delete the jobs' events;
    `Database.migrating` has them off."""
    if connection.dialect.name == "sqlite" and connection.scalar(sa.text("PRAGMA foreign_keys")):
        raise DbError("this migration would delete the jobs' events; open the database by the program")
    with op.batch_alter_table("job", table_kwargs={"sqlite_autoincrement": True}) as job:
        job.add_column(sa.Column("annotator_id", sa.Integer(), nullable=True))
        job.create_foreign_key(op.f("fk_job_annotator_id"), "annotator", ["annotator_id"], ["id"], ondelete="SET NULL")
        job.create_index(op.f("ix_job_annotator_id"), ["annotator_id"], unique=False)
