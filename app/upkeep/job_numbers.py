"""What a restore does about jobs, and a new database in a home that had another: jobs' numbers name folders, and the
database goes back behind some of these.

A job of a number that was given before would take what lies in `jobs/N` for its own, such as a snapshot of another
corpus's labels, and save its version in the folder of that job's version. So no number is given twice. A job that the
backup has as not done goes on from what the backup has of it, not from what came later.
"""

import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from app.workbench.settings import Settings
from as2core.errors import DamagedModel
from as2core.rankers.versions import read_card

NUMBER = re.compile(r"[0-9]{1,12}")
NAMED_AFTER_JOB = re.compile(r".+-([0-9]{1,12})(?: [0-9]+)?")  # a version's folder: corpus, job, a number for one more


def raise_job_counter(settings: Settings, file: Path) -> int:
    """Have the database in the file number its jobs on from the last that the home knows: of its present database, a
    job's folder or a version. Returns that number, 0 if there is none. Raises sqlite3.Error."""
    last = max(_list_numbers(settings), default=0)
    if not last:
        return 0
    with closing(sqlite3.connect(file, timeout=30)) as connection, connection:
        is_counted = connection.execute("SELECT 1 FROM sqlite_sequence WHERE name = 'job'").fetchone()
        if not is_counted:
            connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('job', 0)")
        connection.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'job'", (last,))
    return last


def _list_numbers(settings: Settings) -> Iterator[int]:
    if settings.database_file is not None:  # one that cannot be read is replaced all the same
        with suppress(sqlite3.Error), closing(open_to_read(settings.database_file)) as connection:
            yield from (seq for (seq,) in connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'job'"))
    yield from (int(path.name) for path in settings.jobs_dir.glob("*") if NUMBER.fullmatch(path.name))
    for path in settings.versions_dir.glob("*-*"):
        match = NAMED_AFTER_JOB.fullmatch(path.name)
        with suppress(DamagedModel, OSError):
            if match and read_card(path).get("job") == int(match[1]):
                yield int(match[1])


def empty_unfinished(settings: Settings, copy: Path) -> None:
    """Delete the folders of the jobs that the database in the file `copy` has as not done. Raises sqlite3.Error."""
    with closing(open_to_read(copy)) as connection:
        unfinished = [i for (i,) in connection.execute("SELECT id FROM job WHERE state != 'done'")]
    for job_id in unfinished:
        shutil.rmtree(settings.jobs_dir / str(job_id), ignore_errors=True)


def open_to_read(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
