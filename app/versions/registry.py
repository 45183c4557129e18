"""Model versions: which there are, and which one of each kind is active.

The shipped versions (models/) are there from the start. If a version cannot be loaded, the shipped one of its
kind answers instead (`loading`). Which one is active changes in `promotion`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Unpack

from sqlalchemy.orm import Session

from app.versions.directory import find_problem, flatten_metrics, read_json, read_kind
from app.versions.outcome import COMPARISON_KEYS, Change, compare_with_parent
from app.workbench.workbench import Workbench
from as2core.errors import As2Error, DamagedModel
from as2core.rankers.versions import read_card
from as2core.system.files import is_folder
from as2core.types import Json
from db.models import ModelVersion
from db.repositories import versions as rows

CASCADE, GENERATIVE = "cascade", "generative"
ANSWERING = (CASCADE, GENERATIVE)  # kinds that Ask and Label use
IMPORTS_FOLDER = "@imported"  # folder of imported versions; no version's name, so no retrain writes there


class UnknownVersion(As2Error):
    """No version of that name."""


@dataclass(frozen=True, slots=True)
class Promotion:
    """Why a version was promoted, and when."""

    words: str
    at: datetime


@dataclass(frozen=True, slots=True)
class VersionView:
    """A model version. `problem` is empty, or why its directory can't be used. `promotions` are those with a reason,
    oldest first. `change` is against its parent, None without a parent's figures. `is_imported`: its figures and its
    change are those that the imported card claims; none was measured here."""

    id: int
    name: str
    kind: str
    parent: str | None
    created: datetime
    note: str
    state: str
    metrics: Mapping[str, float]
    path: str
    problem: str = ""
    promotions: tuple[Promotion, ...] = ()
    change: Change | None = None
    is_imported: bool = False

    @property
    def is_worse(self) -> bool:
        return self.change is not None and self.change.is_worse

    @property
    def objection(self) -> str:
        """Why it is never promoted automatically; "" if nothing speaks against it."""
        return self.change.objection if self.change else ""

    @property
    def is_unmeasured(self) -> bool:
        """Whether nothing is known of a version that was never in use, not even what an import claims."""
        return self.change is None and self.state in ("candidate", "rejected")


def list_versions(wb: Workbench, kind: str | None = CASCADE) -> list[VersionView]:
    """Newest first; `kind` None for all kinds."""
    with wb.read() as s:
        versions = rows.list_versions(s, kind)
        activations = rows.list_activations(s)
        active, reasons = rows.find_active_ids(versions, activations), rows.group_reasons(activations)
        return [_to_view(v, v.id == active.get(v.kind), reasons.get(v.id, ())) for v in versions]


def get_active(wb: Workbench, kind: str = CASCADE) -> VersionView:
    """The version in use. Raises DamagedModel if not even a shipped one is there."""
    return get_version(wb, "active", kind)


def find_active(wb: Workbench, kind: str = CASCADE) -> VersionView | None:
    """The version in use; None for a kind of which none is."""
    with wb.read() as s:
        if (row := rows.find_active(s, kind)) is None:
            return None
        return _to_view(row, True, rows.list_promotion_reasons(s, [row.id]).get(row.id, ()))


def get_version(wb: Workbench, name: str, kind: str = CASCADE) -> VersionView:
    """By name, or "active". Raises UnknownVersion listing those there are."""
    with wb.read() as s:
        row = find_row(s, wb, name, kind)
        is_active = name == "active" or row is rows.find_active(s, row.kind)
        return _to_view(row, is_active, rows.list_promotion_reasons(s, [row.id]).get(row.id, ()))


def find_row(s: Session, wb: Workbench, name: str, kind: str = CASCADE) -> ModelVersion:
    """The row of a version, or of the active one of a kind for "active". Raises UnknownVersion, DamagedModel."""
    if name == "active":
        if (active := rows.find_active(s, kind)) is not None:
            return active
        from as2core.rankers.shipped import describe_recovery

        path = wb.settings.models_dir / kind
        raise DamagedModel(f"there is no {kind} model: {path} is missing; it {describe_recovery(kind)}")
    row = rows.find_version(s, name=name)
    if row is None:
        names = ", ".join(v.name for v in rows.list_versions(s)) or "none"
        hint = f"; import the directory with `as2 versions import {name}`" if is_folder(name) else ""
        raise UnknownVersion(f"no version {name!r}; known: {names}{hint}")
    return row


def find_next_name(s: Session, corpus_id: int, stem: str) -> str:
    """`stem` with the next number: above those of all versions that have or had such a name, and not below the corpus's
    retrains, since one of their versions may have been renamed. A deleted version's name stays in its job. Nobody else
    takes a name until this transaction ends."""
    rows.lock_names(s)
    jobs = rows.list_retrained_names(s)
    names = {*(v.name for v in rows.list_versions(s)), *(job.version for job in jobs)}
    numbers = (int(name[len(stem) + 1 :]) for name in names if re.fullmatch(f"{re.escape(stem)}-[0-9]{{1,9}}", name))
    return f"{stem}-{max((*numbers, sum(job.corpus_id == corpus_id for job in jobs))) + 1}"


def find_free_folder(wb: Workbench, stem: str) -> Path:
    """A directory for a version of that name that no other version has: a renamed one keeps its own. What is in it was
    left by a run that was interrupted."""
    with wb.read() as s:
        used_paths = {v.path for v in rows.list_versions(s)}
    paths = (wb.settings.versions_dir / name for name in _add_numbers(stem))
    return next(path for path in paths if str(path) not in used_paths)


def _add_numbers(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name} {n}" for n in count(2))


def add_candidate(
    s: Session,
    wb: Workbench,
    name: str,
    path: Path,
    *,
    is_rejected: bool = False,
    **details: Unpack[rows.VersionDetails],
) -> None:
    """Register the version that was saved at `path`; one that automatic retraining refuses is `is_rejected` at once."""
    kind, state = read_kind(path), "rejected" if is_rejected else "candidate"
    rows.add_version(s, name, kind=kind, path=str(path), state=state, now=wb.clock(), **details)


def load_card(wb: Workbench, name: str) -> dict[str, Json]:
    """The version's card: parent, data hash, seed, settings, metrics. In its file, a version and its parent have the
    names that they had when it was written, which for a retrained version is its folder's; here, those of today. Raises
    UnknownVersion, DamagedModel."""
    version = get_version(wb, name)
    names = {"name": version.name, "parent": version.parent}
    return read_card(Path(version.path)) | {key: value for key, value in names.items() if value}


def _to_view(row: ModelVersion, active: bool, reasons: Iterable[tuple[str, datetime]]) -> VersionView:
    columns = ("id", "name", "kind", "parent", "created", "note", "path")
    return VersionView(
        **{name: getattr(row, name) for name in columns},
        state="active" if active else row.state,
        metrics=flatten_metrics({k: v for k, v in row.metrics.items() if k not in COMPARISON_KEYS}),
        problem=find_problem(Path(row.path)),
        promotions=tuple(Promotion(words, at) for words, at in reasons),
        change=compare_row(row),
        is_imported=Path(row.path).parent.name == IMPORTS_FOLDER,
    )


def compare_row(row: ModelVersion) -> Change | None:
    """A version against its parent. An older program stored the paired test on the card alone."""
    record = row.metrics
    if "before AP" in record and "paired" not in record:
        record = {**read_json(Path(row.path), "card.json"), **record}
    return compare_with_parent(record)
