"""Versions beside the shipped one."""

import pytest
from fake_models import write_version

from db.repositories import versions as rows


@pytest.fixture
def candidates(wb):
    """Two candidates, older first."""
    for name in ("towers-1", "towers-2"):
        path = write_version(wb.settings.versions_dir / name, parent="cascade")
        with wb.write() as s:
            rows.add_version(
                s, name, kind="cascade", path=str(path), state="candidate", parent="cascade", now=wb.clock()
            )
    return "towers-1", "towers-2"
