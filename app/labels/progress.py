"""How far labelling is: counts, cached where counting is slow, and the pace of the session."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise, takewhile
from typing import TypeVar

from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.labels.consensus import load_summary, mark_outcomes_within
from app.labels.queues import RANDOM, REVIEWS, TOPS, UNLABELLED
from app.labels.rules import find_rules
from app.labels.seats import Seat, request_queue
from app.labels.visibility import find_reader
from app.workbench.workbench import Workbench
from as2core.types import LABELS
from db.repositories import labels as rows
from db.repositories import queues

SESSION_PAUSE = timedelta(minutes=5)  # a longer pause ends a session
PACE_EVENTS, MIN_PACE_LABELS = 30, 10
MAX_ONE_SIDED = 100  # questions in one address
SLOW_COUNT_SECONDS, CACHE_FACTOR, MAX_CACHE_SECONDS = 0.1, 10, 10.0  # a slow count is cached ten times as long
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ProgressView:
    """How far labelling is. `today` and `mine` are this annotator's pairs, `all` everyone's; `remaining` are those this
    annotator could still label in the queue, questions in the one of those without a label; `per_label` counts `all` by
    the resolved label: LABELS, and "disputed" where people disagree evenly. `pace`: labels a minute in the current
    session, None without one. `target`: the pairs wanted, None if none were set. `overlap`: people a pair."""

    today: int
    mine: int
    all: int
    labelled_questions: int
    remaining: int
    per_label: Mapping[str, int]
    pace: float | None = None
    target: int | None = None
    overlap: int = 1


def measure_progress(
    wb: Workbench,
    corpus_id: int,
    annotator_id: int,
    queue: str = RANDOM,
    *,
    pool: Collection[str] = (),
    questions: tuple[int, ...] = (),
    ahead: timedelta = timedelta(),
) -> ProgressView:
    """How far labelling of the corpus is; a day begins at midnight where clocks are `ahead` of UTC. `pool` and
    `questions` as in `Seat`. Slow counts are cached for some seconds and corrected by one's own count, which is always
    exact."""
    now = wb.clock()
    today = (now + ahead).replace(hour=0, minute=0, second=0, microsecond=0) - ahead
    with wb.read() as s:
        mine, of_today = rows.count_by(s, corpus_id, annotator_id, today)
        rules = find_rules(s, corpus_id)
        (per_label, question_count), more = count_cached(
            wb,
            (corpus_id, annotator_id),
            mine,
            lambda: count_outcomes(wb, s, corpus_id, mark_outcomes_within(wb, s, corpus_id)),
        )
        request = request_queue(s, Seat(corpus_id, annotator_id, queue, pool=tuple(pool), questions=questions), rules)
        count = partial(queues.count_open, s, request, now)
        if queue == UNLABELLED:
            count = partial(queues.count_questions_to_label, s, request)
        # what one labels does not leave a review as it leaves another queue, and one label is enough for a question
        is_exact = queue in REVIEWS or queue == UNLABELLED
        remaining, fewer = (count(), 0) if is_exact else count_cached(wb, (request,), mine, count)
        newest = rows.list_recent_acts(s, annotator_id, corpus_id, PACE_EVENTS)
    # "the rest are incorrect" is one act with as many labels as the list is long: no measure of pace
    last = [r.LabelEvent.created for r in takewhile(lambda r: not r.LabelEvent.act, newest)]
    return ProgressView(
        today=of_today,
        mine=mine,
        all=max(mine, sum(per_label.values()) + more),
        labelled_questions=question_count,
        remaining=max(0, remaining - fewer),
        per_label={label: per_label.get(label, 0) for label in (*LABELS, *sorted(per_label.keys() - set(LABELS)))},
        pace=_measure_pace(now, last),
        target=rules.target,
        overlap=rules.overlap,
    )


def count_cached(wb: Workbench, key: tuple, mine: int, count: Callable[[], T]) -> tuple[T, int]:
    """What `count` gives or gave some seconds ago, and how many pairs its reader has labelled since."""
    if (entry := wb.progress_counts.get(key)) is not None:
        cached, then = entry
        return cached, mine - then
    began = time.thread_time()
    fresh = count()
    seconds = time.thread_time() - began
    if seconds > SLOW_COUNT_SECONDS:
        wb.progress_counts.put(key, (fresh, mine), min(MAX_CACHE_SECONDS, CACHE_FACTOR * seconds))
    return fresh, 0


def count_outcomes(wb: Workbench, s: Session, corpus_id: int, mark: tuple[object, ...]) -> tuple[dict[str, int], int]:
    """As `rows.count_outcomes`; read once for all who ask before the labels change. `mark`: of
    `mark_outcomes_within`."""
    return load_summary(wb, mark, ("outcomes", corpus_id), partial(rows.count_outcomes, s, corpus_id))


def count_outcomes_by_question(wb: Workbench, corpus_id: int) -> list[Row]:
    """Rows (external_id, correct, incorrect) of the questions with a label. Cached until the labels change, and for
    some seconds where counting is slow."""
    with wb.read() as s:
        return count_outcomes_by_question_within(wb, s, corpus_id, mark_outcomes_within(wb, s, corpus_id))


def count_outcomes_by_question_within(
    wb: Workbench, s: Session, corpus_id: int, mark: tuple[object, ...], but_splits: Collection[str] = ()
) -> list[Row]:
    """As `count_outcomes_by_question`, within a session, without the questions of these parts of a divided set. `mark`:
    of `mark_outcomes_within`."""
    key = ("kinds", corpus_id, *sorted(but_splits))
    make = partial(rows.count_outcomes_by_question, s, corpus_id, but_splits)
    kinds, _ = count_cached(wb, key, 0, partial(load_summary, wb, mark, key, make))
    return kinds


def list_one_sided(wb: Workbench, seat: Seat, kind: str) -> tuple[int, ...]:
    """Questions of the queues that have labels of this kind, CORRECT or INCORRECT, none of the other, and sentences
    that this annotator can label, as far as they may know; MAX_ONE_SIDED at most."""
    with wb.read() as s:
        reader = find_reader(s, seat.corpus_id, seat.annotator_id, may_label=True)
        labels = () if reader.sees_all else rows.list_labels_of_corpus(s, seat.corpus_id)
        hidden = {question_id for question_id, _ in reader.find_hidden_pairs(labels)}
        questions = tuple(q for q in rows.list_one_sided_questions(s, seat.corpus_id, kind) if q not in hidden)
        if not questions:
            return ()
        narrow = replace(seat, queue=TOPS, pool=(), questions=questions)
        request = request_queue(s, narrow, find_rules(s, seat.corpus_id))
        return tuple(queues.list_open_question_ids(s, request, wb.clock(), MAX_ONE_SIDED))


def _measure_pace(now: datetime, times: list[datetime]) -> float | None:
    """Labels a minute from the first to the last label of the session at present; `times`: theirs, newest first. None
    before MIN_PACE_LABELS labels."""
    steps = list(takewhile(lambda step: step[0] - step[1] <= SESSION_PAUSE, pairwise([now, *times])))[1:]
    seconds = (times[0] - steps[-1][1]).total_seconds() if steps else 0.0
    return len(steps) / seconds * 60 if len(steps) + 1 >= MIN_PACE_LABELS and seconds > 0 else None
