"""The job of a retrain: its start, the one that runs already, and finishing it early."""

from dataclasses import replace

from app.adapt import readiness
from app.adapt.settings import CHECKING, COPIES, RetrainSettings
from app.jobs import queue
from app.jobs.kinds import JobKind
from app.versions import loading
from app.versions.management import tidy_version_note
from app.workbench import people
from app.workbench.workbench import Workbench
from as2core.errors import NotEnoughLabels


def start_retrain(
    wb: Workbench, corpus_id: int, settings: RetrainSettings | None = None, *, by: int | None = None
) -> queue.JobView:
    """Queue a retrain. Raises NotEnoughLabels with what is missing, BadSetting, UnknownVersion, NotAllowed for a
    viewer, or JobActive if the corpus is being retrained already."""
    settings = settings or RetrainSettings()
    with wb.read() as s:
        people.allow(s, by, "retrain")
    settings = _normalize(wb, settings)
    view = readiness.check_readiness(wb, corpus_id, settings)
    if view.problems:
        raise NotEnoughLabels(" ".join(view.problems))
    return queue.enqueue(wb, JobKind.RETRAIN, settings.to_json(), corpus_id=corpus_id, by=by)


def find_same_retrain(wb: Workbench, corpus_id: int, settings: RetrainSettings) -> queue.JobView | None:
    """The corpus's retrain that waits or runs, if it has these settings. Raises as `start_retrain` does for a base
    and a note."""
    settings = _normalize(wb, settings)
    active = queue.list_active(wb, JobKind.RETRAIN, corpus_id)
    return next((j for j in active if RetrainSettings.from_json(j.settings) == settings), None)


def is_skippable(job: queue.JobView) -> bool:
    """Whether a retrain has only the check by copies left to do before its last figures."""
    is_checking = any(e.get("kind") == COPIES for e in job.events)
    return is_checking and job.state == "running" and not job.paused and bool(job.settings.get("copies", True))


def is_ending_check(job: queue.JobView) -> bool:
    """Whether the check by copies is to end, and has not ended yet."""
    is_checking = job.message.lower().startswith(CHECKING)
    return is_checking and job.state == "running" and not job.settings.get("copies", True)


def finish_without_copies(wb: Workbench, job_id: int, *, by: int | None = None) -> queue.JobView:
    """Have a retrain save its version with what the held-out questions say, without the check by copies. Raises
    NotAllowed for a viewer who did not start it."""
    return queue.update_settings(wb, job_id, "finish a retrain without the check", {"copies": False}, by=by)


def _normalize(wb: Workbench, settings: RetrainSettings) -> RetrainSettings:
    """With the version that is the base now, which "active" may not be later, and a note that can be stored."""
    base = loading.find_base(wb, settings.base, settings.version_kind).spec
    return replace(settings, base=base, note=tidy_version_note(settings.note))
