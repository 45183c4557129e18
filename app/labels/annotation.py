"""Labelling: every act is an event on the disk before the call ends.

The label of a pair is its newest event's; undoing adds an event that restores the state before the act. What to label
next is up to `leasing`.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.jobs import retrain_rule
from app.labels.consensus import check_label
from app.labels.items import Presentation
from app.labels.queues import OUTSIDE_QUEUES, QUEUES, REVIEWS
from app.labels.rules import get_rules
from app.workbench.people import Gone, require
from app.workbench.workbench import Workbench
from as2core.errors import As2Error
from db.models import WITHDRAWN, Corpus, LabelEvent, Question, Sentence
from db.repositories import candidates as candidate_rows
from db.repositories import labels as rows
from db.repositories import leases, question_lists, queues, reviews
from db.repositories import questions as question_rows
from db.repositories.candidates import NewCandidate
from db.repositories.pairs import Pair

UNRANKED = 10**9
MOVED = "moved"  # what was done to labels that went to other sentences


class OverlapReached(As2Error):
    """As many people as wanted labelled the pair meanwhile."""


class LeftDocument(Gone):
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
class ActView:
    """One act that could be undone. `pairs`: how many it was about; the first is shown. `label` may be "withdrawn", or
    MOVED with the sentence that the label is on now. `event_id`: of its newest event."""

    question_id: int
    sentence_id: int
    question: str
    text: str
    label: str
    pairs: int = 1
    event_id: int = 0


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
        if not can_label(s, (question_id, sentence_id), annotator_id):
            raise LeftDocument(
                "this sentence no longer exists, because its document was changed or deleted: nothing was recorded; "
                "reload the page to see what the document says now"
            )
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
            if can_label(s, (question_id, sentence_id), annotator_id):
                with suppress(OverlapReached):
                    pair = question_id, sentence_id
                    views.append(add_label(s, wb.clock(), pair, annotator_id, label, display, act))
    retrain_rule.wake_worker_if_due(wb)
    return tuple(views)


def add_label(
    s: Session,
    now: datetime,
    pair: Pair,
    annotator_id: int,
    label: str,
    display: Presentation | None,
    act: str = "",
    *,
    may_exceed: bool = False,
) -> LabelView:
    """`give_label` in the transaction of a caller who has checked the person and the pair. A label from outside the
    queues puts its question in them. `may_exceed`: the overlap. Raises OverlapReached."""
    queue, columns = (display.queue, display.to_columns()) if display else ("", {})
    newest = rows.find_newest_event(s, *pair, annotator_id)
    leases.release(s, pair, annotator_id)
    if newest is not None and newest.label == label:
        if queue not in REVIEWS:
            return _view(newest, changed=False)
        # an act of its own, to be undone; the label is still from the draw it was first given in
        columns |= {name: getattr(newest, name) for name in ("control", "arm", "model_says")}
    if queue in OUTSIDE_QUEUES:
        question_lists.ensure_queued(s, pair[0])  # the question before its pairs, or two would deadlock
    if not queues.lock_candidate(s, *pair):
        place = NewCandidate(pair[1], candidate_rows.find_next_ordinals(s, [pair[0]]).get(pair[0], 0))
        candidate_rows.put_candidates(s, pair[0], [place], origin="labelled")
        queues.lock_candidate(s, *pair)  # which somebody else may have made just now
    if (newest is None or newest.label == WITHDRAWN) and not may_exceed:
        _check_overlap(s, pair, annotator_id, queue)
    if queue in QUEUES and (settle := QUEUES[queue].settle):
        settle(s, pair, now)
    return _view(rows.add_event(s, *pair, annotator_id, label, now, columns | {"act": act}))


def _check_overlap(s: Session, pair: Pair, annotator_id: int, queue: str = "undo") -> None:
    """Whether one more may label the pair, which is locked; a review takes a label more for what it asks about. Raises
    OverlapReached, Gone."""
    if queue in OUTSIDE_QUEUES or (queue in QUEUES and queues.is_asked_about(s, pair, QUEUES[queue].order)):
        return
    others = [r for r in rows.list_labels_of_pair(s, *pair) if r.annotator_id != annotator_id]
    if len(others) >= get_rules(_find_corpus(s, pair)[0]).overlap:
        raise OverlapReached("Others labelled this pair in the meantime. The next item follows.")


def _find_corpus(s: Session, pair: Pair) -> tuple[Corpus, bool]:
    """The corpus of a pair, and whether the sentence left its document. Raises Gone."""
    row = question_rows.find_corpus_of_pair(s, pair)
    if row is None:
        raise Gone("this question or sentence no longer exists: its corpus was changed or deleted; reload the page")
    return row


def check_pair(s: Session, question_id: int, sentence_id: int, annotator_id: int) -> bool:
    """Whether the sentence is still in a document. Raises Gone, NotAllowed for a viewer."""
    _, is_retired = _find_corpus(s, (question_id, sentence_id))
    require(s, annotator_id, "label")
    return not is_retired


def can_label(s: Session, pair: Pair, annotator_id: int) -> bool:
    """As `check_pair`, with False instead of Gone where the question is there and the sentence was deleted."""
    question_id, sentence_id = pair
    try:
        return check_pair(s, question_id, sentence_id, annotator_id)
    except Gone:
        if s.get(Question, question_id) is not None and s.get(Sentence, sentence_id) is None:
            return False
        raise


def withdraw(wb: Workbench, *, question_id: int, sentence_id: int, annotator_id: int) -> LabelView | None:
    """Take one's label of a pair back; None if there was none. Raises Gone, NotAllowed."""
    with wb.write(durable=True) as s:
        check_pair(s, question_id, sentence_id, annotator_id)
        queues.lock_candidate(s, question_id, sentence_id)
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
            return undo_events(s, events, wb.clock())
        except OverlapReached:  # from a withdrawal, the one event of its act
            _leave_withdrawn(s, events[0], corpus_id, wb.clock())
    raise CannotUndo(
        "Your withdrawn label stays withdrawn: enough others have labelled the pair since. Undo again to take back "
        "what you did before it."
    )


def undo_events(s: Session, events: Sequence[LabelEvent], now: datetime) -> LabelView:
    """Take back the events of one act, in the transaction of a caller; what an admin withdrew since stays withdrawn,
    however many acts are undone. Raises OverlapReached where a label that was withdrawn is not wanted any more,
    wherever it was given."""
    reversals = []
    for pair in sorted((event.question_id, event.sentence_id) for event in events):
        queues.lock_candidate(s, *pair)
    for event in events:
        pair = (event.question_id, event.sentence_id)
        before = rows.find_newest_event(s, *pair, event.annotator_id, before=event.id)
        if rows.has_admin_withdrawn(s, event):
            before = None
        source, label = (event, WITHDRAWN) if before is None or before.label == WITHDRAWN else (before, before.label)
        if event.label == WITHDRAWN != label and not event.act:  # a move has one: its label goes back in any case
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
    return tuple(_view_act(events) for events in islice(acts.values(), limit))


def _view_act(events: list[Row]) -> ActView:
    """Of its events, newest first. A moved label has two: it is withdrawn where it was."""
    event, question, sentence = events[-1]
    labels = sum(row.LabelEvent.label != WITHDRAWN for row in events)
    label, pairs = (MOVED, labels) if 0 < labels < len(events) else (event.label, len(events))
    return ActView(event.question_id, event.sentence_id, question, sentence, label, pairs, events[0].LabelEvent.id)


def _view(event: LabelEvent, *, changed: bool = True, pairs: int = 1) -> LabelView:
    label = None if event.label == WITHDRAWN else event.label
    pair = event.question_id, event.sentence_id
    return LabelView(event.id, *pair, event.annotator_id, label, changed, pairs)
