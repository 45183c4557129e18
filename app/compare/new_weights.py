"""Shipped weights that are newer than the version in use: an upgrade of the program brings some, and whether a version
that was trained from the older ones is still better is for a comparison to say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from app.jobs.kinds import JobKind
from app.versions import registry
from app.versions.management import is_shipped
from app.versions.registry import VersionView
from app.workbench.workbench import Workbench
from db.repositories import jobs as rows

MAX_COMPARISONS = 100  # the newest, that are looked through


def find_uncompared(wb: Workbench, of_kind: Sequence[VersionView]) -> tuple[str, str] | None:
    """The names of the version in use and of the shipped one, where that has other weights since the first was trained,
    or what it was made from, and nobody has compared the two, or its ancestor with it, since. `of_kind`: all versions
    of a kind, newest first."""
    versions = {v.name: v for v in of_kind}
    active = next((v for v in versions.values() if v.state == "active"), None)
    shipped = next((v for v in reversed(versions.values()) if v.state == "shipped"), None)
    if active is None or shipped is None:
        return None
    line = [active]
    while (parent := versions.get(line[-1].parent or "")) not in (None, shipped):
        line.append(parent)
    is_newer = shipped.created > line[-1].created
    return (active.name, shipped.name) if is_newer and not _is_compared(wb, shipped, {v.name for v in line}) else None


def list_changes(wb: Workbench, rankers: Iterable[str], finished: datetime | None) -> list[str]:
    """`new weights of cascade`, where shipped versions have other weights than when a comparison of them finished."""
    names = {spec.partition(":")[0] for spec in rankers}
    of_program = (v for v in registry.list_versions(wb, None) if v.name in names and is_shipped(wb, v))
    newer = sorted(v.name for v in of_program if finished is not None and v.created > finished)
    return [f"new weights of {' and '.join(newer)} from an update of the program"] if newer else []


def _is_compared(wb: Workbench, shipped: VersionView, names: set[str]) -> bool:
    """Whether one of the versions of these names was, with these shipped weights."""
    with wb.read() as s:
        jobs = rows.list_jobs(s, JobKind.COMPARE, states=("done",), limit=MAX_COMPARISONS)
        choices = [job.settings["rankers"] for job in jobs if job.created > shipped.created]
    comparisons = [{spec.partition(":")[0] for spec in specs} for specs in choices]
    return any(shipped.name in rankers and rankers & names for rankers in comparisons)
