"""What happens to versions when a workbench is opened: paths are updated if the home or the program was moved, and the
shipped versions are registered."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.jobs.process import start_worker_if_needed
from app.versions.directory import flatten_metrics, read_json, read_kind
from app.versions.promotion import rescore_queues
from app.workbench.workbench import Workbench
from as2core.errors import DamagedModel
from as2core.rankers.specs import replace_rankers
from as2core.rankers.versions import update_directories
from as2core.types import Json
from db.models import ModelVersion
from db.repositories import versions as rows

log = logging.getLogger(__name__)

HASHES = ("sha256", "config_sha256")  # of a card; stored with a shipped version's metrics, they show an update


def update_paths(wb: Workbench) -> None:
    """Have versions found where they are now, also by the fusions made of them and the retrains that may still run. The
    stored paths are those from before the home was copied, or the home or the program was moved."""
    with wb.read() as s:
        if not _find_moved(wb, rows.list_versions(s)):
            return
    with wb.write() as s:
        versions = rows.list_versions(s)
        moves = _find_moved(wb, versions)
        for row in versions:
            row.path = moves.get(row.path, row.path)
        for job in rows.list_unfinished_retrains(s):
            if base := job.settings.get("base"):
                job.settings = {**job.settings, "base": replace_rankers(base, moves)}
        for path in (Path(v.path) for v in versions if v.kind == "fusion"):
            try:
                if is_in_home(wb, path):
                    update_directories(path, moves)
            except DamagedModel as e:  # using it reports this
                log.warning("its rankers keep their old paths: %s", e)


def _find_moved(wb: Workbench, versions: Sequence[ModelVersion]) -> dict[str, str]:
    """Stored path -> the path now, of those that differ."""
    now = {v.path: wb.settings.models_dir / v.name for v in versions if v.state == "shipped"}
    now |= {v.path: Path(find_in_home(wb, v.path)) for v in versions if v.state != "shipped"}
    return {old: str(path) for old, path in now.items() if old != str(path) and path.is_dir()}


def find_in_home(wb: Workbench, path: str) -> str:
    """The directory of a version made here, whose stored path may be from before the home was moved; `path` itself
    where there is none of its name."""
    here = name_in_home(wb, path)
    return str(here) if here.is_dir() else path


def name_in_home(wb: Workbench, path: str) -> Path:
    """Where this home has the directory of a version made here, or would have it."""
    folder = wb.settings.versions_dir
    return folder / path.rpartition(f"/{folder.name}/")[2]


def is_in_home(wb: Workbench, path: Path) -> bool:
    """Whether a directory is in this home, not in the one it was copied from."""
    return wb.settings.versions_dir.resolve() in path.resolve().parents


def register_shipped(wb: Workbench) -> None:
    """Register the versions of models/ that are not in the database yet. If an update of the program has brought other
    weights for one, its figures are read again, and the queues are ranked again where it is active."""
    folders = [d for d in sorted(wb.settings.models_dir.glob("*")) if (d / "config.json").is_file()]
    cards = {d: read_json(d, "card.json") for d in folders}
    with wb.read() as s:
        by_name = {v.name: v for v in rows.list_versions(s)}
        if all(d.name in by_name and not _is_updated(by_name[d.name], card) for d, card in cards.items()):
            return
    updated = []
    with wb.write() as s:
        for folder, card in cards.items():
            row = rows.find_version(s, name=folder.name)
            if row is None:
                rows.add_version(
                    s,
                    folder.name,
                    kind=read_kind(folder) or folder.name,
                    path=str(folder),
                    state="shipped",
                    note=str(card.get("note", "shipped with the program")),
                    metrics=_read_metrics(card),
                    now=wb.clock(),
                )
            elif _is_updated(row, card):
                row.note = str(card.get("note", row.note))
                row.metrics, row.created = _read_metrics(card), wb.clock()
                if row is rows.find_active(s, row.kind):
                    updated.append(row.kind)
        for kind in updated:
            rescore_queues(s, kind, wb.clock())
    if updated:
        start_worker_if_needed(wb)


def _is_updated(row: ModelVersion, card: Mapping[str, Json]) -> bool:
    """Whether the program's card is of other weights than the row; true for one without hashes."""
    is_known = "sha256" in card and row.state == "shipped"
    return is_known and any(row.metrics.get(k) != card.get(k) for k in HASHES)


def _read_metrics(card: Mapping[str, Json]) -> dict[str, Json]:
    return {**flatten_metrics(card.get("metrics")), **{k: card[k] for k in HASHES if k in card}}
