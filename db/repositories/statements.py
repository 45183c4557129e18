"""Statements that several repositories make, the same for SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from sqlalchemy import text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from db.models import Base

Row = TypeVar("Row", bound=Base)
T = TypeVar("T")
MAX_VALUES = 10_000  # of one IN: SQLite takes 32,766 parameters in a statement, PostgreSQL 65,535


def split_batches(values: Iterable[T]) -> Iterator[Sequence[T]]:
    """What `in_` takes at a time of any number of values, each once."""
    distinct = list(dict.fromkeys(values))
    return (distinct[i : i + MAX_VALUES] for i in range(0, len(distinct), MAX_VALUES))


def add_row(session: Session, row: Row) -> Row:
    """Store a new row at once, which gives it its id."""
    session.add(row)
    session.flush()
    return row


def lock(session: Session, number: int) -> None:
    """Until this transaction ends, every other that asks for this lock waits. On SQLite it is the only writer anyway.
    That of migrations is `MIGRATION_LOCK`; each repository has a number of its own."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text(f"SELECT pg_advisory_xact_lock({number})"))


def upsert_into(session: Session, table: type[Base]) -> sqlite.Insert | postgresql.Insert:
    """An insert with `on_conflict_do_update`, for the database in use."""
    return (sqlite if session.get_bind().dialect.name == "sqlite" else postgresql).insert(table)


def upsert(session: Session, table: type[Base], key: Sequence[str], rows: Sequence[Mapping[str, object]]) -> None:
    """Insert rows; of one whose key is stored already, replace all other columns."""
    if rows:
        statement = upsert_into(session, table)
        others = {name: statement.excluded[name] for name in rows[0] if name not in key}
        session.flush()  # what follows goes past the session, which would take each row apart
        session.connection().execute(statement.on_conflict_do_update(index_elements=key, set_=others), rows)
