"""What to label next: one pair, or one question with its whole list, leased so that nobody else gets it meanwhile.

A viewer, who cannot label, is shown the same without a lease.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy import Row

from app.labels.consensus import group_by_sentence
from app.labels.items import QuestionItem, QueueItem, build_item, build_row, count_run, find_version_name
from app.labels.queues import AGAIN, DECIDE, QUEUES, Assignment, can_narrow, explain_list, is_sample
from app.labels.rules import find_rules
from app.labels.seats import (
    Head,
    Seat,
    draw_chance,
    draw_head,
    is_repeat,
    make_assignment,
    read_recent_questions,
    read_recent_texts,
    request_queue,
)
from app.workbench.people import VIEWER, Gone, has_role
from app.workbench.workbench import Workbench
from db.models import Question
from db.repositories import labels as rows
from db.repositories import leases, queues
from db.repositories.leases import Holder
from db.repositories.pairs import Pair, read_pair
from db.repositories.questions import NON_TRAINING_SPLITS

LEASE = timedelta(minutes=10)

# --- one pair --------------------------------------------------------------------------------------------------------


def find_next_item(wb: Workbench, seat: Seat, skips: Sequence[Pair | int] = ()) -> QueueItem | None:
    """The next pair of a queue, leased for ten minutes: nobody else is given it meanwhile. The same call again gives
    the same pair, with a fresh lease, until it is labelled or `skips` (pairs not wanted now, the latest last, and
    questions). None when the queue is empty; `score_job.start_scoring` fills it. Raises BadSetting for an unknown
    queue."""
    misses: list[Pair] = []
    while True:
        now = wb.clock()
        with wb.read() as s:  # a read blocks nobody; the lease decides
            head = draw_head(s, seat, now, [*skips, *misses])
            recent = read_recent_texts(s, seat, skips)
        matches = [r for r in head.rows if read_pair(r) not in (*skips, *misses)]
        if not matches:
            break
        for row in sorted(
            matches, key=lambda r: (read_pair(r) != head.leased, is_repeat(read_pair(r), r.text, recent))
        ):
            pair = read_pair(row)
            if token := _lease(wb, seat, head, pair, now):
                is_scored = row.rank is not None
                assignment = make_assignment(head.rules, seat, pair, control=head.control, is_scored=is_scored)
                with wb.read() as s:
                    return build_item(s, row, seat.annotator_id, assignment, token, head.rules)
        misses += map(read_pair, matches)  # others were quicker, such as with a whole list: the rest may be open
    leave(wb, seat)  # what was in front is not kept from others
    return None


def _lease(wb: Workbench, seat: Seat, head: Head, pair: Pair, now: datetime) -> str:
    """The token of a pair that is in front of nobody else; "" where somebody leased or labelled it after the draw."""
    token = head.token if pair == head.leased else _make_token(*pair)
    with wb.write() as s:
        leases.release_all(s, seat.corpus_id, seat.who, seat.queue, but=None if head.only_views else pair)
        if not head.only_views and not leases.acquire(
            s, pair, seat.who, queue=seat.queue, token=token, expires=now + LEASE, now=now, control=head.control
        ):
            return ""
        if not QUEUES[seat.queue].is_review and not queues.is_open(s, pair, seat.annotator_id, head.rules.overlap):
            leases.release(s, pair, seat.annotator_id)  # labelled by whoever had the lease before
            return ""
    return token


def open_item(
    wb: Workbench,
    question_id: int,
    sentence_id: int,
    annotator_id: int,
    *,
    holder: str = "",
    assignment: Assignment | None = None,
) -> QueueItem:
    """A certain pair, to show it again as it was assigned before (None: as `read_assignment` says); leased if nobody
    else holds it (`holder` as in `Seat`), else locked unless the annotator labelled it. Raises Gone."""
    now, pair, who = wb.clock(), (question_id, sentence_id), Holder(annotator_id, holder)
    token, expires = _make_token(*pair), now + LEASE
    assignment = assignment or read_assignment(wb, *pair, annotator_id)
    with wb.write() as s:
        row, question = queues.find_pair_row(s, *pair), s.get(Question, question_id)
        if row is None or question is None:
            raise Gone("this sentence is no longer a candidate of the question; reload the page")
        only_views = has_role(s, annotator_id, VIEWER)
        is_leased = not only_views and leases.acquire(s, pair, who, queue="", token=token, expires=expires, now=now)
        rules = find_rules(s, question.corpus_id)
        item = build_item(s, row, annotator_id, assignment, token, rules, again=True)
    is_locked = not (is_leased or only_views or item.label)
    return replace(item, is_locked=is_locked)


def read_assignment(wb: Workbench, question_id: int, sentence_id: int, annotator_id: int) -> Assignment:
    """How a pair that the annotator labelled was assigned, undone or not: as its newest event says."""
    with wb.read() as s:
        event = rows.find_newest_event(s, question_id, sentence_id, annotator_id)
        if event is not None and event.queue == DECIDE:
            return Assignment(DECIDE, chance=event.chance)
        if event is None or event.queue not in QUEUES:
            return Assignment(AGAIN, arm="" if event is None else event.arm)
        assignment = Assignment(event.queue, event.control, event.arm)
    return replace(assignment, first_id=sentence_id) if assignment.is_random else assignment


# --- a question with its list ----------------------------------------------------------------------------------------


def find_next_question(wb: Workbench, seat: Seat, skips: Sequence[int] = ()) -> QuestionItem | None:
    """The question of the queue's next pair with its whole list, every pair of it that is open leased; `skips`:
    questions not wanted now, the latest last. A list that somebody else is at is passed over, also where several people
    label each pair and those labelled so far are open; a review asks about single pairs. None when nothing is left,
    whoever takes questions meanwhile. Raises BadSetting."""
    misses: list[int] = []
    while True:
        with wb.read() as s:
            head = draw_head(s, seat, wb.clock(), [*skips, *misses], is_list=True)
            recent = read_recent_questions(s, seat, skips)
        if not head.rows:
            break
        leased_id = head.leased and head.leased[0]
        for row in sorted(
            head.rows, key=lambda r: (r.question_id != leased_id, is_repeat(r.question_id, r.question, recent))
        ):
            assignment = make_assignment(head.rules, seat, (row.question_id, 0), control=head.control)
            target: int | None = row.sentence_id
            if assignment.is_random:
                assignment, target = replace(assignment, first_id=target), None
            item = open_question(wb, seat, row.question_id, assignment, target)
            lease_count = 0 if QUEUES[seat.queue].is_review else sum(r.is_leased for r in item.rows)
            if sum(r.free for r in item.rows) > lease_count:
                return item
            misses.append(row.question_id)  # somebody else is at it, maybe since this moment
    leave(wb, seat)
    return None


def open_question(
    wb: Workbench, seat: Seat, question_id: int, assignment: Assignment | None = None, target: int | None = None
) -> QuestionItem:
    """A certain question with its list, as it was assigned before (None: as the queue assigns it); what the holder had
    before is given back. `target`: the sentence that the queue chose it for. Raises Gone."""
    now, token = wb.clock(), _make_token(question_id)
    with wb.write() as s:
        question = s.get(Question, question_id)
        if question is None:
            raise Gone("this question no longer exists; reload the page")
        rules = find_rules(s, question.corpus_id)
        assignment = assignment or make_assignment(rules, seat, (question_id, 0))
        leases.release_all(s, question.corpus_id, seat.who, seat.queue)
        queue = seat.queue if assignment.queue == seat.queue else ""  # it goes back with what this queue assigned
        acquire = partial(leases.acquire, s, who=seat.who, queue=queue, token=token, expires=now + LEASE, now=now)
        only_views = has_role(s, seat.annotator_id, VIEWER)
        votes = group_by_sentence(rows.list_labels_of_questions(s, [question_id]))
        request = request_queue(s, replace(seat, queue=assignment.queue, pool=()), rules)
        candidates = queues.list_question_rows(s, question_id, request, now)
        items = []
        for row in candidates:
            pair = read_pair(row)
            is_free = bool(row.free) and (only_views or acquire(pair, control=assignment.control))
            is_offered = row.asked or row.sentence_id == target
            me, labels = seat.annotator_id, votes.get(row.sentence_id, [])
            items.append(build_row(s, row, assignment, me, labels, rules, is_offered=is_offered, is_free=is_free))
        first = next((r for r in candidates if r.version_id), None)
        version = find_version_name(s, None if first is None else first.version_id)
        run_size = 0 if first is None else count_run(s, first)
        labelled_by = _find_labellers(votes, [r.sentence_id for r in items if not r.is_open], rules.overlap)
    if assignment.is_blind:
        items.sort(key=lambda r: draw_chance(question_id, r.sentence_id))
    items.sort(key=lambda r: r.sentence_id != assignment.first_id)
    why = explain_list(assignment)
    return QuestionItem(
        question_id,
        question.text,
        tuple(items),
        why,
        assignment,
        question.split in NON_TRAINING_SPLITS,
        version,
        token,
        run_size,
        labelled_by,
    )


def reopen_question(wb: Workbench, seat: Seat, question_id: int) -> QuestionItem | None:
    """The question with its list that somebody left, such as before a reload, also where the queue offers it no more:
    one label is enough to leave the queue of questions without any. None where the queue may not give it, where nothing
    in it is open, and where chance chose it: `find_next_question` gives such a one again, as it was drawn."""
    with wb.read() as s:
        question = s.get(Question, question_id)
        lease = leases.find_lease(s, seat.corpus_id, seat.who, seat.queue, wb.clock())
    is_outside = seat.questions and can_narrow(seat.queue) and question_id not in seat.questions
    if question is None or question.corpus_id != seat.corpus_id or not question.queued or is_outside:
        return None
    if is_sample(seat.queue) or (lease is not None and lease.control):
        return None
    item = open_question(wb, seat, question_id)
    return item if any(r.free for r in item.rows) else None


def _find_labellers(votes: Mapping[int, list[Row]], sentence_ids: Collection[int], overlap: int) -> tuple[str, ...]:
    """Who labelled those of these sentences that have as many labels of people as are wanted, by name."""
    groups = [{v.annotator for v in votes.get(i, ()) if not v.imported} for i in sentence_ids]
    return tuple(sorted({name for group in groups if len(group) >= overlap for name in group}))


def leave(wb: Workbench, seat: Seat, but: Pair | None = None) -> None:
    """Give back what the holder was assigned from a queue, except the pair in front."""
    with wb.write() as s:
        leases.release_all(s, seat.corpus_id, seat.who, seat.queue, but=but)


def _make_token(*ids: int) -> str:
    return "-".join([*map(str, ids), secrets.token_hex(4)])
