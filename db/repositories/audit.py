"""The audit log: rows are added and read, never changed, and deleted only by age."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from db.models import AuditEvent


def add_event(session: Session, now: datetime, *, actor: str, act: str, target: str, outcome: str, detail: str) -> None:
    session.add(AuditEvent(created=now, actor=actor, act=act, target=target, outcome=outcome, detail=detail))


def list_events(
    session: Session, *, actor: str = "", act: str = "", since: datetime | None = None, limit: int | None = None
) -> list[AuditEvent]:
    """Newest first; of one person, of acts whose name holds `act`, and from `since` on."""
    statement = select(AuditEvent)
    if actor:
        statement = statement.where(AuditEvent.actor == actor)
    if act:
        statement = statement.where(func.lower(AuditEvent.act).contains(act.lower(), autoescape=True))
    if since is not None:
        statement = statement.where(AuditEvent.created >= since)
    return list(session.scalars(statement.order_by(AuditEvent.id.desc()).limit(limit)))


def list_newest(session: Session, act: str) -> list[AuditEvent]:
    """Of each actor, their last event of this act."""
    newest = select(func.max(AuditEvent.id)).where(AuditEvent.act == act).group_by(AuditEvent.actor)
    return list(session.scalars(select(AuditEvent).where(AuditEvent.id.in_(newest))))


def find_newest_event(session: Session, act: str, target: str, *, outcome: str) -> AuditEvent | None:
    of_act = select(AuditEvent).where(AuditEvent.act == act, AuditEvent.target == target, AuditEvent.outcome == outcome)
    return session.scalars(of_act.order_by(AuditEvent.id.desc()).limit(1)).first()


def count_events(session: Session, *, before: datetime) -> int:
    return session.scalar(select(func.count()).where(AuditEvent.created < before)) or 0


def delete_events(session: Session, *, before: datetime) -> None:
    """The database refuses unless an event of this or an earlier transaction says so (migration 0010)."""
    session.flush()
    session.execute(delete(AuditEvent).where(AuditEvent.created < before))
