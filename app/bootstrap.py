"""Opening the workbench: settings, database with its migrations, the versions in the home."""

import logging
import sqlite3
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from app.jobs.kinds import JobKind
from app.jobs.process import IDLE_SECONDS, LOCK_SECONDS, AlreadyRunning, hold_worker_lock
from app.upkeep.database_copy import keep_before_migration
from app.upkeep.job_numbers import raise_job_counter
from app.versions import startup
from app.workbench.home import prepare_home
from app.workbench.indexes import open_indexes
from app.workbench.models import LoadedModels, ModelProvider
from app.workbench.people import note_login
from app.workbench.settings import Settings, get_settings
from app.workbench.workbench import DatabaseTrouble, Rename, Workbench, translate_errors, utc_now
from as2core.system.telemetry import remove_queue
from db.session import Database, open_database

__all__ = ["DatabaseTrouble", "Workbench", "open"]
log = logging.getLogger(__name__)


def open(
    settings: Settings | None = None,
    models: ModelProvider | None = None,
    clock: Callable[[], datetime] = utc_now,
) -> Workbench:
    """Open what the settings name: migrates the database, finds versions that were moved, registers the shipped ones.
    Deletes the telemetry events of ONNX Runtime that earlier releases left in the user's cache folder.

    Raises As2Error when home or database cannot be used.
    """
    settings = settings or get_settings()
    remove_queue()
    with translate_errors():
        try:
            prepare_home(settings)
        except OSError as e:
            raise _explain_folder(e, settings) from e
        database = _open_database(settings)
    models = models or LoadedModels.from_settings(settings)
    wb = Workbench(settings, database, models, open_indexes(settings), clock, list_renames=list_renames)
    note_login(wb)
    startup.update_paths(wb)
    startup.register_shipped(wb)
    return wb


def _explain_folder(error: OSError, settings: Settings) -> DatabaseTrouble:
    path, home = Path(error.filename), settings.home
    is_of_home = path.is_relative_to(home) or home.is_relative_to(path)  # or a folder that it lies in
    variable = "AS2_HOME" if settings.local_dir is None or is_of_home else "AS2_LOCAL_DIR"
    owner = "run this as the owner of the folder, or " if isinstance(error, PermissionError) else ""
    reason = "it is a file" if path.is_file() else error.strerror
    return DatabaseTrouble(f"cannot use the folder {path}: {reason}; {owner}set {variable}")


def _open_database(settings: Settings) -> Database:
    """A new one in a home whose former database is gone does not give that one's jobs' numbers again."""
    file = settings.database_file
    is_new = file is not None and not (file.is_file() and file.stat().st_size)
    database = open_database(settings.database, before_migration=lambda: _prepare_migration(settings))
    if file is not None and is_new and raise_job_counter(settings, file):
        log.warning(
            "%s is new, but this home has jobs or versions of another database: if that was lost, put it back or "
            "restore a backup (`as2 restore FILE`)",
            file,
        )
    return database


def _prepare_migration(settings: Settings) -> None:
    """Raises DatabaseTrouble where there must be none. An earlier release, to which one goes back, cannot read what is
    migrated: it is kept as it was, on SQLite, where the disk has room for it."""
    _refuse_beside_worker(settings)
    if file := settings.database_file:
        try:
            keep_before_migration(file)
        except (OSError, sqlite3.Error) as e:
            log.warning("no copy of %s was kept before its migration: %s", file, e)


def _refuse_beside_worker(settings: Settings) -> None:
    """A worker that runs while the database is migrated is of an earlier release: it would run jobs on tables and with
    modules that it does not know, and keep this release's worker from starting. Raises DatabaseTrouble."""
    try:
        with hold_worker_lock(settings, wait_seconds=LOCK_SECONDS):
            pass
    except AlreadyRunning as e:
        raise DatabaseTrouble(
            f"a worker of an earlier release still runs for {settings.home}, so the database was not migrated: stop "
            "that release's app and worker, and start this one again. A worker without jobs ends by itself within "
            f"{IDLE_SECONDS // 60} minutes of that app's end"
        ) from e


def list_renames() -> Mapping[str, Rename]:
    """Kind of job -> how its jobs follow a version's new name. Imported when one is renamed, since every
    command opens a workbench."""
    from app.adapt import settings as retrain
    from app.compare import comparison, deciding, promotions

    return {
        JobKind.RETRAIN: retrain.rename_version,
        JobKind.COMPARE: comparison.rename_version,
        JobKind.DECIDE: deciding.rename_version,
        promotions.KIND: promotions.rename_version,
    }
