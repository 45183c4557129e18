"""Labelling: every act is an event on the disk before the call ends.

What a pair is labelled is what its newest event says; undoing adds an event that restores the state before the act.
What comes next to be labelled is `queueing`'s business.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import islice, pairwise, takewhile
from typing import Any

from sqlalchemy.orm import Session

from app.services import automatic
from app.services.label_views import ActView
from app.services.labels import settled
from app.services.people import Gone, require
from app.services.queueing import wanted_of
from app.services.rules import rules_of
from app.services.views import LABELS, LabelView, ProgressView, Shown
from app.services.workbench import Workbench, storable
from as2core.errors import As2Error, BadSetting
from db.models import WITHDRAWN, LabelEvent
from db.repositories import corpora as corpus_rows
from db.repositories import labels as rows
from db.repositories import leases, queues, reviews
from db.repositories import questions as question_rows
from db.repositories.leases import Pair
from db.repositories.questions import NewCandidate

FREE = ("", "ask")  # labels from here may exceed the overlap: no queue deals the pair
MAX_NOTE = 500
SITTING = timedelta(minutes=5)  # a longer pause ends it
PACED = 30  # events
NOWHERE = 10**9  # the rank of what has none
SLOW, REST, LONGEST = 0.1, 10, 10.0  # a count of more seconds' computing is kept ten times as long, ten at most


class Enough(As2Error):
    """As many people as wanted labelled the pair meanwhile."""


class CannotUndo(As2Error):
    """What an undo would bring back is not wanted any more."""


def give_label(
    wb: Workbench, *, question_id: int, sentence_id: int, annotator_id: int, label: str, shown: Shown | None = None
) -> LabelView:
    """Label a pair; on the disk when this returns. The label a pair has already is not stored again (`changed` False),
    unless a queue of `queues.REVIEWS` asked for it: to say so again is an act there.

    Raises BadSetting for an unknown label, Gone, NotAllowed for a viewer, Enough.
    """
    _known(label)
    with wb.write(durable=True) as s:
        _check(s, question_id, sentence_id, annotator_id)
        given = give_within(s, wb, (question_id, sentence_id), annotator_id, label, shown)
    automatic.call(wb)
    return given


def give_labels(
    wb: Workbench, *, question_id: int, annotator_id: int, label: str, shown: Mapping[int, Shown]
) -> tuple[LabelView, ...]:
    """Label several sentences of a question (the keys of `shown`) in one act, undone in one. Those that enough people
    labelled meanwhile are left out. Raises as `give_label` does."""
    _known(label)
    act, given = secrets.token_hex(8), []
    with wb.write(durable=True) as s:
        for sentence_id in sorted(shown):
            _check(s, question_id, sentence_id, annotator_id)
            try:
                pair = (question_id, sentence_id)
                given.append(give_within(s, wb, pair, annotator_id, label, shown[sentence_id], act=act))
            except Enough:
                continue
    automatic.call(wb)
    return tuple(given)


def _known(label: str) -> None:
    if label not in LABELS:
        raise BadSetting(f"no label {label!r}; known: {', '.join(LABELS)}")


def give_within(
    s: Session, wb: Workbench, pair: Pair, annotator_id: int, label: str, shown: Shown | None, *, act: str = ""
) -> LabelView:
    """`give_label` in the transaction of a caller who has checked the person and the pair. Raises Enough."""
    queue, now = shown.queue if shown else "", wb.clock()
    newest = rows.newest_event(s, *pair, annotator_id)
    leases.release(s, pair[0], [pair[1]], annotator_id)
    confirmed = newest is not None and newest.label == label
    if confirmed and queue not in queues.REVIEWS:
        return _view(newest, changed=False)
    if not question_rows.candidate_ids(s, pair[0], [pair[1]]):
        place = NewCandidate(pair[1], question_rows.next_ordinals(s, [pair[0]]).get(pair[0], 0))
        question_rows.put_candidates(s, pair[0], [place], origin="labelled")
    if newest is None or newest.label == WITHDRAWN:
        _room(s, pair, annotator_id, queue)
    if queue == "second":
        reviews.looked_at(s, pair, now)
    if queue == "flagged":
        reviews.clear_flags(s, pair, now)
    if confirmed:  # an act of its own, to be undone; the label is still from the draw it was first given in
        shown = replace(shown, control=newest.control, arm=newest.arm, model_says=newest.model_says)
    said = asdict(shown) if shown else None
    return _view(rows.add_event(s, *pair, annotator_id, label, now, shown=said, act=act))


def _room(s: Session, pair: Pair, annotator_id: int, queue: str) -> None:
    """Whether one more may label the pair; a review takes a label more for what waits in it. Raises Enough."""
    if queue in FREE or reviews.waits(s, pair, queue):
        return
    queues.lock_candidate(s, *pair)
    corpus_id = question_rows.question(s, pair[0]).corpus_id
    if rows.people_on(s, *pair, but=annotator_id) >= rules_of(s, corpus_id).overlap:
        raise Enough("others labelled this one while you looked at it; the next one comes")


def withdraw(wb: Workbench, *, question_id: int, sentence_id: int, annotator_id: int) -> LabelView | None:
    """Take one's label of a pair back; None if there was none. Raises Gone, NotAllowed."""
    with wb.write(durable=True) as s:
        _check(s, question_id, sentence_id, annotator_id)
        newest = rows.newest_event(s, question_id, sentence_id, annotator_id)
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
        require(s, annotator_id)
        events = rows.last_act(s, annotator_id, corpus_id)
        if not events:
            return None
        try:
            return _undo(s, events, wb.clock())
        except Enough:  # from a withdrawal, the one event of its act
            _leave_withdrawn(s, events[0], corpus_id, wb.clock())
    raise CannotUndo(
        "others labelled the pair since you withdrew your label, as many people as are wanted: it stays withdrawn; "
        "undo once more takes back what you did before on another"
    )


def _undo(s: Session, events: list[LabelEvent], now: datetime) -> LabelView:
    """Take back the events of one act. Raises Enough where a label that was withdrawn is not wanted any more, wherever
    it was given."""
    undone = []
    for event in events:
        pair = (event.question_id, event.sentence_id, event.annotator_id)
        before = rows.newest_event(s, *pair, before=event.id)
        label = before.label if before is not None else WITHDRAWN
        if event.label == WITHDRAWN != label:
            _room(s, pair[:2], event.annotator_id, "undo")
        shown = rows.shown_with(event if label == WITHDRAWN else before)  # it comes back as it was dealt
        undone.append(rows.add_event(s, *pair, label, now, shown=shown, undoes=event.id))
        if event.queue in queues.REVIEWS:
            reviews.look_again(s, pair[:2], event.created)
    ranks = [NOWHERE if event.shown_rank is None else event.shown_rank for event in events]
    best = min(reversed(range(len(events))), key=ranks.__getitem__)  # of equals the first
    return _view(undone[best], together=len(undone))


def _leave_withdrawn(s: Session, withdrawal: LabelEvent, corpus_id: int, now: datetime) -> None:
    """Have nothing left to undo on the pair: what the annotator did there before the withdrawal is taken back by it."""
    pair = (withdrawal.question_id, withdrawal.sentence_id, withdrawal.annotator_id)
    for event in rows.acts_on(s, *pair, corpus_id):
        rows.add_event(s, *pair, WITHDRAWN, now, undoes=event.id)


def recent_acts(wb: Workbench, annotator_id: int, corpus_id: int, limit: int = 5) -> tuple[ActView, ...]:
    """What `undo_last` would take back, newest first: from the events, so it is there after a reload."""
    acts: dict[str | int, list[Any]] = {}
    page, before = 40 * limit, None
    with wb.read() as s:
        while len(acts) <= limit:  # until one more has begun, those before it are whole
            found = rows.recent_acts(s, annotator_id, corpus_id, page, before=before)
            for row in found:
                before = row.LabelEvent.id
                acts.setdefault(row.LabelEvent.act or before, []).append(row)
            if len(found) < page:
                break
    told = []
    for events in islice(acts.values(), limit):
        first = events[-1]
        event = first.LabelEvent
        told.append(
            ActView(event.question_id, event.sentence_id, first.question, first.sentence, event.label, len(events))
        )
    return tuple(told)


def flag(wb: Workbench, *, question_id: int, sentence_id: int, annotator_id: int, note: str) -> None:
    """Put a pair into the queue of flagged ones, with a note for whoever looks. Raises Gone, NotAllowed, BadSetting."""
    note = " ".join(storable(note).split())
    if len(note) > MAX_NOTE:
        raise BadSetting(f"a note has at most {MAX_NOTE} characters, not {len(note)}")
    with wb.write(durable=True) as s:
        _check(s, question_id, sentence_id, annotator_id)
        reviews.add_flag(s, (question_id, sentence_id), annotator_id, note, wb.clock())


def labels_of(wb: Workbench, question_id: int, annotator_id: int | None = None) -> dict[int, str]:
    """Sentence id -> label: one annotator's, or what everyone's come to (pairs in dispute are left out)."""
    with wb.read() as s:
        found = rows.labels_of_question(s, question_id)
        verdicts = rows.verdicts(s, question_id=question_id)
    if annotator_id is None:
        return settled(found) | {sentence_id: label for (_, sentence_id), label in verdicts.items()}
    return {r.sentence_id: r.label for r in found if r.annotator_id == annotator_id}


def labels_seen_by(wb: Workbench, question_id: int, annotator_id: int) -> dict[int, str]:
    """What everyone's labels come to; where several people are to label a pair, only once one's own label is in."""
    everyones = labels_of(wb, question_id)
    with wb.read() as s:
        question = question_rows.question(s, question_id)
        if question is None or rules_of(s, question.corpus_id).overlap == 1:
            return everyones
        of_people = {r.sentence_id for r in rows.labels_of_question(s, question_id) if not r.imported}
    mine = labels_of(wb, question_id, annotator_id)
    return {c: label for c, label in everyones.items() if c in mine or c not in of_people}


def progress(
    wb: Workbench,
    corpus_id: int,
    annotator_id: int,
    queue: str = "random",
    *,
    pool: Collection[str] = (),
    ahead: timedelta = timedelta(),
) -> ProgressView:
    """How far labelling of the corpus is; a day begins at midnight where clocks are `ahead` of UTC. What takes long to
    count is counted anew once in some seconds, and meanwhile goes on by one's own count, which is always of this
    moment."""
    now = wb.clock()
    today = (now + ahead).replace(hour=0, minute=0, second=0, microsecond=0) - ahead
    with wb.read() as s:
        mine, of_today = rows.count_by(s, corpus_id, annotator_id, today)
        how = rules_of(s, corpus_id)
        (per_label, questions), more = _counted(wb, (corpus_id, annotator_id), mine, partial(rows.tally, s, corpus_id))
        wanted = wanted_of(s, corpus_id, queue, how, pool)
        count = partial(queues.count_open, s, wanted, leases.Holder(annotator_id), now)
        # what one labels does not leave a review as it leaves another queue
        remaining, fewer = (
            (count(), 0) if queue in queues.REVIEWS else _counted(wb, (wanted, annotator_id), mine, count)
        )
        newest = rows.recent_acts(s, annotator_id, corpus_id, PACED)
    # what came before "the rest are incorrect" says nothing: one act, and as many labels as the list is long
    last = [r.LabelEvent.created for r in takewhile(lambda r: not r.LabelEvent.act, newest)]
    return ProgressView(
        today=of_today,
        mine=mine,
        all=max(mine, sum(per_label.values()) + more),
        questions_labelled=questions,
        remaining=max(0, remaining - fewer),
        per_label={label: per_label.get(label, 0) for label in (*LABELS, *sorted(per_label.keys() - set(LABELS)))},
        pace=_pace([now, *last]),
        target=how.target,
    )


def _counted(wb: Workbench, key: tuple, mine: int, count: Callable[[], Any]) -> tuple[Any, int]:
    """What `count` gives or gave some seconds ago, and how many pairs its reader has labelled since."""
    until, found, then = wb.kept.get(key, (0.0, None, 0))
    if time.monotonic() < until:
        return found, mine - then
    began = time.thread_time()
    found = count()
    took = time.thread_time() - began
    if took > SLOW:
        wb.kept[key] = time.monotonic() + min(LONGEST, REST * took), found, mine
    return found, 0


def _pace(times: list[datetime]) -> float | None:
    """Labels a minute of the sitting that lasts until the first of `times`, newest first; None before three labels."""
    sitting = times[:1]
    for later, earlier in pairwise(times):
        if later - earlier > SITTING:
            break
        sitting.append(earlier)
    labels, seconds = len(sitting) - 1, (sitting[0] - sitting[-1]).total_seconds()
    return labels / seconds * 60 if labels >= 3 and seconds > 0 else None


def _check(s: Session, question_id: int, sentence_id: int, annotator_id: int) -> None:
    question, sentence = question_rows.question(s, question_id), corpus_rows.sentence(s, sentence_id)
    if question is None or sentence is None or question.corpus_id != sentence.corpus_id:
        raise Gone(
            "this question or sentence is no longer there: its corpus was changed or deleted; load the page anew"
        )
    require(s, annotator_id)


def _view(event: LabelEvent, *, changed: bool = True, together: int = 1) -> LabelView:
    return LabelView(
        event.id,
        event.question_id,
        event.sentence_id,
        event.annotator_id,
        None if event.label == WITHDRAWN else event.label,
        event.created,
        changed,
        together,
    )
