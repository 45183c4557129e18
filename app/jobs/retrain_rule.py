"""Whether a corpus is due for an automatic retrain: after so many new labels, or at night.

The rule is stored with the corpus. The app wakes the worker when a retrain is due; the worker alone starts it
(`app.adapt.schedule`), so that none is started twice.
"""

import logging
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import TypedDict, Unpack

from sqlalchemy.orm import Session

from app.jobs.kinds import JobKind
from app.jobs.process import start_worker_if_needed
from app.jobs.queue import JobView, to_view
from app.workbench import audit, people
from app.workbench.workbench import Workbench
from as2core.errors import As2Error, BadSetting
from db.models import Corpus, Job
from db.repositories import corpora as corpus_rows
from db.repositories import jobs as job_rows
from db.repositories import labels as label_rows

log = logging.getLogger(__name__)

CONFIGURE = "configure automatic retraining"  # in the audit log
CANCELLED = "cancelled"  # the state of a job that a person stopped
NIGHT_HOURS = range(1, 5)  # of the machine's own clock
CHECK_SECONDS = 60.0
RETRY_SHARE = 10  # after a retrain that failed or was lost, this fraction (1/10) of the labels wanted makes another due
NIGHT_REST = timedelta(hours=12)  # between two retrains at night


@dataclass(frozen=True, slots=True)
class RetrainRule:
    """`after`: a retrain is due when people gave so many labels since the last one that was done, None for never.
    `at_night`: one is due between 1 and 5 o'clock if there is any new label. `refused`: why the last one that was due
    could not start; empty if it could, or since the rule was set."""

    after: int | None = None
    at_night: bool = False
    refused: str = ""


class RetrainRuleChanges(TypedDict, total=False):
    """The same, each if it changes."""

    after: int | None
    at_night: bool


def load_rule(wb: Workbench, corpus_id: int) -> RetrainRule:
    with wb.read() as s:
        return _get_rule(s.get(Corpus, corpus_id))


def _get_rule(corpus: Corpus | None) -> RetrainRule:
    return RetrainRule(**((corpus.automatic if corpus else None) or {}))


def set_rule(
    wb: Workbench, corpus_id: int, *, by: int | None = None, **changes: Unpack[RetrainRuleChanges]
) -> RetrainRule:
    """Change some of it. Raises BadSetting for a number below 1, NotAllowed for a viewer, As2Error where the corpus is
    gone."""
    after = changes.get("after")
    if after is not None and after < 1:
        raise BadSetting(f"after {after} new labels: give 1 or more, or nothing to leave it off")
    with wb.write() as s:
        people.allow(s, by, CONFIGURE)
        if not corpus_rows.lock_corpus(s, corpus_id):
            raise As2Error("the corpus was deleted meanwhile")
        corpus = s.get_one(Corpus, corpus_id)
        before = _get_rule(corpus)
        rule = replace(before, refused="", **changes)
        corpus.automatic = asdict(rule) if rule != RetrainRule() else None
        if rule != replace(before, refused=""):
            audit.record(s, wb.clock(), by, CONFIGURE, corpus.name, _describe(rule))
    return rule


def _describe(rule: RetrainRule) -> str:
    """`after 100 new labels, at night`"""
    times = [f"after {rule.after:,} new labels"] if rule.after is not None else []
    return ", ".join(times + ["at night"] * rule.at_night) or "off"


def count_new_labels(wb: Workbench, corpus_id: int) -> int:
    """How many labels people gave since the corpus's last retrain that was done was queued."""
    with wb.read() as s:
        return _count_since(s, corpus_id, job_rows.find_newest_job(s, JobKind.RETRAIN, corpus_id, "done"))


def count_labels_since_cancel(wb: Workbench, corpus_id: int) -> int | None:
    """How many labels people gave since the corpus's last retrain was queued, if somebody cancelled that; else None."""
    with wb.read() as s:
        last = job_rows.find_newest_job(s, JobKind.RETRAIN, corpus_id)
        return _count_since(s, corpus_id, last) if last is not None and last.state == CANCELLED else None


def wake_worker_if_due(wb: Workbench) -> None:
    """See that a worker runs if a retrain is due; cheap, and at most once a minute."""
    try:
        if find_due_corpora(wb, "woken for"):
            start_worker_if_needed(wb)
    except As2Error as e:
        log.info("whether a retrain is due is not known: %s", e)


def find_due_corpora(wb: Workbench, mark: str) -> list[int]:
    """Corpora with a retrain due that was not due, with as many labels, at an earlier check of this `mark`."""
    if not wb.mark_if_due(mark, CHECK_SECONDS):
        return []
    due = []
    with wb.read() as s:
        for corpus in corpus_rows.list_automatic_corpora(s):
            last = job_rows.find_newest_job(s, JobKind.RETRAIN, corpus.id)
            new = _count_since(s, corpus.id, job_rows.find_newest_job(s, JobKind.RETRAIN, corpus.id, "done"))
            fresh = _count_since(s, corpus.id, last)
            rule, state = _get_rule(corpus), f"{mark} {corpus.id} {last.id if last else 0}"
            if is_due(rule, new, wb.clock(), to_view(last) if last else None, fresh) and new != wb.marks.get(state):
                wb.marks[state] = new
                due.append(corpus.id)
    return due


def forget_due_corpora(wb: Workbench, mark: str) -> None:
    """What was found due at earlier checks of this `mark` is due at the next one again."""
    for state in [m for m in list(wb.marks) if m.startswith(f"{mark} ")]:
        wb.marks.pop(state, None)


def _count_since(s: Session, corpus_id: int, job: Job | None) -> int:
    return label_rows.count_new_labels(s, corpus_id, job.created if job else None)


def is_due(rule: RetrainRule, new: int, now: datetime, last: JobView | None, fresh: int | None = None) -> bool:
    """`last`: the corpus's last retrain; `fresh`: the labels since then, `new` if it was done. One that came to nothing
    is not tried again with the labels it had; where a person cancelled it, all labels wanted have to be newer."""
    fresh = new if fresh is None else fresh
    if new == 0 or fresh == 0 or (last is not None and last.is_active):
        return False
    share = 1 if last is not None and last.state == CANCELLED else RETRY_SHARE
    if rule.after is not None and new >= rule.after and fresh * share >= rule.after:
        return True
    is_rested = last is None or now - last.created > NIGHT_REST
    return rule.at_night and is_rested and now.astimezone().hour in NIGHT_HOURS
