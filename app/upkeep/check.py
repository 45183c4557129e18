"""Whether a home is sound: database, indexes, versions, queue and disk, and what to do where it is not."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.corpora import corpora
from app.corpora.indexing import find_gap
from app.jobs import queue, supervisor
from app.jobs.process import KILLED, is_running, may_start, read_failure
from app.upkeep.backup import UNPACKED
from app.upkeep.backup_folder import list_abandoned
from app.versions import registry
from app.versions.directory import UNFINISHED_SECONDS, find_problem, list_unfinished
from app.versions.management import is_shipped
from app.versions.startup import is_in_home, name_in_home
from app.workbench.settings import Settings
from app.workbench.workbench import DatabaseDamage, Workbench, translate_errors
from as2core.errors import As2Error
from as2core.rankers.versions import CONFIG, WEIGHTS, read_card, read_kind
from as2core.retrieval.index import DamagedIndex
from as2core.system.files import sha256
from db.repositories.integrity import find_damage, find_stuck_transaction

LOW_DISK_BYTES = 1_000_000_000
RESTORE = "stop the app and restore a backup (`as2 restore FILE`)"
IDLE_SECONDS, WAIT_SECONDS = 60.0, 2.0  # that a transaction may do nothing, or others wait for it, unnamed
END_TRANSACTION = (
    "if it does not end by itself, end the program that has it, or in psql, as the same user: "
    "SELECT pg_terminate_backend(NUMBER)"
)
CORRECT = "correct this, and run `as2 check` again"
CORRECT_MODELS = "correct AS2_MODELS_DIR, or install the program again"


@dataclass(frozen=True, slots=True)
class Finding:
    """A part of the home. `problem` is empty where it is sound; then so is `remedy`."""

    part: str
    problem: str = ""
    remedy: str = ""


def check_home(wb: Workbench) -> list[Finding]:
    """Every part, in the order in which to mend them. Reads all of the database and the indexes."""
    return [
        *check_disk(wb.settings),
        *_check_database(wb),
        *_check_versions(wb),
        *_check_folders(wb),
        *_check_indexes(wb),
        *_check_queue(wb),
    ]


def check_disk(settings: Settings) -> Iterator[Finding]:
    free = shutil.disk_usage(settings.home).free
    few = f"{free / 1e6:,.0f} MB free for {settings.home}"
    yield Finding("disk", few, "free some space") if free < LOW_DISK_BYTES else Finding("disk")


def _check_database(wb: Workbench) -> Iterator[Finding]:
    try:
        with wb.read() as s:
            problem = find_damage(s)
            stuck = find_stuck_transaction(s, idle_seconds=IDLE_SECONDS, wait_seconds=WAIT_SECONDS)
    except As2Error as e:
        if not wb.database.sqlite:  # a server that cannot be reached: nothing else can be looked at
            raise
        yield _describe_trouble(e)
        return
    yield Finding("database", problem, RESTORE) if problem else Finding("database")
    if stuck:
        yield Finding("database", stuck, END_TRANSACTION)


def _check_versions(wb: Workbench) -> Iterator[Finding]:
    versions = registry.list_versions(wb, None)
    for version in versions:
        part, path = f"version {version.name}", Path(version.path)
        problem = version.problem or _find_damage(path)
        if is_shipped(wb, version):
            remedy = "install the program again, or `git checkout -- models` in a clone"
        elif not problem and not is_in_home(wb, path):
            if (here := name_in_home(wb, version.path)) == path:  # it came with a program, which is elsewhere now
                problem, remedy = f"its directory {path} is not in {wb.settings.models_dir}", CORRECT_MODELS
            else:  # of the home that this one was copied from
                problem = f"its directory {path} is outside this home, and in no backup of it"
                remedy = f"copy it to {here}"
        else:
            what = "restore a backup, or promote another version" if version.state == "active" else "delete it"
            remedy = f"{what} (`as2 versions`)"
        yield Finding(part, problem, remedy) if problem else Finding(part)
    for kind in registry.ANSWERING:
        if kind not in {v.kind for v in versions}:
            problem = f"there is none in {wb.settings.models_dir}"
            yield Finding(f"version {kind}", problem, CORRECT_MODELS)


def _check_folders(wb: Workbench) -> Iterator[Finding]:
    """Directories of no version: left by an import that was killed, or of a version that came after the backup that was
    restored, or before a database that was lost; not those that may still be written. And what was left where a
    version, a backup or a restore was killed."""
    in_use = {Path(v.path) for v in registry.list_versions(wb, None)}
    before = wb.clock().timestamp() - UNFINISHED_SECONDS
    imports = wb.settings.versions_dir / registry.IMPORTS_FOLDER
    for folder in sorted([*wb.settings.versions_dir.glob("[!.@]*"), *imports.glob("[!.]*")]):
        if folder.is_dir() and folder not in in_use and folder.stat().st_mtime < before:
            remedy = "delete the folder"
            if not find_problem(folder):
                remedy = f"to keep it, `as2 versions import '{folder}'`, which makes a copy; then delete the folder"
            yield Finding("versions", f"{folder} belongs to no version in the database", remedy)
    for folder in list_unfinished(wb.settings.versions_dir, wb.clock().timestamp()):
        problem = f"{folder} is of a version whose making was interrupted"
        yield Finding("versions", problem, "delete the folder, or leave it to the next retrain or import")
    for _, folder in list_abandoned(wb.settings.home):
        if folder.exists():
            problem = f"{folder} is of a backup that was killed"
            yield Finding("backup", problem, "delete the folder, or leave it to the next `as2 backup`")
    for folder in wb.settings.home.glob(f"{UNPACKED}*"):
        remedy = "if none runs, restore the backup again, as files may be replaced and the database not; or delete this"
        yield Finding("restore", f"{folder} is of a restore that runs or was killed", remedy)


def _find_damage(folder: Path) -> str:
    """What differs from the version's card; "" if nothing does."""
    try:
        card, _ = read_card(folder), read_kind(folder)
        for file, key in ((WEIGHTS, "sha256"), (CONFIG, "config_sha256")):
            if key in card and sha256(folder / file) != card[key]:
                return f"{file} is not the one that its card describes"
    except (As2Error, OSError) as e:
        return str(e)
    return ""


def _check_indexes(wb: Workbench) -> Iterator[Finding]:
    for corpus in corpora.list_corpora(wb):
        part = f"index of {corpus.name}"
        remedy = f"`as2 reindex --corpus {corpus.name!r}`; the next question does it by itself"
        if not corpus.documents:
            continue
        if not wb.has_index(corpus.id):
            yield Finding(part, "it is not there", remedy)
            continue
        try:
            problem = wb.index(corpus.id).find_damage()
            if not problem and (problem := find_gap(wb, corpus.id)):
                remedy = f"`as2 reindex --corpus {corpus.name!r}`"
        except DamagedIndex as e:
            problem = str(e)
        except As2Error as e:
            problem, remedy = str(e), CORRECT
        yield Finding(part, problem, remedy) if problem else Finding(part)


def _check_queue(wb: Workbench) -> Iterator[Finding]:
    failure = read_failure(wb.settings)
    waiting = [j for j in queue.list_active(wb) if j.state == "queued" and not j.paused]
    unknown = [j for j in queue.list_active(wb) if j.kind not in queue.PRIORITIES]
    if failure is not None and (waiting or not may_start(wb.settings)):  # else it is over: the next one is not needed
        of_memory = "if it was the memory, free some, or give the machine more"
        remedy = of_memory if failure.code == KILLED else f"read the end of {wb.settings.worker_log}"
        yield Finding("worker", failure.describe(wb.settings), remedy)
    elif waiting and wb.settings.worker == "external" and not is_running(wb.settings):
        yield Finding("worker", f"{len(waiting)} jobs wait and no worker runs here", "start `as2 worker`")
    else:
        yield Finding("worker")
    if unknown:
        yield Finding("jobs", f"job {unknown[0].id} is of the unknown kind {unknown[0].kind!r}", "cancel it")
    elif silent := supervisor.list_silent(wb):
        problem = f"job {silent[0].id} ({silent[0].kind}) was running, and its worker is gone"
        yield Finding("jobs", problem, "start the app or `as2 worker`: the job goes on from there")
    else:
        yield Finding("jobs")


def check_closed(settings: Settings, error: As2Error) -> list[Finding]:
    """What can be said of a home that could not be opened."""
    with translate_errors():
        findings = list(check_disk(settings)) if settings.home.is_dir() else []
    return [*findings, _describe_trouble(error)]


def _describe_trouble(error: As2Error) -> Finding:
    """A database that may be whole (the disk is full, or cannot be written) is not to be replaced by an older one."""
    return Finding("database", str(error), RESTORE if isinstance(error, DatabaseDamage) else CORRECT)
