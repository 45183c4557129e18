"""A home as one file, and back: the database, the versions, the jobs' folders, uploaded rankings, and what somebody
wrote by hand or made keys of: without the gates of promotions or the keys of `as2 serve`, a restored home would let
pass what this one stops.

It is written while the app runs: SQLite's backup interface copies a state that no writer is in the middle of. Indexes
and graphs are derived and not in it, nor are the checkpoints of a training, which are far larger than all else. Only
SQLite's database is; PostgreSQL has pg_dump. Where the settings name an empty PostgreSQL database, a backup goes into
that: so a home moves there.
"""

import io
import json
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from sqlalchemy import URL

import as2core
from app.jobs.process import hold_lock, is_running
from app.upkeep.backup_folder import make_folder
from app.upkeep.database_copy import SUFFIXES, put_in_place, write_copy
from app.upkeep.job_numbers import empty_unfinished, open_to_read, raise_job_counter
from app.upkeep.lockouts import keep_out, list_blocked
from app.workbench import audit
from app.workbench.home import name_other_owner, prepare_home
from app.workbench.indexes import open_indexes
from app.workbench.settings import Settings, to_sqlite_url
from app.workbench.workbench import Workbench, translate_errors
from as2core.errors import FULL_DISK, As2Error, BadSetting, UnreadableFile, is_disk_full
from as2core.types import OnProgress, Progress
from db.repositories import corpora
from db.repositories import documents as document_rows
from db.row_copy import copy_rows, is_empty
from db.session import open_database

FORMAT, OLDER_FORMATS = 2, (1,)  # 1 had no gates, slices and keys
MANIFEST, DATABASE = "backup.json", "as2.db"
PART = "as2.tar"  # what is not a whole backup yet
KEYS = "keys"
JOBS, CHECKPOINT = "jobs", "checkpoint-"  # how the folders of a training's checkpoints begin
FOLDERS = ("versions", JOBS, "gates", "rankings", KEYS)
MARKS = "*-removed"  # of shipped corpora that somebody deleted
FILES = ("login-required", "slices.toml")
MAX_MANIFEST_BYTES = 100_000
LOCK = "restore.lock"
UNPACKED = ".restore-"  # how the name of a folder begins into which a backup is unpacked
AS_OWNER = "run this as the owner of the folder"
REFUSAL = (
    "the database on PostgreSQL is not empty: to move a home there, make a new one (`createdb`) and name it in "
    "AS2_DATABASE_URL; to go back to a dump of it, use pg_restore, and put the copy of the home in place of the "
    "present one, without the folder index: a job takes what it meets in its folder below jobs for its own"
)


class NoBackup(As2Error):
    """The backup could not be written or read."""


@dataclass(frozen=True, slots=True)
class BackupView:
    """`created`: when it was written. `files` and `bytes` are without the database's."""

    file: str
    created: datetime
    files: int
    bytes: int


def back_up(wb: Workbench, file: Path, on_progress: OnProgress | None = None) -> BackupView:
    """Write the home to a new file, which appears as a whole. Raises BadSetting for a PostgreSQL database or a file
    that exists, NoBackup for a full disk and the like."""
    if not wb.database.sqlite:
        u = wb.database.url
        url = URL.create("postgresql", u.username, None, u.host, u.port, u.database, u.query)
        raise BadSetting(
            "the database is on PostgreSQL, which has its own tool: "
            f'`pg_dump --format=custom --file=as2.dump "{url}"`; '
            f"then copy {wb.settings.home} without the folder index, whose content is derived from the rest"
        )
    file = Path(file).expanduser().absolute()
    if file.exists():
        raise BadSetting(f"{file} exists already: give a new name")
    try:
        with make_folder(wb.settings.home, file.parent) as folder:
            copy, part = folder / DATABASE, folder / PART
            write_copy(Path(str(wb.database.url.database)), copy, on_progress)
            with part.open("wb") as out:
                view = _write(wb, out, copy, file, on_progress)
            part.replace(file)
        audit.write(wb, None, "write a backup", file.name, str(file))
        return view
    except (OSError, sqlite3.Error, tarfile.TarError) as e:
        raise NoBackup(f"{file} could not be written ({_name_reason(e)})") from e


def _write(
    wb: Workbench, out: io.BufferedWriter, database: Path, file: Path, on_progress: OnProgress | None
) -> BackupView:
    now, count, size = wb.clock(), 0, 0
    manifest = {"format": FORMAT, "program": as2core.__version__, "created": now.isoformat()}
    with tarfile.open(fileobj=out, mode="w") as archive:
        content = json.dumps(manifest).encode()
        info = tarfile.TarInfo(MANIFEST)
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
        archive.add(database, DATABASE)
        for path, name in _list_files(wb.settings):
            with suppress(FileNotFoundError):  # a job or a version that was deleted meanwhile
                size += path.stat().st_size
                archive.add(path, name, recursive=False)
                count += 1
            if on_progress:
                on_progress(Progress(0, 0, name))
    return BackupView(str(file), now, count, size)


def _list_files(settings: Settings) -> Iterator[tuple[Path, str]]:
    for folder in FOLDERS:
        for path in sorted((settings.home / folder).rglob("*")):
            inside = path.relative_to(settings.home)
            is_partial = any(p.startswith(".") for p in inside.parts)  # what is being written now
            is_checkpoint = folder == JOBS and any(p.startswith(CHECKPOINT) for p in inside.parts)
            if path.is_file() and not path.is_symlink() and not is_partial and not is_checkpoint:
                yield path, inside.as_posix()
    for file in (*settings.home.glob(MARKS), *(settings.home / name for name in FILES)):
        if file.is_file():
            yield file, file.name


def restore(settings: Settings, file: Path, on_progress: OnProgress | None = None) -> BackupView:
    """Put a home back as it was when the backup was written; the present database is kept beside it as
    `as2.db.before-restore`, or that with a number. One on PostgreSQL has to be empty, and is filled. Nothing
    is changed unless the backup is whole, fits this program and has room on the disk. Versions that the backup does not
    know stay in their folder, as do jobs, and no job's number is given again.

    Raises UnreadableFile for what is no backup, BadSetting for a PostgreSQL database with rows or while a job runs,
    NoBackup, AlreadyRunning during another restore, or IndexUnavailable where the index server does not answer.
    """
    database = _find_replaceable(settings)
    try:
        prepare_home(settings)
        with (
            _make_restore_folder(settings.home) as folder,
            closing(open_indexes(settings)) as indexes,
        ):
            view = _unpack(Path(file), Path(folder), on_progress)
            copy = Path(folder) / DATABASE
            _check_database(copy, file)
            corpus_ids = _list_corpora(copy) | (_list_corpora(database) if database else set())
            former = [i for i in sorted(corpus_ids) if indexes.exists(i)]  # a server that is down ends it here

            def finish_copy() -> None:
                raise_job_counter(settings, copy)
                _finish_copy(copy, view, list_blocked(database) if database else None)

            def replace_folders() -> None:
                for corpus_id in former:  # of other documents; built anew by the next question
                    indexes.delete(corpus_id)
                shutil.rmtree(settings.index_dir, ignore_errors=True)
                empty_unfinished(settings, copy)
                _replace_folders(settings, Path(folder))

            if database is None:
                finish_copy()
                _fill_server(settings, copy, replace_folders, on_progress)
            else:
                _check_room(database, copy)
                put_in_place(database, copy, finish_copy, replace_folders)
    except (OSError, sqlite3.Error) as e:
        raise NoBackup(f"{file} could not be restored ({_name_reason(e)})") from e
    return view


@contextmanager
def _make_restore_folder(home: Path) -> Iterator[str]:
    """To unpack into, of one restore at a time. Raises AlreadyRunning."""
    with hold_lock(home / LOCK, f"another restore into {home} is under way: wait until it ends"):
        for left in home.glob(f"{UNPACKED}*"):  # of a restore that was killed
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(prefix=UNPACKED, dir=home) as folder:
            yield folder


def _find_replaceable(settings: Settings) -> Path | None:
    """The database, if a restore may replace it now; None for an empty one on PostgreSQL. Raises BadSetting, NoBackup
    for a home of somebody else."""
    if (database := settings.database_file) is None:
        _check_server(settings)
    if owner := name_other_owner(settings.home):
        raise NoBackup(f"{settings.home} belongs to {owner}, who could not read what root restores: {AS_OWNER}")
    if database is None:
        return None
    try:
        has_worker = settings.home.is_dir() and is_running(settings)
    except sqlite3.Error as e:  # its lock is a file of the home
        raise NoBackup(f"{settings.home} cannot be written ({e}): {AS_OWNER}") from e
    if has_worker and _has_running_job(database):
        raise BadSetting("a job runs, and would write into the restored home: cancel it, or wait (`as2 jobs`)")
    return database


def _check_server(settings: Settings) -> None:
    """Raises BadSetting where the database on PostgreSQL has rows."""
    with translate_errors(), closing(open_database(settings.database)) as server, server.read() as s:
        if not is_empty(s):
            raise BadSetting(REFUSAL)


def _fill_server(
    settings: Settings, copy: Path, replace_folders: Callable[[], None], on_progress: OnProgress | None
) -> None:
    """All or nothing, as the folders are replaced before it is committed."""
    with translate_errors(), closing(open_database(settings.database)) as server:
        copy_rows(copy, server, replace_folders, on_progress)


def _list_corpora(database: Path) -> set[int]:
    """Their ids; none where the database cannot say."""
    with suppress(sqlite3.Error), closing(open_to_read(database)) as connection:
        return {i for (i,) in connection.execute("SELECT id FROM corpus")}
    return set()


def _has_running_job(database: Path) -> bool:
    """False also where the database cannot say."""
    with suppress(sqlite3.Error), closing(open_to_read(database)) as connection:
        return bool(connection.execute("SELECT 1 FROM job WHERE state = 'running'").fetchone())
    return False


def check_restore(settings: Settings, file: Path) -> None:
    """Before somebody is asked whether to restore it: reads what the file holds, but not the database. Raises as
    `restore`."""
    _find_replaceable(settings)
    try:
        with _open_backup(file) as (archive, _):
            names = [member.name for member in _list_members(archive)]
            if DATABASE not in names:
                raise UnreadableFile("it holds no database")
    except OSError as e:
        raise NoBackup(f"{file} could not be read ({_name_reason(e)})") from e


def _name_reason(error: Exception) -> str:
    if is_disk_full(error):
        return FULL_DISK
    return getattr(error, "strerror", None) or str(error)


def _unpack(file: Path, folder: Path, on_progress: OnProgress | None) -> BackupView:
    count = size = 0
    with _open_backup(file) as (archive, created):
        for member in _list_members(archive):
            _extract(archive, member, folder / member.name)
            if member.name != DATABASE:
                count, size = count + 1, size + member.size
            if on_progress:
                on_progress(Progress(0, 0, member.name))
        if not (folder / DATABASE).is_file():
            raise UnreadableFile("it holds no database")
    return BackupView(str(file), created, count, size)


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    """The content alone, of a member that was checked. `tarfile` has its filters only from Python 3.11.4 on, and Debian
    12 has 3.11.2."""
    target.parent.mkdir(parents=True, exist_ok=True)
    content = archive.extractfile(member)
    assert content is not None  # nosec B101: it is a file
    with content, target.open("wb") as file:
        shutil.copyfileobj(content, file)


@contextmanager
def _open_backup(file: Path) -> Iterator[tuple[tarfile.TarFile, datetime]]:
    """The archive behind its manifest, and when it was written. Raises UnreadableFile for what is no backup."""
    try:
        with tarfile.open(file, "r:") as archive:
            manifest = _read_manifest(archive, archive.next())
            yield archive, datetime.fromisoformat(manifest["created"]).astimezone(UTC)
    except (tarfile.TarError, EOFError, ValueError, KeyError, TypeError, UnreadableFile) as e:
        raise UnreadableFile(f"{file} is no backup of a home ({e}): give a file that `as2 backup` wrote") from e


def _list_members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    for member in archive:
        if member.name != MANIFEST:
            _check_member(member)
            yield member


def _read_manifest(archive: tarfile.TarFile, member: tarfile.TarInfo | None) -> dict[str, str]:
    content = archive.extractfile(member) if member is not None and member.name == MANIFEST else None
    if content is None:
        raise UnreadableFile("it does not begin with a manifest")
    manifest = json.loads(content.read(MAX_MANIFEST_BYTES))
    if manifest["format"] not in (FORMAT, *OLDER_FORMATS):
        raise UnreadableFile(f"its format is {manifest['format']!r}, this program reads {FORMAT}")
    return manifest


def _check_member(member: tarfile.TarInfo) -> None:
    """Raises UnreadableFile for a name that no backup has."""
    path = PurePosixPath(member.name)
    is_mark = len(path.parts) == 1 and path.match(MARKS)
    is_known = path.parts[:1] in [(folder,) for folder in FOLDERS] or member.name in (DATABASE, *FILES) or is_mark
    if not is_known or not member.isfile() or ".." in path.parts:
        raise UnreadableFile(f"it holds {member.name!r}")


def _check_database(file: Path, backup: Path) -> None:
    """Migrate the copy to this program. Raises UnreadableFile for a damaged one, DatabaseTrouble for a newer one."""
    with closing(sqlite3.connect(file)) as connection:
        if connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
            raise UnreadableFile(f"{backup}: its database is damaged")
    with translate_errors():
        open_database(to_sqlite_url(file)).close()


def _finish_copy(copy: Path, view: BackupView, blocked: list[tuple[str, str | None]] | None) -> None:
    """Keep out who is out, have the indexes built anew, and record the restore in the audit log that is put back: what
    came after the backup is missing there. `blocked` is None where no database is replaced."""
    now = datetime.now(UTC)
    with translate_errors(), closing(open_database(to_sqlite_url(copy))) as database:
        names = keep_out(database, blocked or [], now)
        remark = "an empty database on PostgreSQL is filled"
        if blocked is not None:
            remark = "the database before, with its audit log, is kept beside"
        detail = f"written {view.created:%Y-%m-%d %H:%M} UTC; {remark}"
        stay = f"; still blocked: {', '.join(names)}" if names else ""
        with database.write() as s:
            for corpus in corpora.list_corpora(s):  # an index that a running app has made anew meanwhile is empty
                document_rows.mark_all_unindexed(s, corpus.id)
            audit.record(s, now, None, "restore a backup", Path(view.file).name, detail + stay)


def _replace_folders(settings: Settings, folder: Path) -> None:
    """Each version, job and gate as in the backup; others stay. A key that is there stays as it is: it may be revoked
    since."""
    for kind in FOLDERS:
        for path in sorted((folder / kind).rglob("*")):
            target = settings.home / path.relative_to(folder)
            if path.is_file() and not (kind == KEYS and target.exists()):
                target.parent.mkdir(parents=True, exist_ok=True)
                path.replace(target)
    for mark in settings.home.glob(MARKS):
        mark.unlink()
    for file in (*folder.glob(MARKS), *(folder / name for name in FILES)):
        if file.is_file():
            file.replace(settings.home / file.name)


def _check_room(database: Path, copy: Path) -> None:
    """Raises NoBackup where the disk could fill up halfway. What is restored is written twice, to SQLite's log and then
    to the file, and the present database is copied."""
    database.parent.mkdir(parents=True, exist_ok=True)
    present = [database.with_name(database.name + suffix) for suffix in SUFFIXES]
    need = 2 * copy.stat().st_size + sum(path.stat().st_size for path in present if path.is_file())
    if (free := shutil.disk_usage(database.parent).free) < need:
        raise NoBackup(
            f"the restore needs {need / 1e6:,.0f} MB more for a moment, and {free / 1e6:,.0f} MB are free in "
            f"{database.parent}: nothing was restored; free some space and try again"
        )
