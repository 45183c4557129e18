"""Labelling: every act is an event on the disk before the call ends.

The label of a pair is its newest event's; undoing adds an event that restores the state before the act. What to label
next is up to `queues`.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import islice, pairwise, takewhile
from typing import TypeVar

from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.jobs import retrain_rule
from app.labels.consensus import LABELS, MAX_NOTE_CHARS, check_label, resolve_labels
from app.labels.guidelines import rules_of, rules_of_corpus
from app.labels.items import Presentation
from app.labels.queues import Seat, request_queue
from app.labels.strategies import OUTSIDE_QUEUES, QUEUES, RANDOM, REVIEWS
from app.workbench.people import Gone, require
from app.workbench.workbench import Workbench, storable
from as2core.errors import As2Error, BadSetting
from db.models import WITHDRAWN, Corpus, LabelEvent, Question
from db.repositories import labels as rows
from db.repositories import leases, question_lists, queues, reviews
from db.repositories import questions as question_rows
from db.repositories.pairs import Pair
from db.repositories.questions import NewCandidate

SESSION_PAUSE = timedelta(minutes=5)  # a longer pause ends a session
PACE_EVENTS, MIN_PACE_LABELS = 30, 10
UNRANKED = 10**9
SLOW_COUNT_SECONDS, CACHE_FACTOR, MAX_CACHE_SECONDS = 0.1, 10, 10.0  # a slow count is cached ten times as long
T = TypeVar("T")


class OverlapReached(As2Error):
    """As many people as wanted labelled the pair meanwhile."""


class LeftDocument(As2Error):
    """The sentence is in no document any more."""


class CannotUndo(As2Error):
    """What an undo would bring back is not wanted any more."""


@dataclass(frozen=True, slots=True)
class LabelView:
    """The state of one pair for one annotator after an event: `label` None when it carries none any more. `changed` is
    False when the call repeated what was already so and no event was written. `pairs`: how many the same act was
    about."""

    event_id: int
    question_id: int
    sentence_id: int
    annotator_id: int
    label: str | None
    changed: bool = True
    pairs: int = 1


@dataclass(frozen=True, slots=True)
class ProgressView:
    """How far labelling is. `today` and `mine` are this annotator's pairs, `all` everyone's; `remaining` are those this
    annotator could still label in the queue; `per_label` counts `all` by the resolved label: LABELS, and "disputed"
    where people disagree evenly. `pace`: labels a minute in the current session, None without one.
    `target`: the pairs wanted, None if none were set."""

    today: int
    mine: int
    all: int
    labelled_questions: int
    remaining: int
    per_label: Mapping[str, int]
    pace: float | None = None
    target: int | None = None


@dataclass(frozen=True, slots=True)
class ActView:
    """One act that could be undone. `pairs`: how many it was about; the first is shown. `label` may be "withdrawn".
    `event_id`: of its newest event."""

    question_id: int
    sentence_id: int
    question: str
    text: str
    label: str
    pairs: int = 1
    event_id: int = 0


@dataclass(frozen=True, slots=True)
class FlagView:
    """A flag that was set. `brings_back`: its question was in no queue before."""

    id: int
    brings_back: bool


def give_label(
    wb: Workbench,
    *,
    question_id: int,
    sentence_id: int,
    annotator_id: int,
    label: str,
    presentation: Presentation | None = None,
) -> LabelView:
    """Label a pair; on the disk when this returns. The label a pair has already is not stored again (`changed` False),
    unless a review asked for it: to confirm a label is an act there. Raises BadSetting for an unknown label, Gone,
    LeftDocument, NotAllowed for a viewer, OverlapReached."""
    check_label(label)
    wb.later.finish(question_id)  # the run that brought the pair
    with wb.write(durable=True) as s:
        if not _check_pair(s, question_id, sentence_id, annotator_id):
            raise LeftDocument("this sentence is no longer in the corpus: nothing was recorded. The next item follows.")
        view = add_label(s, wb.clock(), (question_id, sentence_id), annotator_id, label, presentation)
    retrain_rule.wake_worker_if_due(wb)
    return view


def give_labels(
    wb: Workbench, *, question_id: int, annotator_id: int, label: str, presentations: Mapping[int, Presentation]
) -> tuple[LabelView, ...]:
    """Label several sentences of a question (the keys of `presentations`) in one act, undone in one. Those that enough
    people labelled meanwhile, and those that left their document, are left out. Raises as `give_label` does."""
    check_label(label)
    wb.later.finish(question_id)
    act, views = secrets.token_hex(8), []
    with wb.write(durable=True) as s:
        for sentence_id, display in sorted(presentations.items()):
            if _check_pair(s, question_id, sentence_id, annotator_id):
                with suppress(OverlapReached):
                    pair = question_id, sentence_id
                    views.append(add_label(s, wb.clock(), pair, annotator_id, label, display, act))
    retrain_rule.wake_worker_if_due(wb)
    return tuple(views)


def add_label(
    s: Session, now: datetime, pair: Pair, annotator_id: int, label: str, display: Presentation | None, act: str = ""
) -> LabelView:
    """`give_label` in the transaction of a caller who has checked the person and the pair. A label from outside the
    queues puts its question in them. Raises OverlapReached."""
    queue, columns = (display.queue, display.to_columns()) if display else ("", {})
    newest = rows.find_newest_event(s, *pair, annotator_id)
    leases.release(s, pair, annotator_id)
    if newest is not None and newest.label == label:
        if queue not in REVIEWS:
            return _view(newest, changed=False)
        # an act of its own, to be undone; the label is still from the draw it was first given in
        columns |= {name: getattr(newest, name) for name in ("control", "arm", "model_says")}
    if not queues.lock_candidate(s, *pair):
        place = NewCandidate(pair[1], question_rows.find_next_ordinals(s, [pair[0]]).get(pair[0], 0))
        question_rows.put_candidates(s, pair[0], [place], origin="labelled")
    if newest is None or newest.label == WITHDRAWN:
        _check_overlap(s, pair, annotator_id, queue)
    if queue in OUTSIDE_QUEUES:
        question_lists.set_queued(s, [pair[0]], queued=True)
    if queue in QUEUES and (settle := QUEUES[queue].settle):
        settle(s, pair, now)
    return _view(rows.add_event(s, *pair, annotator_id, label, now, columns | {"act": act}))


def _check_overlap(s: Session, pair: Pair, annotator_id: int, queue: str = "undo") -> None:
    """Whether one more may label the pair, which is locked; a review takes a label more for what it asks about. Raises
    OverlapReached, Gone."""
    if queue in OUTSIDE_QUEUES or (queue in QUEUES and queues.is_waiting(s, pair, QUEUES[queue].order)):
        return
    others = [r for r in rows.list_labels_of_pair(s, *pair) if r.annotator_id != annotator_id]
    if len(others) >= rules_of(_find_corpus(s, pair)[0]).overlap:
        raise OverlapReached("Others labelled this pair in the meantime. The next item follows.")


def _find_corpus(s: Session, pair: Pair) -> tuple[Corpus, bool]:
    """The corpus of a pair, and whether the sentence left its document. Raises Gone."""
    row = question_rows.find_corpus_of_pair(s, pair)
    if row is None:
        raise Gone("this question or sentence no longer exists: its corpus was changed or deleted; reload the page")
    return row


def _check_pair(s: Session, question_id: int, sentence_id: int, annotator_id: int) -> bool:
    """Whether the sentence is still in a document. Raises Gone, NotAllowed for a viewer."""
    _, is_retired = _find_corpus(s, (question_id, sentence_id))
    require(s, annotator_id, "label")
    return not is_retired


def withdraw(wb: Workbench, *, question_id: int, sentence_id: int, annotator_id: int) -> LabelView | None:
    """Take one's label of a pair back; None if there was none. Raises Gone, NotAllowed."""
    with wb.write(durable=True) as s:
        _check_pair(s, question_id, sentence_id, annotator_id)
        newest = rows.find_newest_event(s, question_id, sentence_id, annotator_id)
        if newest is None:
            return None
        if newest.label == WITHDRAWN:
            return _view(newest, changed=False)
        return _view(rows.add_event(s, question_id, sentence_id, annotator_id, WITHDRAWN, wb.clock()))


def undo_last(wb: Workbench, annotator_id: int, corpus_id: int) -> LabelView | None:
    """Restore the state before the annotator's last act in the corpus, by one more event a pair; what it took out of a
    review goes back there. Called again, the act before that one. Returns the state of its best-ranked pair, None if
    there is nothing left to undo. Raises NotAllowed, Gone, or CannotUndo for a withdrawal of what others labelled
    since, as many as are wanted: once, the next undo leaves that pair alone."""
    with wb.write(durable=True) as s:
        require(s, annotator_id, "label")
        events = rows.find_last_act(s, annotator_id, corpus_id)
        if not events:
            return None
        try:
            return _undo(s, events, wb.clock())
        except OverlapReached:  # from a withdrawal, the one event of its act
            _leave_withdrawn(s, events[0], corpus_id, wb.clock())
    raise CannotUndo(
        "Your withdrawn label stays withdrawn: enough others have labelled the pair since. Undo again to take back "
        "what you did before it."
    )


def _undo(s: Session, events: list[LabelEvent], now: datetime) -> LabelView:
    """Take back the events of one act; what an admin withdrew since stays withdrawn, however many acts are undone.
    Raises OverlapReached where a label that was withdrawn is not wanted any more, wherever it was given."""
    reversals = []
    for event in events:
        pair = (event.question_id, event.sentence_id)
        before = rows.find_newest_event(s, *pair, event.annotator_id, before=event.id)
        if rows.has_admin_withdrawn(s, event):
            before = None
        source, label = (event, WITHDRAWN) if before is None or before.label == WITHDRAWN else (before, before.label)
        if event.label == WITHDRAWN != label:
            queues.lock_candidate(s, *pair)
            _check_overlap(s, pair, event.annotator_id)
        columns = rows.copy_presentation(source)  # it comes back as it was assigned
        reversals.append(rows.add_event(s, *pair, event.annotator_id, label, now, columns | {"undoes": event.id}))
        if event.queue in REVIEWS:
            reviews.restore_reviews(s, pair, event.created)
    ranks = [UNRANKED if event.shown_rank is None else event.shown_rank for event in events]
    best = min(reversed(range(len(events))), key=ranks.__getitem__)  # of equals the first
    return _view(reversals[best], pairs=len(reversals))


def _leave_withdrawn(s: Session, withdrawal: LabelEvent, corpus_id: int, now: datetime) -> None:
    """Have nothing left to undo on the pair: what the annotator did there before the withdrawal is taken back by it."""
    pair = (withdrawal.question_id, withdrawal.sentence_id, withdrawal.annotator_id)
    for event in rows.list_acts_on(s, *pair, corpus_id):
        rows.add_event(s, *pair, WITHDRAWN, now, {"undoes": event.id})


def list_acts(wb: Workbench, annotator_id: int, corpus_id: int, limit: int = 5) -> tuple[ActView, ...]:
    """What `undo_last` would take back, newest first: from the events, so it is there after a reload."""
    page, before = 40 * limit, None
    acts: dict[str | int, list[Row]] = {}
    with wb.read() as s:
        while len(acts) <= limit:  # until one more has begun, those before it are whole
            batch = rows.list_recent_acts(s, annotator_id, corpus_id, page, before=before)
            for row in batch:
                before = row.LabelEvent.id
                acts.setdefault(row.LabelEvent.act or before, []).append(row)
            if len(batch) < page:
                break
    views = []
    for events in islice(acts.values(), limit):
        event, question, sentence = events[-1]
        pair, newest_id = (event.question_id, event.sentence_id), events[0].LabelEvent.id
        views.append(ActView(*pair, question, sentence, event.label, len(events), newest_id))
    return tuple(views)


def flag(wb: Workbench, *, question_id: int, sentence_id: int, annotator_id: int, note: str) -> FlagView:
    """Put a pair into the queue of flagged ones, with a note for others; if its question was taken out of the queues,
    it is in them again. Raises Gone, NotAllowed, BadSetting."""
    note = " ".join(storable(note).split())
    if len(note) > MAX_NOTE_CHARS:
        raise BadSetting(f"a note has at most {MAX_NOTE_CHARS} characters, not {len(note)}")
    with wb.write(durable=True) as s:
        _check_pair(s, question_id, sentence_id, annotator_id)
        brings_back = not s.get_one(Question, question_id).queued
        question_lists.set_queued(s, [question_id], queued=True)
        return FlagView(reviews.add_flag(s, (question_id, sentence_id), annotator_id, note, wb.clock()).id, brings_back)


def withdraw_flag(wb: Workbench, flag: FlagView, question_id: int, annotator_id: int) -> None:
    """Take one's own flag back, unless a label has cleared it; its question leaves the queues if it came with it.
    Raises NotAllowed."""
    with wb.write(durable=True) as s:
        require(s, annotator_id, "label")
        reviews.clear_flag(s, flag.id, annotator_id, wb.clock())
        if flag.brings_back:
            question_lists.set_queued(s, [question_id], queued=False)


def read_labels(wb: Workbench, question_id: int, annotator_id: int | None = None) -> dict[int, str]:
    """Sentence id -> label: one annotator's, or what everyone's come to (pairs in dispute are left out)."""
    with wb.read() as s:
        if annotator_id is not None:
            own = rows.find_labels_by(s, annotator_id, [question_id])
            return {sentence_id: label for (_, sentence_id), label in own.items()}
        verdicts = rows.find_verdicts(s, question_ids=[question_id])
        label_of = resolve_labels(rows.list_labels_of_questions(s, [question_id]))
    return label_of | {sentence_id: label for (_, sentence_id), label in verdicts.items()}


def read_visible_labels(wb: Workbench, question_id: int, annotator_id: int) -> dict[int, str]:
    """What everyone's labels come to; where several people are to label a pair, only once one's own label is in."""
    labels = read_labels(wb, question_id)
    with wb.read() as s:
        question = s.get(Question, question_id)
        if question is None or rules_of_corpus(s, question.corpus_id).overlap == 1:
            return labels
        of_people = {r.sentence_id for r in rows.list_labels_of_questions(s, [question_id]) if not r.imported}
    own = read_labels(wb, question_id, annotator_id)
    return {c: label for c, label in labels.items() if c in own or c not in of_people}


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
        rules = rules_of_corpus(s, corpus_id)
        tally = partial(rows.count_outcomes, s, corpus_id)
        (per_label, question_count), more = count_cached(wb, (corpus_id, annotator_id), mine, tally)
        request = request_queue(s, Seat(corpus_id, annotator_id, queue, pool=tuple(pool), questions=questions), rules)
        count = partial(queues.count_open, s, request, now)
        # what one labels does not leave a review as it leaves another queue
        remaining, fewer = (count(), 0) if queue in REVIEWS else count_cached(wb, (request,), mine, count)
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
        pace=_measure_pace([now, *last]),
        target=rules.target,
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


def list_kinds(wb: Workbench, corpus_id: int, but_splits: Collection[str] = ()) -> list[Row]:
    """Rows (question_id, correct, incorrect) of the questions with a label, but those of these parts of a divided set.
    Cached for some seconds where counting is slow."""
    with wb.read() as s:
        key = ("kinds", corpus_id, *sorted(but_splits))
        kinds, _ = count_cached(wb, key, 0, lambda: rows.list_kinds_by_question(s, corpus_id, but_splits))
    return kinds


def _measure_pace(times: list[datetime]) -> float | None:
    """Labels a minute in the session that lasts until the first of `times`, newest first; None before MIN_PACE_LABELS
    labels."""
    steps = list(takewhile(lambda step: step[0] - step[1] <= SESSION_PAUSE, pairwise(times)))
    seconds = (times[0] - steps[-1][1]).total_seconds() if steps else 0.0
    return len(steps) / seconds * 60 if len(steps) >= MIN_PACE_LABELS and seconds > 0 else None


def _view(event: LabelEvent, *, changed: bool = True, pairs: int = 1) -> LabelView:
    label = None if event.label == WITHDRAWN else event.label
    pair = event.question_id, event.sentence_id
    return LabelView(event.id, *pair, event.annotator_id, label, changed, pairs)
