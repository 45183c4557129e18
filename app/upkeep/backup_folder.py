"""The folder in which a backup is prepared, beside its file.

A mark in the home says where it is and whose it is, so that `as2 check` finds what a killed backup left, and the next
one removes it.
"""

import json
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from app.jobs.process import is_dead, name_worker

MARK, PREFIX = ".backup-", "as2-backup-"  # how the names of marks and folders begin
MAX_BACKUP_SECONDS = 24 * 3600.0  # after which one of another machine, such as a container of before, is over


@contextmanager
def make_folder(home: Path, parent: Path) -> Iterator[Path]:
    """Removed at the end, and now those that killed backups of this home left. Raises OSError."""
    for mark, left in list_abandoned(home):
        shutil.rmtree(left, ignore_errors=True)
        mark.unlink(missing_ok=True)
    token = secrets.token_hex(4)
    mark, folder = home / f"{MARK}{token}", parent / f"{PREFIX}{token}"
    try:
        mark.write_text(json.dumps({"folder": str(folder), "process": name_worker()}), encoding="utf-8")
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        mark.unlink(missing_ok=True)


def list_abandoned(home: Path) -> list[tuple[Path, Path]]:
    """Mark and folder of each backup whose process is gone."""
    abandoned = []
    for mark in sorted(home.glob(f"{MARK}*")):
        with suppress(OSError, ValueError, KeyError, TypeError):  # somebody else's, or removed at this moment
            record, age = json.loads(mark.read_text(encoding="utf-8")), time.time() - mark.stat().st_mtime
            folder = Path(record["folder"])
            if folder.name.startswith(PREFIX) and (is_dead(record["process"]) or age > MAX_BACKUP_SECONDS):
                abandoned.append((mark, folder))
    return abandoned
