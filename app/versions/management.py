"""Looking after versions: rename, note, delete, export, import.

A version's name is in the database; its directory keeps the name it was made under, so that renaming is one write. An
imported one's has a random part.
"""

import re
import secrets
import shutil
from pathlib import Path

from sqlalchemy.orm import Session

from app.jobs.kinds import JobKind
from app.jobs.process import start_worker_if_needed
from app.versions import registry
from app.versions.directory import delete_unfinished, flatten_metrics
from app.versions.promotion import rescore_queues
from app.versions.registry import UnknownVersion, VersionView
from app.versions.startup import is_in_home
from app.workbench import audit, people
from app.workbench.workbench import Workbench, make_storable
from as2core.errors import As2Error, BadSetting
from as2core.evaluation.training_record import read_saved_parts
from as2core.export import export_ranker, import_ranker
from as2core.rankers.catalog import CATALOG
from as2core.rankers.versions import Card, find_weights, save_version
from db.models import ModelVersion
from db.repositories import jobs as job_rows
from db.repositories import versions as rows

SIDES = {"": "metrics", "before ": "before"}  # prefix of a row's figures -> where the card has them
MAX_NAME_CHARS, MAX_NOTE_CHARS = 60, 300
NAME = re.compile(rf"\w[\w .-]{{0,{MAX_NAME_CHARS - 1}}}")


class InUse(As2Error):
    """A version that is active, or that others depend on, cannot be deleted."""


def is_shipped(wb: Workbench, version: VersionView | ModelVersion) -> bool:
    """Whether it came with the program, in use or not: such a version keeps its name and its place."""
    return version.state == "shipped" or Path(version.path).parent == wb.settings.models_dir


def rename(wb: Workbench, name: str, new: str, *, by: int | None = None) -> VersionView:
    """Versions made from it and jobs that name it follow. Raises UnknownVersion, BadSetting for a name that is taken or
    not allowed, or NotAllowed for a viewer."""
    new = _check_name(new)
    before = registry.get_version(wb, name)
    if is_shipped(wb, before):
        raise BadSetting(f"{before.name} is shipped with the program: it keeps its name")
    renames = wb.list_renames()
    with wb.write() as s:
        people.allow(s, by, "rename a version")
        if new == before.name:
            return before
        _check_free(s, new)
        rows.rename_version(s, before.id, new)
        for kind, rename_in in renames.items():
            for job in job_rows.list_jobs(s, kind):
                rename_in(job, before.name, new)
        audit.record(s, wb.clock(), by, "rename a version", new, f"from {before.name}")
    return registry.get_version(wb, new)


def _check_name(name: str) -> str:
    name = " ".join(make_storable(name).split())
    if name == "active":
        raise BadSetting("'active' stands for the version in use and cannot be a version's name: choose another")
    if not NAME.fullmatch(name):
        limits = f"take up to {MAX_NAME_CHARS} letters, digits, spaces, dots and dashes"
        raise BadSetting(f"{name!r} cannot be a version's name: {limits}")
    if name in CATALOG:
        raise BadSetting(f"{name!r} is the name of a ranker of the catalog: choose another")
    return name


def _check_free(s: Session, name: str) -> None:
    rows.lock_names(s)
    if rows.find_version(s, name=name) is not None:
        raise BadSetting(f"there is a version {name!r} already: choose another name")


def set_note(wb: Workbench, name: str, note: str, *, by: int | None = None) -> VersionView:
    """Raises UnknownVersion, BadSetting for a note that is too long, or NotAllowed for a viewer."""
    note = tidy_version_note(note)
    view = registry.get_version(wb, name)
    with wb.write() as s:
        people.allow(s, by, "annotate a version")
        row = s.get_one(ModelVersion, view.id)
        if row.note != note:
            audit.record(s, wb.clock(), by, "annotate a version", row.name, note or "the note was removed")
        row.note = note
    return registry.get_version(wb, view.name)


def tidy_version_note(note: str) -> str:
    """Raises BadSetting."""
    note = make_storable(note).strip()
    if len(note) > MAX_NOTE_CHARS:
        raise BadSetting(f"a version's note has at most {MAX_NOTE_CHARS} characters, not {len(note)}: shorten it")
    return note


def delete(wb: Workbench, name: str, *, by: int | None = None) -> None:
    """The row, its promotions with their reasons, its scores, and its directory if that is in this home. Raises
    UnknownVersion, NotAllowed for a viewer, or InUse for one that is active, is shipped, was promoted with a reason
    although it was worse than its parent, is a parent, is part of a fusion, or is being retrained from."""
    view = registry.get_version(wb, name)
    with wb.write() as s:  # checked and deleted in one transaction: nobody promotes it in between
        people.allow(s, by, "delete a version")
        row = s.get(ModelVersion, view.id, with_for_update=True)
        if row is None:
            raise UnknownVersion(f"{view.name} is deleted already")
        if reason := _find_use(s, wb, row):
            raise InUse(f"{row.name} cannot be deleted: {reason}")
        s.delete(row)
        audit.record(s, wb.clock(), by, "delete a version", row.name)
        rescore_queues(s, view.kind, wb.clock())
    start_worker_if_needed(wb)
    if is_in_home(wb, Path(view.path)):
        shutil.rmtree(view.path, ignore_errors=True)


def _find_use(s: Session, wb: Workbench, row: ModelVersion) -> str:
    """Why a version has to stay, "" if it can be deleted."""
    versions = rows.list_versions(s)
    if row is rows.find_active(s, row.kind):
        return "it is in use; promote another version or roll back first"
    if is_shipped(wb, row):
        return "it is shipped with the program"
    change = registry.compare_row(row)
    if change and change.is_worse and (reasons := rows.list_promotion_reasons(s, [row.id])):
        return f"it was promoted although it was worse, and the reason is kept with it ({reasons[row.id][-1][0]!r})"
    if children := [v.name for v in versions if v.parent == row.name]:
        return f"{', '.join(children)} was made from it"
    if fusions := [v.name for v in versions if v.kind == "fusion" and row.path in read_saved_parts(Path(v.path))]:
        return f"the fusion {', '.join(fusions)} is made of it"
    retrains = [j.id for j in job_rows.list_active_jobs(s, JobKind.RETRAIN) if j.settings.get("base") == row.name]
    return f"job {retrains[0]} is retraining from it" if retrains else ""


def export(
    wb: Workbench, name: str, to: str, folder: Path, *, depth: int | None = None, by: int | None = None
) -> list[Path]:
    """Write a version for other programs: `to` is a format of `as2core.export`, `depth` as `export_ranker` takes it,
    `by` None is the command line. Raises UnknownVersion, BadSetting for an unknown format, a ranker the format cannot
    hold, a layer without an exit, or a folder that is not empty, NotAllowed for somebody who is blocked."""
    view = registry.get_version(wb, name)
    with wb.read() as s:
        people.allow(s, by, "export a version", people.VIEWER)
    card = registry.load_card(wb, view.name)
    path = Path(view.path)
    files = export_ranker(wb.models.version(path), to, folder, card=card, depth=depth, version=path)
    audit.write(wb, by, "export a version", view.name, to)
    return files


def import_version(
    wb: Workbench, folder: Path, *, name: str | None = None, source: str = "", by: int | None = None
) -> VersionView:
    """Import a version from a directory: one of ours, or what `export` wrote. It becomes a candidate, below its parent
    where its card says so. `source` is what its card gives as its origin, the folder by default.

    Raises DamagedModel, BadSetting for a name that is taken or not allowed, or a directory that holds no version;
    NotAllowed for a viewer.
    """
    name = _check_name(name or Path(folder).resolve().name)
    with wb.write() as s:
        people.allow(s, by, "import a version")
        _check_free(s, name)
    delete_unfinished(wb.settings.versions_dir, wb.clock().timestamp())
    ranker, card = import_ranker(Path(folder))
    folder_name = f"{name}-{secrets.token_hex(4)}"  # of this import alone: somebody may take the same name meanwhile
    path = wb.settings.versions_dir / registry.IMPORTS_FOLDER / folder_name
    try:
        card_here = {**card, "imported_from": source or str(folder)}
        save_version(ranker, path, card_here, weights=find_weights(Path(folder)))
        _register(wb, name, path, card, source or str(folder), by)
    except BaseException:  # a failed import leaves nothing
        shutil.rmtree(path, ignore_errors=True)
        raise
    return registry.get_version(wb, name)


def _register(wb: Workbench, name: str, path: Path, card: Card, source: str, by: int | None) -> None:
    parent = str(card.get("parent") or "")
    metrics = {side + k: v for side, key in SIDES.items() for k, v in flatten_metrics(card.get(key)).items()}
    with wb.write() as s:
        _check_free(s, name)  # somebody may have taken it meanwhile
        known_parent = parent if rows.find_version(s, name=parent) is not None else None
        note = make_storable(str(card.get("note", "")))[:MAX_NOTE_CHARS]
        registry.add_candidate(s, wb, name, path, parent=known_parent, note=note, metrics=metrics)
        audit.record(s, wb.clock(), by, "import a version", name, f"from {source}")
