"""Whether the database is sound."""

from __future__ import annotations

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
