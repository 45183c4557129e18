"""Retraining without being asked: after so many new labels, or at night. A version made so waits like any other: it
never answers before somebody promotes it.

The worker looks and starts it: one process decides, so that none is started twice. The app calls the worker when
something is due; for the nights one has to run.
"""

from __future__ import annotations

import logging
import time
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session

from app import jobs as background
from app.services import adapting, people, versions
from app.services.views import JobView, VersionView
from app.services.workbench import Workbench
from as2core.errors import As2Error, BadSetting
from db.models import Corpus, Job
from db.repositories import choices as rows
from db.repositories import jobs as job_rows

log = logging.getLogger(__name__)

NIGHT = range(1, 5)  # hours of the machine's own clock
EVERY = 60.0  # seconds between looks
AGAIN = 10  # after a try that came to nothing, a tenth of the labels wanted makes another worth it
NOTE = "made by itself"


@dataclass(frozen=True, slots=True)
class Automatic:
    """`after`: a retrain starts when people gave so many labels since the last one that was done, None for never.
    `at_night`: one starts between 1 and 5 o'clock if there is any new label. `refused`: why the last one that was due
    could not start; empty if it could, or since the rule was set anew."""

    after: int | None = None
    at_night: bool = False
    refused: str = ""


def automatic(wb: Workbench, corpus_id: int) -> Automatic:
    with wb.read() as s:
        row = s.get(Corpus, corpus_id)
        return Automatic(**((row.automatic if row else None) or {}))


def set_automatic(
    wb: Workbench, corpus_id: int, *, after: int | None = None, at_night: bool = False, by: int | None = None
) -> Automatic:
    """Raises BadSetting for a number below 1, NotAllowed for a viewer."""
    if after is not None and after < 1:
        raise BadSetting(f"after {after} new labels: give 1 or more, or nothing to leave it off")
    made = Automatic(after, at_night)
    with wb.write() as s:
        people.allow(s, by)
        s.get_one(Corpus, corpus_id).automatic = asdict(made) if made != Automatic() else None
    return made


def new_labels(wb: Workbench, corpus_id: int) -> int:
    """How many labels people gave since the last retrain of the corpus that was done was asked for."""
    with wb.read() as s:
        return _since(s, corpus_id, job_rows.newest_job(s, "retrain", corpus_id, "done"))


def look(wb: Workbench) -> list[JobView]:
    """Start what is due; cheap, and at most once a minute. What cannot start is kept with the rule, and tried again
    when there are more labels. For the worker."""
    started = []
    for corpus_id in _newly_due(wb, "looked"):
        refused = ""
        try:
            started.append(adapting.start_retrain(wb, corpus_id, note=NOTE))
        except As2Error as e:
            refused = str(e)
            log.info("corpus %d is not retrained by itself: %s", corpus_id, e)
        _keep(wb, corpus_id, refused)
    return started


def _keep(wb: Workbench, corpus_id: int, refused: str) -> None:
    with wb.write() as s:
        corpus = s.get(Corpus, corpus_id)
        if corpus is not None and corpus.automatic:  # a new dictionary: a change inside the old one is not noticed
            corpus.automatic = {**corpus.automatic, "refused": refused}


def call(wb: Workbench) -> None:
    """See that a worker runs, and looks, if something is due; cheap, and at most once a minute. For the app: labelling
    alone wakes no worker."""
    try:
        if _newly_due(wb, "called"):
            background.start_worker_if_needed(wb)
    except As2Error as e:
        log.info("whether a retrain is due is not known: %s", e)


def _newly_due(wb: Workbench, mark: str) -> list[int]:
    """Corpora with a retrain due that was not so, with as many labels, at an earlier look of this `mark`."""
    if time.monotonic() - wb.marks.get(mark, -EVERY) < EVERY:
        return []
    wb.marks[mark] = time.monotonic()
    found = []
    with wb.read() as s:
        for corpus in rows.automatic_corpora(s):
            last = job_rows.newest_job(s, "retrain", corpus.id)
            new = _since(s, corpus.id, job_rows.newest_job(s, "retrain", corpus.id, "done"))
            due = is_due(
                Automatic(**corpus.automatic),
                new,
                wb.clock(),
                background.view(last, []) if last else None,
                _since(s, corpus.id, last),
            )
            told = f"{mark} {corpus.id} {last.id if last else 0}"
            if due and new != wb.marks.get(told):
                wb.marks[told] = new
                found.append(corpus.id)
    return found


def _since(s: Session, corpus_id: int, job: Job | None) -> int:
    return rows.labelled_since(s, corpus_id, job.created if job else None)


def is_due(rule: Automatic, new: int, now: datetime, last: Any | None, fresh: int | None = None) -> bool:
    """`last`: the last retrain of the corpus, a JobView or None; `fresh`: the labels since then, `new` if it was done.
    One that came to nothing is not tried again with the labels it had."""
    fresh = new if fresh is None else fresh
    if new == 0 or fresh == 0 or (last is not None and last.active):
        return False
    if rule.after is not None and new >= rule.after and fresh * AGAIN >= rule.after:
        return True
    rested = last is None or now - last.created > timedelta(hours=12)
    return rule.at_night and rested and now.astimezone().hour in NIGHT


def waiting(wb: Workbench) -> VersionView | None:
    """The newest version made from the active one that did better than it on held-out questions and that nobody has
    decided on; None if there is none."""
    active = versions.active(wb)
    better = [
        v
        for v in versions.list_versions(wb)
        if v.state == "candidate"
        and v.parent == active.name
        and not v.problem
        and v.metrics.get("AP", 0.0) > v.metrics.get("before AP", 1.0)
    ]
    return max(better, key=lambda v: v.created, default=None)
