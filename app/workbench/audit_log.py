"""The audit log as admins read it (`app.workbench.audit` writes it)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.workbench.audit import SUCCESS
from app.workbench.people import ADMIN, allow
from app.workbench.workbench import Workbench
from db.repositories import audit as rows


@dataclass(frozen=True, slots=True)
class AuditView:
    """`actor` is a name as it was then; `outcome` is "done" or "refused"."""

    id: int
    created: datetime
    actor: str
    act: str
    target: str
    outcome: str
    detail: str

    @property
    def what(self) -> str:
        """The act, with its outcome unless it was done."""
        return self.act if self.outcome == SUCCESS else f"{self.act} ({self.outcome})"


def list_events(
    wb: Workbench,
    *,
    by: int | None,
    actor: str = "",
    act: str = "",
    since: datetime | None = None,
    limit: int | None = None,
) -> list[AuditView]:
    """Newest first; `act`: a part of its name. `by` None is the command line. Raises NotAllowed unless `by` is an
    admin."""
    with wb.read() as s:
        allow(s, by, "read the audit log", ADMIN)
        events = rows.list_events(s, actor=actor, act=act, since=since, limit=limit)
        return [AuditView(e.id, e.created, e.actor, e.act, e.target, e.outcome, e.detail) for e in events]
