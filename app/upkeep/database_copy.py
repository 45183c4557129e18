"""Copies of a SQLite database that others have open: beside it, and in its place."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from as2core.types import OnProgress, Progress

FIRST_PAGES = 16  # fewer than any database of ours has: the first step of a copy must not be its last
DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
SUFFIXES = ("", "-wal", "-shm", "-journal")  # of a database's file and those that SQLite has beside it


class _Damaged(Exception):
    """The present database cannot be copied."""


def write_copy(source: Path, target: Path, on_progress: OnProgress | None = None) -> None:
    """A consistent state of one file into another, which others may have open."""

    def report(_status: int, remaining: int, total: int) -> None:
        if on_progress:
            on_progress(Progress(total - remaining, total, "the database"))

    with closing(sqlite3.connect(source, timeout=30)) as before, closing(sqlite3.connect(target, timeout=30)) as after:
        before.backup(after, pages=4096, progress=report)


def keep_before_migration(database: Path) -> None:
    """Copy it beside itself, in the place of the copy from the migration before; no copy of a damaged one. Raises
    OSError and sqlite3.Error, where the disk is full for instance; an earlier copy is there then."""
    _write_whole_copy(database, database.with_name(f"{database.name}.before-migration"))


def _write_whole_copy(database: Path, copy: Path) -> bool:
    """The copy's name is there once it is whole, also where this process is killed. False, and no copy, where the
    database is damaged."""
    part = copy.with_name(f".{copy.name}.part")
    try:
        _remove(part)  # of a restore that was killed
        write_copy(database, part)
        part.replace(copy)
    except (OSError, sqlite3.Error) as e:
        _remove(part)
        if _is_damage(e):
            return False
        raise
    return True


def _remove(file: Path) -> None:
    """A database with what SQLite has beside it, as far as it is there."""
    for suffix in SUFFIXES:
        file.with_name(file.name + suffix).unlink(missing_ok=True)


def _is_damage(error: Exception) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in DAMAGE


def _find_free(database: Path) -> Path:
    """Where to keep it: no database that an earlier restore kept is overwritten."""
    name = f"{database.name}.before-restore"
    names = itertools.chain([name], (f"{name}-{i}" for i in itertools.count(2)))
    return next(path for n in names if not (path := database.with_name(n)).exists())


def put_in_place(
    database: Path, copy: Path, finish_copy: Callable[[], None], replace_folders: Callable[[], None]
) -> None:
    """Through SQLite, so that a server that has it open sees the new state. Nobody else writes from the moment at
    which the present one is kept: what was confirmed until then is in what is kept, and a later act waits, or says
    that nothing was recorded. A damaged file is moved away, with what SQLite keeps beside it, from which something
    may be recovered."""
    steps = [finish_copy, replace_folders]

    def keep() -> None:
        steps.pop(0)()
        if not _write_whole_copy(database, _find_free(database)):
            raise _Damaged
        steps.pop(0)()

    if database.exists():
        try:
            _overwrite(copy, database, keep)
            return
        except (_Damaged, sqlite3.Error) as e:
            if not isinstance(e, _Damaged) and not _is_damage(e):
                raise
        away = _find_free(database)
        for suffix in SUFFIXES:
            with suppress(FileNotFoundError):
                database.with_name(database.name + suffix).replace(away.with_name(away.name + suffix))
    for step in steps:
        step()
    write_copy(copy, database)


def _overwrite(copy: Path, database: Path, before_writing: Callable[[], None]) -> None:
    """Copy one file into the other. The first step locks the other one for writers until the end; readers go on, by
    its log. `before_writing` is called then: it may change the copy, with which SQLite begins anew, and if it raises,
    the other file stays as it was."""
    steps = [before_writing]

    def report(status: int, _remaining: int, _total: int) -> None:
        if steps and status not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            steps.pop()()

    with closing(sqlite3.connect(copy, timeout=30)) as source, closing(sqlite3.connect(database, timeout=30)) as target:
        target.execute("PRAGMA journal_mode=WAL")
        source.backup(target, pages=FIRST_PAGES, progress=report)
