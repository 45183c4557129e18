"""The ranker that trainings begin with; a module whose base is another has a fixture of its own."""

import pytest
from year_questions import tiny_ranker


@pytest.fixture
def base(tiny):
    """A tiny cascade that was never trained."""
    return tiny_ranker("cascade", tiny("bert", 2))
