"""On SQLite ids of sentences, questions and candidates are never used twice, as on PostgreSQL: a label for one that is
gone must not land on the next that comes.

SQLite has no statement for this: the tables are made anew. Dropping the old ones would delete whatever refers to them,
labels too, so `Database.migrating` has foreign keys off, and without that nothing is touched.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from db.errors import DbError

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        return
    if connection.scalar(sa.text("PRAGMA foreign_keys")):
        raise DbError("this migration would take labels along with foreign keys on; open the database by the program")
    before = _dangling(connection)
    for table in ("sentence", "question", "candidate"):
        with op.batch_alter_table(table, recreate="always", table_kwargs={"sqlite_autoincrement": True}):
            pass  # nothing but the word AUTOINCREMENT
    if _dangling(connection) != before:
        raise DbError("the database could not be migrated: rows would lose what they refer to; it is as it was")


def _dangling(connection: sa.Connection) -> set[tuple]:
    """Table, row and the table it refers to in vain, of rows that somebody may have left so by hand."""
    return {tuple(row[:3]) for row in connection.execute(sa.text("PRAGMA foreign_key_check"))}
