"""What databases are asked."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import event
from sqlalchemy.engine import Engine


@contextmanager
def record_statements() -> Iterator[list[str]]:
    """The statements that any database is sent, apart from those that begin and end transactions."""
    statements: list[str] = []

    def note(_connection, _cursor, statement, *_):
        statements.append(" ".join(statement.split()))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(Engine, "before_cursor_execute", note)
