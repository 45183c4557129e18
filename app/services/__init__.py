"""Use cases: the only place that knows both the database and as2core. Pages and commands call nothing else.

wb = open()
corpora.ensure_starter(wb)
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from app.services.models import LoadedModels, ModelProvider
from app.services.workbench import DatabaseTrouble, Workbench, said_plainly, utc_now
from app.settings import Settings, get_settings

__all__ = ["DatabaseTrouble", "Workbench", "open"]


def open(
    settings: Settings | None = None,
    models: ModelProvider | None = None,
    clock: Callable[[], datetime] = utc_now,
) -> Workbench:
    """Open what the settings name: migrates the database, finds versions that were moved, registers the shipped ones.

    Raises As2Error when home or database cannot be used.
    """
    from app.services import version_care, versions
    from db.session import open_database

    settings = settings or get_settings()
    with said_plainly():
        try:
            settings.home.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise DatabaseTrouble(f"cannot make the folder {settings.home}: {e.strerror}; set AS2_HOME") from e
        database = open_database(settings.database)
    wb = Workbench(
        settings,
        database,
        models or LoadedModels(settings.models_dir, settings.engine, settings.graphs_dir, settings.passages_file),
        clock,
    )
    version_care.follow_home(wb)
    versions.register_shipped(wb)
    return wb
