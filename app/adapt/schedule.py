"""Automatic retraining: the worker starts the retrains that `app.jobs.retrain_rule` finds due.

A version made automatically is a candidate like any other: it answers only once it is promoted. One that is worse, or
that forgets too much (`app.versions.outcome`), is rejected at once; a person may still promote it, with a reason.
"""

import logging

from app.adapt import readiness
from app.adapt.settings import RetrainSettings
from app.jobs.queue import JobView
from app.jobs.retrain_rule import find_due_corpora
from app.versions import registry
from app.versions.outcome import Outcome
from app.workbench.workbench import Workbench
from as2core.errors import As2Error
from db.models import Corpus

log = logging.getLogger(__name__)

NOTE = "automatic"


def start_due(wb: Workbench) -> list[JobView]:
    """Start what is due; cheap, and at most once a minute. If one cannot start, the reason is stored with the rule, and
    it is tried again when there are more labels. For the worker."""
    jobs = []
    for corpus_id in find_due_corpora(wb, "looked"):
        reason = ""
        try:
            jobs.append(readiness.start_retrain(wb, corpus_id, RetrainSettings(note=NOTE, automatic=True)))
        except As2Error as e:
            reason = str(e)
            log.info("corpus %d is not retrained: %s", corpus_id, e)
        with wb.write() as s:
            corpus = s.get(Corpus, corpus_id)
            if corpus is not None and corpus.automatic:  # a new dictionary: a change inside the old one is not noticed
                corpus.automatic = {**corpus.automatic, "refused": reason}
    return jobs


def find_waiting(wb: Workbench) -> registry.VersionView | None:
    """The newest version made from the active one that nothing speaks against, and that is neither promoted nor
    rejected; None if there is none. One that is better goes before one without a clear difference."""
    active = registry.get_active(wb)
    waiting = [
        (v.change.outcome is Outcome.BETTER, v.created, v.id, v)
        for v in registry.list_versions(wb)
        if v.state == "candidate" and v.parent == active.name and not v.problem and v.change and not v.objection
    ]
    return max(waiting)[-1] if waiting else None
