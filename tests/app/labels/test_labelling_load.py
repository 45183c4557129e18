"""Eight people at once, each a process, while a retrain runs: every label stored exactly once, none over its overlap,
on either engine. AS2_TEST_LABELS says how many each instead of 200; `benchmarks/labelling_load.py` tells how quick."""

import os
import sys
from pathlib import Path

import pytest
from postgres_server import find_postgres, serve_postgres

from app.workbench.settings import Settings

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "benchmarks"))
PEOPLE, EACH = 8, int(os.environ.get("AS2_TEST_LABELS", "200"))


def everything_is_stored_once(settings: Settings) -> None:
    from labelling_load import measure

    found = measure(settings, persons=PEOPLE, each=EACH)
    assert found.errors == ()
    assert found.events == len(found.milliseconds) == PEOPLE * EACH
    assert (found.over, found.twice) == (0, 0)
    assert found.retraining


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_1600_labels_of_eight_processes_are_stored_once_on_sqlite(tmp_path):
    everything_is_stored_once(Settings(home=tmp_path, worker="external"))


@pytest.fixture
def server():
    binaries = find_postgres()
    if binaries is None:
        pytest.fail("no PostgreSQL server: install it (apt-get install postgresql), or leave out -m postgres")
    with serve_postgres(binaries) as url:
        yield url


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.timeout(1200)
def test_1600_labels_of_eight_processes_are_stored_once_on_postgresql(tmp_path, server):
    everything_is_stored_once(Settings(home=tmp_path, database_url=server, worker="external"))
