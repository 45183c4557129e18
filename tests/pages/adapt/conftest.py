"""These pages are over the labelled home."""

import pytest


@pytest.fixture
def template(labelled):
    return labelled
