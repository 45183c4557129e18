"""Retraining without being asked: after so many new labels, or at night. A version made so waits like any other: it
never answers before somebody promotes it. The worker looks, so one has to run for the nights.
"""

from __future__ import annotations

import logging
import time
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from app import jobs as background
from app.services import adapting, versions
from app.services.views import JobView, VersionView
from app.services.workbench import Workbench
from as2core.errors import As2Error, BadSetting
from db.models import Corpus
from db.repositories import choices as rows

log = logging.getLogger(__name__)

NIGHT = range(1, 5)  # hours of the machine's own clock
EVERY = 60.0  # seconds between looks
NOTE = "made by itself"


@dataclass(frozen=True, slots=True)
class Automatic:
    """`after`: a retrain starts when people gave so many labels since the last one, None for never. `at_night`: one
    starts between 1 and 5 o'clock if there is any new label."""

    after: int | None = None
    at_night: bool = False


def automatic(wb: Workbench, corpus_id: int) -> Automatic:
    with wb.read() as s:
        row = s.get(Corpus, corpus_id)
        return Automatic(**((row.automatic if row else None) or {}))


def set_automatic(wb: Workbench, corpus_id: int, *, after: int | None = None, at_night: bool = False) -> Automatic:
    """Raises BadSetting for a number below 1."""
    if after is not None and after < 1:
        raise BadSetting(f"after {after} new labels: give 1 or more, or nothing to leave it off")
    made = Automatic(after, at_night)
    with wb.write() as s:
        s.get_one(Corpus, corpus_id).automatic = asdict(made) if made != Automatic() else None
    return made


def new_labels(wb: Workbench, corpus_id: int) -> int:
    """How many labels people gave since the last retrain of the corpus was asked for."""
    last = _last(wb, corpus_id)
    with wb.read() as s:
        return rows.labelled_since(s, corpus_id, last.created if last else None)


def look(wb: Workbench) -> list[JobView]:
    """Start what is due; cheap, and at most once a minute. What cannot start is said in the log, and tried again when
    there are more labels."""
    if time.monotonic() - wb.marks.get("looked", -EVERY) < EVERY:
        return []
    wb.marks["looked"] = time.monotonic()
    with wb.read() as s:
        wanted = [(c.id, Automatic(**c.automatic)) for c in rows.automatic_corpora(s)]
    started = []
    for corpus_id, rule in wanted:
        count = new_labels(wb, corpus_id)
        if not is_due(rule, count, wb.clock(), _last(wb, corpus_id)) or count == wb.marks.get(_mark(corpus_id)):
            continue
        wb.marks[_mark(corpus_id)] = count
        try:
            started.append(adapting.start_retrain(wb, corpus_id, note=NOTE))
        except As2Error as e:
            log.info("corpus %d is not retrained by itself: %s", corpus_id, e)
    return started


def is_due(rule: Automatic, new: int, now: datetime, last: Any | None) -> bool:
    """`last`: the last retrain of the corpus, a JobView or None."""
    if new == 0 or (last is not None and last.active):
        return False
    if rule.after is not None and new >= rule.after:
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


def _last(wb: Workbench, corpus_id: int) -> JobView | None:
    return next((j for j in background.listed(wb, "retrain", 100) if j.corpus_id == corpus_id), None)


def _mark(corpus_id: int) -> str:
    return f"automatic {corpus_id}"
