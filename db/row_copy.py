"""All rows of a SQLite file into an empty PostgreSQL database, in one transaction: ids, times and what refers to what
stay as they are, and no id of the file is given again.

The values go through COPY as SQLite has them: its times are in UTC without saying so, its truth values are 0 and 1, and
JSON is text, of which "null" and no value at all are two things.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import Table, exists, select
from sqlalchemy.orm import Session

from as2core.types import OnProgress, Progress
from db.errors import DbError
from db.models import Base
from db.repositories.statements import lock
from db.session import MIGRATION_LOCK, Database


def copy_rows(
    source: Path, target: Database, before_commit: Callable[[], None], on_progress: OnProgress | None = None
) -> None:
    """Both have the newest tables. Programs that open the target meanwhile wait; if `before_commit` raises, it stays
    empty. Raises DbError, also for one that is not empty, and sqlite3.Error."""
    tables = Base.metadata.sorted_tables  # what is referred to comes first
    with target.write() as s, closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as file:
        lock(s, MIGRATION_LOCK)
        if not is_empty(s):
            raise DbError("the database is not empty")
        driver: Any = s.connection().connection.driver_connection
        with driver.cursor() as cursor:
            cursor.execute("SET LOCAL TIME ZONE 'UTC'")
            for number, table in enumerate(tables, 1):
                try:
                    _copy_table(file, cursor, table)
                except target.engine.dialect.loaded_dbapi.Error as e:
                    reason = str(e).strip().splitlines()[0]
                    raise DbError(f"PostgreSQL refused a row of {table.name}, so nothing was copied: {reason}") from e
                if on_progress:
                    on_progress(Progress(number, len(tables), table.name))
        before_commit()
    target.analyze()


def is_empty(session: Session) -> bool:
    """Whether no table has a row, not even of a version that comes with the program."""
    return not any(session.scalar(select(exists(select(1).select_from(t)))) for t in Base.metadata.sorted_tables)


def _copy_table(file: sqlite3.Connection, cursor: Any, table: Table) -> None:
    columns = ", ".join(f'"{column.name}"' for column in table.columns)
    with cursor.copy(f'COPY "{table.name}" ({columns}) FROM STDIN') as copy:
        for row in file.execute(f'SELECT {columns} FROM "{table.name}"'):  # nosec B608: names of ours
            copy.write_row(row)
    if list(table.primary_key.columns.keys()) == ["id"]:
        last = file.execute(
            f"""SELECT max((SELECT coalesce(max(id), 0) FROM "{table.name}"),
            (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?))""",  # nosec B608
            (table.name,),
        ).fetchone()[0]
        if last:
            cursor.execute("SELECT setval(pg_get_serial_sequence(%s, 'id'), %s)", (table.name, last))
