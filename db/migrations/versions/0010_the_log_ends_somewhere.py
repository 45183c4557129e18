"""Events of the audit log may be deleted once one of its entries says so; before, never."""

from __future__ import annotations

from alembic import op

revision = "0010"
down_revision = "0009"

SQLITE_GUARD = """
CREATE TRIGGER audit_event_has_no_delete BEFORE DELETE ON audit_event
WHEN NOT EXISTS (SELECT 1 FROM audit_event WHERE act = 'prune the audit log' AND target > OLD.created)
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END
"""
POSTGRES_GUARD = """
CREATE OR REPLACE FUNCTION refuse_audit_event_change() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN
  IF TG_OP = 'DELETE' AND EXISTS (
    SELECT 1 FROM audit_event
    WHERE act = 'prune the audit log' AND target > to_char(OLD.created AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')
  ) THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION 'the audit log is append-only';
END $$
"""


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TRIGGER audit_event_has_no_delete")
        op.execute(SQLITE_GUARD)
    else:
        op.execute(POSTGRES_GUARD)
