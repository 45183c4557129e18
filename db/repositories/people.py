"""Who works here, and what they may do."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from db.models import Annotator

ROLES_LOCK = 7264  # any number that nothing else here locks


def lock_roles(session: Session) -> None:
    """Until this transaction ends, no other counts admins to decide by it. On SQLite it is the only writer anyway."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text(f"SELECT pg_advisory_xact_lock({ROLES_LOCK})"))


def people(session: Session) -> list[Annotator]:
    """Everybody who is a person, in the order they came."""
    return list(session.scalars(select(Annotator).where(Annotator.imported.is_(False)).order_by(Annotator.id)))


def person(session: Session, annotator_id: int) -> Annotator | None:
    return session.get(Annotator, annotator_id)


def find_by_subject(session: Session, subject: str) -> Annotator | None:
    """By what the identity provider calls them."""
    return session.scalar(select(Annotator).where(Annotator.subject == subject))


def count(session: Session, role: str | None = None, but: Collection[str] = ()) -> int:
    """How many people there are, or how many of a role, not counting some by name."""
    people = Annotator.imported.is_(False), Annotator.name.not_in(but)
    statement = select(func.count()).select_from(Annotator).where(*people)
    return session.scalar(statement if role is None else statement.where(Annotator.role == role)) or 0
