"""The home, and what a machine has of it elsewhere, are their owner's alone: nobody else on the machine reads labels,
names, documents or versions.

A folder has the mode 0700 and its files 0600, from their creation on (by the process's umask) and, where a release
before this one or somebody else made them, from the next start on. A folder that is shared on purpose (with the sticky
bit, as /tmp) or belongs to somebody else keeps its mode; the files of ours in it don't.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from app.workbench.settings import Settings

OTHERS = stat.S_IRWXG | stat.S_IRWXO  # what the group and everybody else may do


def prepare_home(settings: Settings) -> None:
    """Make the folders, take from others what they may do with them and their files, and set this process's umask so
    that new files are alike. Raises OSError if a folder cannot be made."""
    os.umask(os.umask(OTHERS) | OTHERS)
    for folder in (settings.home, settings.local):
        folder.mkdir(parents=True, exist_ok=True)
        if os.name == "posix" and not folder.stat().st_mode & stat.S_ISVTX:
            _close(folder)
    if os.name == "posix":
        for path in _list_files(settings):
            _close(path)


def name_other_owner(home: Path) -> str:
    """Whose the home is, where root is at work in somebody else's; else ""."""
    if os.name != "posix" or os.geteuid() != 0 or not home.is_dir() or (uid := home.stat().st_uid) == 0:
        return ""
    from pwd import getpwuid  # Windows has none

    with suppress(KeyError):  # as in a container
        return getpwuid(uid).pw_name
    return f"user {uid}"


def _list_files(settings: Settings) -> Iterator[Path]:
    """Those that this program makes in the home, and a SQLite database elsewhere."""
    files = [settings.worker_log, settings.passages_file, settings.logits_file, settings.local / "vectors.npz"]
    if settings.database_file is not None:
        files.append(settings.database_file)
    for file in files:
        yield from (file.with_name(file.name + suffix) for suffix in ("", "-wal", "-shm"))
    made_here = (settings.versions_dir, settings.jobs_dir, settings.rankings_dir)
    for folder in (*made_here, settings.graphs_dir, settings.index_dir):
        yield folder
        yield from folder.rglob("*")


def _close(path: Path) -> None:
    """Leave a link, what is not there, and what belongs to somebody else as it is."""
    with suppress(OSError):
        mode = path.lstat().st_mode
        if mode & OTHERS and not stat.S_ISLNK(mode):
            path.chmod(stat.S_IMODE(mode) & ~OTHERS)
