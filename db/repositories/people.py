"""Who works here, and what they may do."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from db.models import Annotator


def people(session: Session) -> list[Annotator]:
    """Everybody who is a person, in the order they came."""
    return list(session.scalars(select(Annotator).where(Annotator.imported.is_(False)).order_by(Annotator.id)))


def person(session: Session, annotator_id: int) -> Annotator | None:
    return session.get(Annotator, annotator_id)


def person_known_as(session: Session, subject: str) -> Annotator | None:
    """By what the identity provider calls them."""
    return session.scalar(select(Annotator).where(Annotator.subject == subject))


def count(session: Session, role: str | None = None, but: Collection[str] = ()) -> int:
    """How many people there are, or how many of a role, not counting some by name."""
    people = Annotator.imported.is_(False), Annotator.name.not_in(but)
    statement = select(func.count()).select_from(Annotator).where(*people)
    return session.scalar(statement if role is None else statement.where(Annotator.role == role)) or 0
