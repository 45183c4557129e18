"""Which version answers: promote, reject, roll back, and rank the queues' questions again afterwards."""

from datetime import datetime
from pathlib import Path

from sqlalchemy.orm import Session

from app.jobs.kinds import JobKind
from app.jobs.process import start_worker_if_needed
from app.versions.registry import CASCADE, VersionView, find_active, find_row, get_active, get_version
from app.workbench import audit, people
from app.workbench.workbench import Workbench
from as2core.errors import As2Error
from db.models import ModelVersion
from db.repositories import audit as audit_rows
from db.repositories import jobs as job_rows
from db.repositories import versions as rows

PROMOTE = "promote a version"  # in the audit log
MAX_RESCORED_QUESTIONS = 200  # of a corpus, after another version was promoted, or its synonyms or documents changed


class NothingToRollBack(As2Error):
    """The shipped version is active: there is nothing before it."""


class NeedsReason(As2Error):
    """A version that is worse than its parent is promoted only with a reason, which is stored."""


def promote(wb: Workbench, name: str, reason: str = "", *, by: int | None = None) -> VersionView:
    """Make a version the active one of its kind. Raises UnknownVersion, DamagedModel if it cannot be loaded,
    NeedsReason for one that `needs_reason` if none is given, or NotAllowed for a viewer."""
    view = get_version(wb, name)
    check_reason(wb, view, reason)
    wb.models.version(Path(view.path))
    with wb.write() as s:
        people.allow(s, by, PROMOTE)
        row = find_row(s, wb, name)
        before = rows.find_active(s, row.kind)
        is_new = before is not row
        if is_new:
            if before is not None and before.state == "candidate":
                before.state = "former"
            if row.state == "rejected":
                row.state = "former"
            rows.add_activation(s, row.kind, row.id, reason, wb.clock())
            audit.record(s, wb.clock(), by, PROMOTE, row.name, reason)
            rescore_queues(s, view.kind, wb.clock())
    if is_new:
        start_worker_if_needed(wb)
    return get_version(wb, name)


def check_reason(wb: Workbench, version: VersionView, reason: str) -> None:
    """Raises NeedsReason."""
    if needs_reason(wb, version) and not reason.strip():
        raise NeedsReason(f"{version.name}: {version.objection}. Give a reason to promote it")


def needs_reason(wb: Workbench, version: VersionView) -> bool:
    """Whether promoting it takes a reason: it is worse than its parent, or automatic retraining rejected it. Going back
    from a version that is worse to its parent, which is then the better of the two, takes none."""
    if not version.is_worse and not (version.state == "rejected" and version.objection):
        return False
    active = find_active(wb, version.kind)
    return active is None or not (active.is_worse and active.parent == version.name)


def reject(wb: Workbench, name: str, *, by: int | None = None) -> VersionView:
    """Raises As2Error for the active or a shipped version, NotAllowed for a viewer."""
    with wb.write() as s:
        people.allow(s, by, "reject a version")
        row = find_row(s, wb, name)
        if row.state == "shipped":
            raise As2Error(f"{name} is shipped with the program: it stays as the version to fall back to")
        if row is rows.find_active(s, row.kind):
            raise As2Error(
                f"{name} is in use{_describe_promotion(s, name)}: promote another version or roll back first"
            )
        row.state = "rejected"
        audit.record(s, wb.clock(), by, "reject a version", row.name)
    return get_version(wb, name)


def _describe_promotion(s: Session, name: str) -> str:
    """`, promoted by ada on 4 May 2024, 12:30 UTC`; "" where the audit log does not know."""
    event = audit_rows.find_newest_event(s, PROMOTE, name, outcome=audit.SUCCESS)
    if event is None:
        return ""
    who = "from the command line" if event.actor == audit.COMMAND_LINE else f"by {event.actor}"
    return f", promoted {who} on {event.created.day} {event.created:%b %Y, %H:%M} UTC"


def roll_back(wb: Workbench, kind: str = CASCADE, *, by: int | None = None) -> VersionView:
    """Undo the last promotion of a kind: the version that was active before it is active again. Raises
    NothingToRollBack, or NotAllowed for a viewer."""
    with wb.write() as s:
        people.allow(s, by, "roll back a version")
        newest = rows.find_newest_activation(s, kind)
        if newest is None:
            why = "the shipped version is in use" if rows.find_shipped(s, kind) else f"no {kind} version was promoted"
            raise NothingToRollBack(f"{why}: there is nothing to roll back to")
        newest.reverted = wb.clock()
        s.flush()
        if rows.find_active(s, kind) is None:
            raise NothingToRollBack(f"no {kind} version was active before this one: there is nothing to roll back to")
        outgoing = s.get(ModelVersion, newest.version_id)
        if outgoing is not None and outgoing.state == "candidate":
            outgoing.state = "former"
        audit.record(s, wb.clock(), by, "roll back a version", outgoing.name if outgoing else kind)
        rescore_queues(s, kind, wb.clock())
    start_worker_if_needed(wb)
    return get_active(wb, kind)


def find_previous(wb: Workbench, kind: str = CASCADE) -> VersionView | None:
    """The version that `roll_back` would make active again; None where there is none."""
    with wb.read() as s:
        row = rows.find_previous(s, kind)
    return get_version(wb, row.name) if row is not None else None


def is_roll_back(version: VersionView, active: VersionView) -> bool:
    """Whether to promote a version instead of the active one is to go back: it is older, and was in use."""
    return version.created < active.created and version.state in ("former", "shipped")


def rescore_queues(s: Session, kind: str, now: datetime) -> None:
    """In the transaction in which another version of a kind becomes active: questions that it has ranked before follow
    that run at once. The other questions in the queues are ranked again, corpus by corpus, in the background, for which
    a worker is to be started; a job that is queued already will do, one that runs began with the version before. Only
    the cascade ranks the queues."""
    s.flush()
    active = rows.find_active(s, kind) if kind == CASCADE else None
    if active is None:
        return
    stale = set(rows.adopt_newest_runs(s, active.id))
    stale |= {q.corpus_id for q in rows.list_ranked_by_others(s, active.id)}
    waiting = job_rows.list_jobs(s, JobKind.SCORE, states=("queued",))
    jobs = [j for j in waiting if j.settings.get("again") and not j.settings.get("questions")]
    for corpus_id in sorted(stale - {j.corpus_id for j in jobs}):
        job_rows.add_job(s, JobKind.SCORE, {"limit": MAX_RESCORED_QUESTIONS, "again": True}, now, corpus_id=corpus_id)
