import pytest

from app import bootstrap
from app.workbench import people


@pytest.fixture
def elsewhere(settings, models, clock, tmp_path):
    """Another home, whose admin is cy."""
    own = {"home": tmp_path / "elsewhere", "database_url": f"sqlite:///{tmp_path / 'elsewhere.db'}"}
    opened = bootstrap.open(settings.model_copy(update=own), models, clock)
    people.sign_in(opened, "cy")
    yield opened
    opened.close()
