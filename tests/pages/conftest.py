"""The pages over services in memory."""

import fake_work
import pytest


@pytest.fixture
def work(monkeypatch):
    """What these services hold, and what was asked of them."""
    fake = fake_work.Work()
    fake_work.install(monkeypatch, fake)
    return fake
