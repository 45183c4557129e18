"""Eight people at once, each a process, while a retrain runs: every label stored exactly once, none over its overlap,
on either engine. AS2_TEST_LABELS says how many each instead of 200; `benchmarks/labelling_load.py` tells how quick."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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
def server(tmp_path_factory):
    """A PostgreSQL of this test's own: Debian's, on a socket in a folder of its own, as a user it agrees to run as."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not folders:
        pytest.fail("no PostgreSQL server: install it (apt-get install postgresql), or leave out -m postgres")
    binaries, home = folders[-1].parent, Path("/tmp") / f"as2-pg-{os.getpid()}"  # a socket's path must be short
    home.mkdir()
    asroot = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    if asroot:
        shutil.chown(home, "postgres")

    def run(*command: str) -> None:
        done = subprocess.run([*asroot, *command], cwd=home, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    run(str(binaries / "initdb"), "-D", str(home / "data"), "-A", "trust", "-U", "as2", "--no-sync")
    options = f"-k {home} -c listen_addresses= -c fsync=on"
    control = [str(binaries / "pg_ctl"), "-D", str(home / "data"), "-w", "-l", str(home / "log")]
    run(*control, "-o", options, "start")
    try:
        yield f"postgresql+psycopg://as2@/postgres?host={home}"
    finally:
        run(*control, "-m", "fast", "stop")
        shutil.rmtree(home)


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.timeout(1200)
def test_1600_labels_of_eight_processes_are_stored_once_on_postgresql(tmp_path, server):
    everything_is_stored_once(Settings(home=tmp_path, database_url=server, worker="external"))
