"""How long the audit log reaches back: what is older than `AS2_AUDIT_DAYS` is deleted, in whole days of UTC.

The database refuses to delete an event unless an entry of the log says that all before its day are deleted, so a log is
never shorter than it says. The process of the pages does it alone, as other processes may have other settings.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from app.workbench.audit import PROGRAM, SUCCESS
from app.workbench.workbench import Workbench
from db.repositories import audit as rows

PRUNE = "prune the audit log"  # the database's trigger looks for it
DAY_SECONDS = 86_400.0


def prune_daily(wb: Workbench) -> None:
    """Prune at the first call in this process, and once a day from then on."""
    if wb.mark_if_due(PRUNE, DAY_SECONDS):
        prune(wb)


def prune(wb: Workbench) -> int:
    """Delete the events that are older than the setting, and record how many there were, if any."""
    if not wb.settings.audit_days:
        return 0
    now = wb.clock()
    oldest_day = (now - timedelta(days=wb.settings.audit_days)).astimezone(UTC).date()
    before = datetime(oldest_day.year, oldest_day.month, oldest_day.day, tzinfo=UTC)
    with wb.write() as s:
        if count := rows.count_events(s, before=before):
            detail, target = f"{count:,} older events deleted", oldest_day.isoformat()
            rows.add_event(s, now, actor=PROGRAM, act=PRUNE, target=target, outcome=SUCCESS, detail=detail)
            rows.delete_events(s, before=before)
    return count
