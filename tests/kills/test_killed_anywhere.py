"""Each kind of process, killed at random moments: AS2_TEST_KILLS says how often instead of twice. `make kills` kills a
hundred times and prints a table."""

import os

import pytest
from kill_processes import kill_again_and_again
from victims import KINDS

KILLS = int(os.environ.get("AS2_TEST_KILLS", "2"))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", KINDS)
def test_kills_lose_no_label_leave_nothing_by_half_and_end_every_job(kind, database_url, tmp_path):
    outcome = kill_again_and_again(kind, tmp_path, database_url, kills=KILLS, seed=0)
    assert outcome.problems == ()
    assert (outcome.kills, outcome.lost, outcome.partial, outcome.stuck) == (KILLS, 0, 0, 0)
    assert outcome.confirmed > 0
