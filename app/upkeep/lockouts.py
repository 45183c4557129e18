"""What a restore does about people: the backup may be from before somebody left, whose role and sessions it has.

Whoever is blocked stays blocked, and where people log in, every session from before the restore has ended.
"""

import sqlite3
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path

from app.upkeep.job_numbers import open_to_read
from app.workbench.people import BLOCKED
from app.workbench.workbench import translate_errors
from db.repositories import people as rows
from db.session import Database


def list_blocked(database: Path) -> list[tuple[str, str | None]]:
    """Their (name, account) in the present database; none where it cannot say."""
    with suppress(sqlite3.Error), closing(open_to_read(database)) as connection:
        rows = connection.execute("SELECT name, subject FROM annotator WHERE role = ?", (BLOCKED,))
        return [(name, subject) for name, subject in rows]
    return []


def keep_out(copy: Database, blocked: list[tuple[str, str | None]], now: datetime) -> list[str]:
    """Block them in the restored database, too, and end the sessions of everybody. Returns whom the backup let in."""
    accounts, names = [a for _, a in blocked if a is not None], [name for name, a in blocked if a is None]
    with translate_errors(), copy.write() as s:
        rows.end_sessions(s, now)
        persons = [person for person in rows.find_people(s, accounts, names) if person.role != BLOCKED]
        for person in persons:
            person.role = BLOCKED
        return [person.name for person in persons]
