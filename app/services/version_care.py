"""Looking after versions: naming, notes, deleting, taking them out and in, and finding them in a home that was moved.

A version's name is the database's; its directory keeps the name it was made under, so that renaming is one write.
"""

from __future__ import annotations

import json
import logging
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from sqlalchemy.orm import Session

from app.services import people, versions
from app.services.versions import UnknownVersion
from app.services.views import VersionView
from app.services.workbench import Workbench, storable
from as2core.errors import As2Error, BadSetting, DamagedModel
from db.models import Job, ModelVersion
from db.repositories import versions as rows

log = logging.getLogger(__name__)

IMPORTED = "@imported"  # a folder of their own, which no version's name can be: none is where a retrain keeps its own
SIDES = {"": "metrics", "before ": "before"}  # what a row's figures begin with -> where the card has them
NAME = re.compile(r"[\w][\w .-]{0,59}")


class InUse(As2Error):
    """A version that others stand on, or that answers, cannot go."""


def follow_home(wb: Workbench) -> None:
    """Have versions found where they are now, also by the fusions made of them and the retrains that may still run:
    what is stored says where they were before the home was copied, or it or the program was moved."""
    with wb.read() as s:
        if not _moved(wb, rows.versions(s)):
            return
    from as2core.rankers.versions import point_anew  # torch: before others have to wait with what they write

    with wb.write() as s:
        everything = rows.versions(s)
        moved = _moved(wb, everything)
        for row in everything:
            row.path = moved.get(row.path, row.path)
        _point_anew(rows.retrains_not_done(s), moved)
        for path in (Path(v.path) for v in everything if v.kind == "fusion"):
            try:
                if _is_here(wb, path):
                    point_anew(path, moved)
            except DamagedModel as e:  # as whoever uses it is told
                log.warning("its rankers are named as before: %s", e)


def _moved(wb: Workbench, everything: Sequence[ModelVersion]) -> dict[str, str]:
    """Where versions were, as their rows have it -> where they are, of those that are elsewhere now."""
    now = {v.path: _shipped_now(wb, v) if v.state == "shipped" else in_this_home(wb, v.path) for v in everything}
    return {then: where for then, where in now.items() if then != where}


def _shipped_now(wb: Workbench, row: ModelVersion) -> str:
    here = wb.settings.models_dir / row.name
    return str(here) if here.is_dir() else row.path


def in_this_home(wb: Workbench, path: str) -> str:
    """The directory of a version made here, which may be stored as that of the home this one was; `path` itself where
    none of its name is here."""
    folder = wb.settings.versions_dir
    here = folder / path.rpartition(f"/{folder.name}/")[2]
    return str(here) if here.is_dir() else path


def _point_anew(retrains: Sequence[Job], moved: Mapping[str, str]) -> None:
    from as2core.rankers.specs import pointed_anew

    for job in retrains:
        if base := job.settings.get("base"):
            job.settings = {**job.settings, "base": pointed_anew(base, moved)}


def _is_here(wb: Workbench, path: Path) -> bool:
    """Whether a directory is this home's, not that of the home it was copied from."""
    return wb.settings.versions_dir.resolve() in path.resolve().parents


def is_shipped(wb: Workbench, version: VersionView | ModelVersion) -> bool:
    """Whether it came with the program, in use or not: such a one keeps its name and its place."""
    return version.state == "shipped" or Path(version.path).parent == wb.settings.models_dir


def rename(wb: Workbench, name: str, new: str, *, by: int | None = None) -> VersionView:
    """Raises UnknownVersion, BadSetting for a name that is taken or none, or NotAllowed for a viewer."""
    new = _checked_name(new)
    before = versions.get_version(wb, name)
    if is_shipped(wb, before):
        raise BadSetting(f"{before.name} is shipped with the program: it keeps its name")
    with wb.write() as s:
        people.allow(s, by)
        if new != before.name and rows.version_named(s, new) is not None:
            raise BadSetting(f"there is a version {new!r} already: choose another name")
        rows.rename_version(s, before.id, new)
    return versions.get_version(wb, new)


def _checked_name(name: str) -> str:
    from as2core.rankers.catalog import CATALOG

    name = " ".join(storable(name).split())
    if not NAME.fullmatch(name) or name == "active":
        raise BadSetting(f"{name!r} cannot be a version's name: take up to 60 letters, digits, spaces, dots and dashes")
    if name in CATALOG:
        raise BadSetting(f"{name!r} is the name of a ranker of the catalog: choose another")
    return name


def set_note(wb: Workbench, name: str, note: str, *, by: int | None = None) -> VersionView:
    """Raises UnknownVersion, or NotAllowed for a viewer."""
    view = versions.get_version(wb, name)
    with wb.write() as s:
        people.allow(s, by)
        rows.set_note(s, view.id, storable(note).strip())
    return versions.get_version(wb, view.name)


def delete(wb: Workbench, name: str, *, by: int | None = None) -> None:
    """The row, its promotions with their words, its scores and its directory, if that is in this home. Raises
    UnknownVersion, NotAllowed for a viewer, or InUse for one that answers, is shipped, was promoted although it was
    worse (why is promised to be kept), has versions made from it, is part of a fusion, or is being retrained from."""
    view = versions.get_version(wb, name)
    with wb.write() as s:  # looked at and deleted in one: nobody promotes it in between
        people.allow(s, by)
        row = rows.lock_version(s, view.id)
        if row is None:
            raise UnknownVersion(f"{view.name} is deleted already")
        if reason := _why_kept(s, wb, row):
            raise InUse(f"{row.name} cannot be deleted: {reason}")
        rows.delete_version(s, row.id)
    if _is_here(wb, Path(view.path)):
        shutil.rmtree(view.path, ignore_errors=True)
    versions.rank_anew(wb, view.kind)  # what followed it


def _why_kept(s: Session, wb: Workbench, row: ModelVersion) -> str:
    everything = rows.versions(s)
    if row.id == getattr(rows.active(s, row.kind), "id", None):
        return "it is in use; promote another version or roll back first"
    if is_shipped(wb, row):
        return "it is shipped with the program"
    if versions.worse(row.metrics) and (words := rows.words_for(s, row.id)):
        return f"it was promoted although it was worse, and the words for it are kept with it ({words[-1][0]!r})"
    if children := [v.name for v in everything if v.parent == row.name]:
        return f"{', '.join(children)} was made from it"
    fused = [v.name for v in everything if v.kind == "fusion" and row.path in _rankers_of(Path(v.path))]
    if fused:
        return f"the fusion {', '.join(fused)} is made of it"
    at_work = [j.id for j in rows.jobs_from(s, row.name)]
    return f"job {at_work[0]} is retraining from it" if at_work else ""


def _rankers_of(path: Path) -> list[str]:
    try:
        return list(json.loads((path / "config.json").read_text())["settings"]["rankers"])
    except (OSError, ValueError, KeyError):
        return []


def export(wb: Workbench, name: str, to: str, folder: Path) -> list[Path]:
    """Write a version for other programs: `to` is a format of `as2core.export`. Raises UnknownVersion, BadSetting for
    an unknown format, a ranker the format cannot hold, or a folder that is not empty."""
    from as2core.export import export_ranker

    view = versions.get_version(wb, name)
    return export_ranker(wb.models.version(Path(view.path)), to, folder, card=versions.card(wb, view.name))


def bring_in(
    wb: Workbench, folder: Path, *, name: str | None = None, source: str = "", by: int | None = None
) -> VersionView:
    """Enter a version from a directory: one of ours, or what `export` wrote. It is a candidate, as a new one is, and
    worse than its parent where its card says so. `source` is what its card says of where it came from, the folder if
    nothing is said.

    Raises DamagedModel, BadSetting for a name that is taken or none, or a directory that holds no version; NotAllowed
    for a viewer.
    """
    from as2core.export import import_ranker
    from as2core.rankers.versions import save_version

    wanted = _checked_name(name or Path(folder).resolve().name)
    with wb.write() as s:
        people.allow(s, by)
        if rows.version_named(s, wanted) is not None:
            raise BadSetting(f"there is a version {wanted!r} already: choose another name")
    ranker, card = import_ranker(Path(folder))
    path = versions.free_folder(wb, wanted, wb.settings.versions_dir / IMPORTED)
    if path.exists():
        shutil.rmtree(path)  # left by an import that did not get to its end
    save_version(ranker, path, {**card, "imported_from": source or str(folder)})
    parent = str(card.get("parent") or "")
    metrics = {side + k: v for side, of in SIDES.items() for k, v in versions.numbers(card.get(of)).items()}
    with wb.write() as s:
        rows.add_version(
            s,
            wanted,
            kind=versions.kind_of(path),
            path=str(path),
            state="candidate",
            parent=parent if rows.version_named(s, parent) is not None else None,
            note=str(card.get("note", "")),
            metrics=metrics,
            now=wb.clock(),
        )
    return versions.get_version(wb, wanted)
