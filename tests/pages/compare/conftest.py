"""These pages are over the home with two comparisons."""

import pytest
import stored


@pytest.fixture
def template(compared):
    return compared


@pytest.fixture
def sweep(wb):
    """The finished comparison of one cascade's drop ratios."""
    return stored.jobs(wb)[0].id


@pytest.fixture
def job(wb):
    """The finished comparison of four rankers."""
    return stored.jobs(wb)[1].id
