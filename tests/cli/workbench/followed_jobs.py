"""Jobs that a command follows, at any stage."""

from __future__ import annotations


class Watched:
    """A job's states, one at each look, in place of the services."""

    def __init__(self, *states):
        self.states, self.cancelled = list(states), []

    def job(self, wb, number):
        return self.states.pop(0)

    def cancel(self, wb, number):
        self.cancelled.append(number)


def state(name, *, events=(), message="", error=""):
    from datetime import UTC, datetime

    from app.jobs.queue import JobView

    now = datetime(2026, 1, 2, tzinfo=UTC)
    return JobView(5, "retrain", name, 0.0, message, tuple(events), {}, error, "", {}, None, 1, False, now, None, None)


def follow(monkeypatch, first, *later, sleep=lambda seconds: None):
    from app.cli import adapt
    from app.jobs import queue, supervisor

    watched = Watched(*later)
    monkeypatch.setattr(queue, "load_job", watched.job)
    monkeypatch.setattr(queue, "cancel", watched.cancel)
    monkeypatch.setattr(supervisor, "attend", lambda wb: None)
    return watched, lambda: adapt.follow(None, first, sleep)
