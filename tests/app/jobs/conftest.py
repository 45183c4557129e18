"""What runs jobs in a test."""

import threading

import pytest

from app import worker
from app.jobs import attempt
from app.worker import RUNNERS


@pytest.fixture
def runners(monkeypatch):
    """runners["kind"] = function(job) makes it what a job of that kind does."""
    monkeypatch.setattr(attempt, "HEARTBEAT_SECONDS", 0.05)
    return dict(RUNNERS)


@pytest.fixture
def working(wb, monkeypatch):
    """working(runners) starts a worker in this process; it is stopped after the test."""
    monkeypatch.setattr(worker, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(worker, "CHECK_SECONDS", 0.05)
    started = []

    def start(runners, idle=None):
        own = worker.Worker(wb, idle, runners)
        thread = threading.Thread(target=own.work)
        thread.start()
        started.append((own, thread))
        return own, thread

    yield start
    for own, thread in started:
        own.stop.set()
        thread.join(20)
        assert not thread.is_alive()
