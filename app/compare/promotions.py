"""Promoting a version in the background while its gates are measured.

What is measured is promoted, or refused, at the click. Else the click becomes a job, which measures the gates and then
promotes: whoever leaves the page or closes the browser meanwhile finds the version in use, or what it missed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from app.compare import gates
from app.jobs import queue
from app.jobs.attempt import JobRun
from app.jobs.kinds import JobKind
from app.jobs.queue import JobView
from app.versions import promotion, registry
from app.workbench import people
from app.workbench.workbench import Workbench
from as2core.evaluation.gate import GateFailed
from as2core.types import Json
from db.models import Job

KIND = JobKind.PROMOTE
MAX_JOBS = 100  # the newest, among which a version's is looked for


@dataclass(frozen=True, slots=True)
class PromotionSettings:
    """What a promotion was asked to do."""

    version: str
    reason: str = ""
    ignores_gates: bool = False


def rename_version(job: Job, old: str, new: str) -> None:
    """In a promotion, waiting or done."""
    if job.settings["version"] == old:
        job.settings = {**job.settings, "version": new}


def start_promotion(
    wb: Workbench, name: str, reason: str = "", *, by: int | None = None, ignores_gates: bool = False
) -> JobView | None:
    """Promote now, which gives None, or queue the job that measures the gates first; one that is under way already will
    do. Raises as `gates.promote`; what has to be measured can raise GateFailed only in the job's result."""
    view = registry.get_version(wb, name)
    with wb.read() as s:
        people.allow(s, by, "promote a version")
    promotion.check_reason(wb, view, reason)
    if gates.is_measured(wb, view):
        gates.promote(wb, name, reason, by=by, ignores_gates=ignores_gates)
        return None
    newest = find_promotion(wb, name)
    if newest is not None and newest.is_active:
        return newest
    return queue.enqueue(wb, KIND, asdict(PromotionSettings(name, reason, ignores_gates)), by=by)


def run_promotion(job: JobRun) -> dict[str, Json]:
    """The background job. Its result has what the version missed, "" if it is promoted."""
    settings, by = PromotionSettings(**job.settings), queue.load_job(job.wb, job.id).annotator_id

    def report(share: float, message: str) -> None:
        job.check()
        job.progress(share, message)

    try:
        gates.promote(
            job.wb, settings.version, settings.reason, by=by, ignores_gates=settings.ignores_gates, report=report
        )
    except GateFailed as error:
        return {"version": settings.version, "miss": str(error)}
    return {"version": settings.version, "miss": ""}


def list_under_way(wb: Workbench) -> set[str]:
    """The versions whose gates are measured now, or wait for it."""
    return {job.settings["version"] for job in queue.list_active(wb, KIND)}


def find_promotion(wb: Workbench, name: str) -> JobView | None:
    """The newest job that promotes this version."""
    jobs = queue.list_jobs(wb, KIND, MAX_JOBS)
    return next((job for job in jobs if job.settings["version"] == name), None)
