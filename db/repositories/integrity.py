"""Whether the database is sound."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import text
from sqlalchemy.orm import Session


def find_damage(session: Session) -> str:
    """What is wrong with the database; "" if nothing is. SQLite's file is read from end to end; PostgreSQL, which
    checks its own pages, is only asked for an answer."""
    if session.get_bind().dialect.name != "sqlite":
        session.execute(text("SELECT 1"))
        return ""
    answer = str(session.execute(text("PRAGMA integrity_check(1)")).scalar())
    if answer != "ok":
        return f"the file is damaged: {answer}"
    orphan = session.execute(text("PRAGMA foreign_key_check")).first()
    return "" if orphan is None else f"rows of {orphan[0]} belong to none of {orphan[2]}"


def find_stuck_transaction(session: Session, *, idle_seconds: float, wait_seconds: float) -> str:
    """The oldest transaction of PostgreSQL that others have waited for, or that has written something and then lain
    idle, for so long; "" if there is none. A role that may not see what others do sees only the first."""
    if session.get_bind().dialect.name == "sqlite":
        return ""
    limits = {"idle": timedelta(seconds=idle_seconds), "wait": timedelta(seconds=wait_seconds)}
    row = session.execute(_STUCK, limits).first()
    if row is None:
        return ""
    name = f" ({row.application_name})" if row.application_name else ""
    since = "" if row.seconds is None else f" has been open for {row.seconds:,.0f} s"
    effect = "it does nothing, and others may have to wait for it"
    if row.waiting:
        effect = f"transactions that wait for it: {row.waiting:,}"
    return f"a transaction of the server process {row.pid}{name}, user {row.usename},{since}: {effect}"


_STUCK = text(
    """
    WITH waits AS (
        SELECT unnest(pg_blocking_pids(pid)) AS pid FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'
            AND clock_timestamp() - query_start > :wait
    )
    SELECT a.pid, a.usename, a.application_name, (SELECT count(*) FROM waits w WHERE w.pid = a.pid) AS waiting,
        extract(epoch FROM now() - a.xact_start) AS seconds
    FROM pg_stat_activity a
    WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND (
        a.pid IN (SELECT pid FROM waits)
        OR (a.state LIKE 'idle in transaction%' AND a.backend_xid IS NOT NULL AND now() - a.state_change > :idle)
    )
    ORDER BY a.xact_start NULLS LAST LIMIT 1
    """
)
