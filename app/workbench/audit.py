"""The audit log: who did what, on what and when, what was refused included.

An act is recorded in the transaction that does it, so that there is neither without the other. A refusal undoes its
transaction; `Workbench` records it in one of its own, at most once a minute for the same person and act.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy.orm import Session

from as2core.errors import As2Error
from db.models import Annotator
from db.repositories import audit as rows

if TYPE_CHECKING:
    from app.workbench.workbench import Workbench

SUCCESS, REFUSED = "done", "refused"
COMMAND_LINE, PROGRAM = ACTORS = ("command line", "the program")  # who acts, and is no person
MAX_DETAIL_CHARS = 500
REFUSAL_SECONDS = 60.0  # within which the same one is not recorded again


class Refusal(As2Error):
    """Somebody may not do something. `actor`, `act` and `target` are for the audit log; without an actor the refusal is
    not recorded."""

    def __init__(self, message: str, *, actor: str = "", act: str = "", target: str = "") -> None:
        super().__init__(message)
        self.actor, self.act, self.target = actor, act, target


def record(
    s: Session,
    now: datetime,
    by: int | None,
    act: str,
    target: str = "",
    detail: str = "",
) -> None:
    """Add what was done to a transaction. `by`: the person's id, None for the command line."""
    actor = name_actor(s, by)
    rows.add_event(s, now, actor=actor, act=act, target=target, outcome=SUCCESS, detail=detail[:MAX_DETAIL_CHARS])


def name_actor(s: Session, by: int | None) -> str:
    """As the log names them; `by` as in `record`."""
    if by is None:
        return COMMAND_LINE
    person = s.get(Annotator, by)
    return person.name if person is not None else f"person {by}"


def write(wb: Workbench, by: int | None, act: str, target: str = "", detail: str = "") -> None:
    """Record an act that has no transaction of its own."""
    with wb.write() as s:
        record(s, wb.clock(), by, act, target, detail)


def write_refusal(wb: Workbench, refusal: Refusal) -> None:
    """Unless it has no actor, or was recorded within the last minute."""
    key = f"refusal {refusal.actor} {refusal.act}"
    if not refusal.actor or not wb.mark_if_due(key, REFUSAL_SECONDS):
        return
    act, target, detail = refusal.act, refusal.target, str(refusal)[:MAX_DETAIL_CHARS]
    with wb.database.write() as s:
        rows.add_event(s, wb.clock(), actor=refusal.actor, act=act, target=target, outcome=REFUSED, detail=detail)
