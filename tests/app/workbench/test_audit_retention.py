"""The audit log reaches back as far as the setting says, and what is deleted leaves an entry."""

import threading
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from app.jobs import supervisor
from app.workbench import audit, audit_log
from app.workbench.audit_retention import DAY_SECONDS, PRUNE, prune, prune_daily
from db.errors import DbError

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def settings(settings):
    return settings.model_copy(update={"audit_days": 30})


@pytest.fixture
def record(wb, ann, clock):
    """record(day, hour) adds an event of that day in May 2024."""

    def add(day, hour=12):
        clock.now = NOON.replace(day=day, hour=hour)
        audit.write(wb, ann.id, "export labels", f"{day:02} {hour:02}")

    return add


def read(wb):
    return [(e.actor, e.act, e.target, e.detail) for e in audit_log.list_events(wb, by=None)]


def test_events_of_whole_days_before_the_setting_are_deleted_and_an_entry_says_so(wb, record, clock):
    for day, hour in ((1, 23), (2, 0), (3, 12)):
        record(day, hour)
    clock.now = datetime(2024, 6, 1, 6, tzinfo=UTC)  # 30 days before is the 2nd of May, 6 o'clock
    assert prune(wb) == 2  # ann became the first admin, and the one of the 1st
    assert read(wb) == [
        ("the program", "prune the audit log", "2024-05-02", "2 older events deleted"),
        ("ann", "export labels", "03 12", ""),
        ("ann", "export labels", "02 00", ""),
    ]
    assert prune(wb) == 0 and len(read(wb)) == 3


def test_the_entry_of_a_deletion_is_deleted_in_its_turn(wb, record, clock):
    record(1)
    clock.advance(days=60)
    prune(wb)
    clock.advance(days=60)
    assert prune(wb) == 1
    assert [(act, detail) for _, act, _, detail in read(wb)] == [("prune the audit log", "1 older events deleted")]


def test_zero_days_is_for_ever(wb, record, clock):
    forever = replace(wb, settings=wb.settings.model_copy(update={"audit_days": 0}))
    record(1)
    clock.advance(days=5000)
    assert prune(forever) == 0 and len(read(wb)) == 2


def test_the_database_deletes_nothing_younger_than_an_entry_says(wb, record, clock):
    record(1)
    record(31)
    clock.now = datetime(2024, 6, 10, tzinfo=UTC)
    prune(wb)
    before = read(wb)
    for statement in ("DELETE FROM audit_event", "UPDATE audit_event SET target = '2030-01-01'"):
        with pytest.raises((DbError, DBAPIError), match="append-only"), wb.database.write() as s:
            s.execute(text(statement))
    assert read(wb) == before


def test_it_is_done_at_the_first_call_and_then_once_a_day(wb, record, clock):
    details = []
    for seconds_later in (0.0, 80_000.0, 7_000.0):
        record(1)
        clock.now = NOON.replace(month=8)
        wb.marks[PRUNE] = wb.marks.get(PRUNE, -DAY_SECONDS) - seconds_later
        prune_daily(wb)
        details.append(read(wb)[0][3])
    assert details == ["2 older events deleted", "", "2 older events deleted"]


def test_the_process_of_the_pages_does_it(wb, monkeypatch):
    pruned = threading.Event()
    monkeypatch.setattr(supervisor, "CHECK_SECONDS", 0.01)
    monkeypatch.setattr("app.workbench.audit_retention.prune", lambda wb: pruned.set())
    thread = supervisor.start_supervisor(wb)
    assert pruned.wait(20)
    wb.is_closed.set()
    thread.join(20)
