"""Who works here, and what they may do."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import func, or_, select, update
from sqlalchemy.orm import Session

from db.models import Annotator
from db.repositories.statements import lock, upsert_into

ROLES_LOCK = 7264  # any number that nothing else here locks


def lock_roles(session: Session) -> None:
    """Until this transaction ends, no other counts admins to decide by it."""
    lock(session, ROLES_LOCK)


def lock_people(session: Session, ids: Collection[int]) -> None:
    """Until this transaction ends, none of them labels. In the order of their ids, so that two who ask take turns."""
    session.execute(select(Annotator.id).where(Annotator.id.in_(ids)).order_by(Annotator.id).with_for_update())


def list_people(session: Session) -> list[Annotator]:
    """Everybody who is a person, in the order they came."""
    return list(session.scalars(select(Annotator).where(Annotator.imported.is_(False)).order_by(Annotator.id)))


def find_annotator(session: Session, **column: str) -> Annotator | None:
    """By their `name`, or by the `subject` that the identity provider calls them."""
    return session.scalar(select(Annotator).filter_by(**column))


def find_people(session: Session, accounts: Collection[str], names: Collection[str]) -> list[Annotator]:
    """Those who log in with one of these accounts (`subject`), and those with one of these names who do not log in."""
    is_one = or_(Annotator.subject.in_(accounts), Annotator.name.in_(names) & Annotator.subject.is_(None))
    return list(session.scalars(select(Annotator).where(is_one).order_by(Annotator.id)))


def end_sessions(session: Session, now: datetime) -> None:
    """Of everybody who logs in, those from before now."""
    session.execute(update(Annotator).where(Annotator.subject.is_not(None)).values(sessions_from=now))


def ensure_annotator(
    session: Session,
    name: str,
    now: datetime,
    *,
    is_imported: bool = False,
    role: str = "annotator",
    subject: str | None = None,
) -> Annotator:
    """The annotator of that name, made if there is none; two who ask at once get the same one."""
    values = {"name": name, "imported": is_imported, "created": now, "role": role, "subject": subject}
    session.execute(upsert_into(session, Annotator).values(values).on_conflict_do_nothing(index_elements=["name"]))
    return session.scalars(select(Annotator).where(Annotator.name == name)).one()


def count_people(
    session: Session, role: str | None = None, but: Collection[str] = (), *, but_local: bool = False
) -> int:
    """How many people there are, or how many of a role, not counting some by name, or those who do not log in."""
    people = Annotator.imported.is_(False), Annotator.name.not_in(but)
    statement = select(func.count()).select_from(Annotator).where(*people)
    if but_local:
        statement = statement.where(Annotator.subject.is_not(None))
    return session.scalar(statement if role is None else statement.where(Annotator.role == role)) or 0
