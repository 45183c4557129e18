"""What the worker starts by itself: the retrains that `app.jobs.retrain_rule` finds due, and what measures ahead of one
(`app.adapt.measuring`) where people label.

A version made automatically is a candidate like any other: it answers only once it is promoted. One that is worse, or
that forgets too much (`app.versions.outcome`), is rejected at once; a person may still promote it, with a reason.
"""

import logging
from collections.abc import Iterable
from contextlib import suppress

from sqlalchemy.orm import Session

from app.adapt import retrain_job
from app.adapt.measuring import INTERRUPTED
from app.adapt.settings import RetrainSettings
from app.jobs import queue
from app.jobs.kinds import JobKind
from app.jobs.queue import JobView
from app.jobs.retrain_rule import find_due_corpora, forget_due_corpora
from app.versions import registry
from app.workbench.workbench import DatabaseOutage, Workbench
from as2core.errors import As2Error
from as2core.evaluation.rankers import Outcome
from db.models import Corpus
from db.repositories import corpora as corpus_rows
from db.repositories import jobs as job_rows
from db.repositories import labels as label_rows

log = logging.getLogger(__name__)

NOTE = "automatic"
LOOK = "looked"  # the mark of the worker's checks
MIN_LABELS = 5  # by people: whoever gives so many may want a retrain
CHECK_SECONDS = 10.0


def start_due(wb: Workbench) -> list[JobView]:
    """Start what is due; cheap, and at most once a minute. If one cannot start, the reason is stored with the rule, and
    it is tried again when there are more labels; after an outage of the database, with the same ones. For the
    worker. Raises DatabaseOutage."""
    try:
        jobs = [_start_retrain(wb, corpus_id) for corpus_id in find_due_corpora(wb, LOOK)]
    except DatabaseOutage:
        forget_due_corpora(wb, LOOK)
        raise
    return [job for job in jobs if job is not None]


def _start_retrain(wb: Workbench, corpus_id: int) -> JobView | None:
    """None where it cannot start; the reason is stored."""
    job, reason = None, ""
    try:
        job = retrain_job.start_retrain(wb, corpus_id, RetrainSettings(note=NOTE, automatic=True))
    except DatabaseOutage:
        raise
    except As2Error as e:
        reason = str(e)
        log.info("corpus %d is not retrained: %s", corpus_id, e)
    with wb.write() as s:
        corpus = s.get(Corpus, corpus_id, with_for_update=True)
        if corpus is not None and corpus.automatic:  # a new dictionary: a change inside the old one is not noticed
            corpus.automatic = {**corpus.automatic, "refused": reason}
    return job


def start_measuring(wb: Workbench) -> list[JobView]:
    """Queue what measures ahead of a retrain of each corpus that people label, once for the active version; none while
    a retrain waits or runs. Cheap, and at most every ten seconds. For the worker."""
    if not wb.mark_if_due("measured ahead", CHECK_SECONDS):
        return []
    version = registry.get_active(wb).id
    with wb.read() as s:
        if job_rows.list_active_jobs(s, JobKind.RETRAIN):
            return []
        due = [
            c.id
            for c in corpus_rows.list_corpora(s)
            if not _is_measured(s, c.id, version) and label_rows.count_new_labels(s, c.id, None) >= MIN_LABELS
        ]
    jobs = []
    for corpus_id in due:
        with suppress(queue.JobActive):  # another machine's worker was quicker
            jobs.append(queue.enqueue(wb, JobKind.MEASURE, {"version": version}, corpus_id=corpus_id))
    return jobs


def _is_measured(session: Session, corpus_id: int, version: int) -> bool:
    """Whether the corpus's last such job was for this version, however it ended, but for another corpus's retrain."""
    last = job_rows.find_newest_job(session, JobKind.MEASURE, corpus_id)
    return last is not None and last.settings.get("version") == version and not last.result.get(INTERRUPTED)


def find_waiting_version(versions: Iterable[registry.VersionView]) -> registry.VersionView | None:
    """The newest cascade made from the active one that nothing speaks against, and that is neither promoted nor
    rejected; None if there is none. One that is better goes before one without a clear difference. `versions`: all."""
    cascades = [v for v in versions if v.kind == registry.CASCADE]
    in_use = {v.name for v in cascades if v.state == "active"}
    waiting = [
        (v.change.outcome is Outcome.BETTER, v.created, v.id, v)
        for v in cascades
        if v.state == "candidate" and v.parent in in_use and not v.problem and v.change and not v.objection
    ]
    return max(waiting)[-1] if waiting else None
