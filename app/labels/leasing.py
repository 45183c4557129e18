"""What to label next: one pair, or one question with its whole list, leased so that nobody else gets it meanwhile.

An adaptive queue is not a sample: it asks for what teaches the model most. So a share of it is drawn at random and
stored as such ("control"), and estimates are made from that share alone. Of what is drawn at random a share is shown
without scores ("blind"): the difference between its labels and the others' is the effect of seeing the score.

A viewer, who cannot label, is shown the same without a lease.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.labels.consensus import find_outcomes, group_by_sentence
from app.labels.items import QuestionItem, QueueItem, build_item, build_row, count_run, find_version_name
from app.labels.queues import (
    ADAPTIVE,
    AGAIN,
    DECIDE,
    QUEUES,
    RANDOM,
    UNLABELLED,
    Assignment,
    can_narrow,
    explain_list,
    is_sample,
)
from app.labels.rules import Rules, find_rules
from app.labels.visibility import find_reader
from app.workbench.people import VIEWER, Gone, has_role
from app.workbench.workbench import Workbench
from as2core.errors import BadSetting
from as2core.text import tokenize
from as2core.types import CORRECT
from db.models import Question, Sentence
from db.repositories import labels as rows
from db.repositories import leases, queues
from db.repositories.leases import Holder, Lease
from db.repositories.pairs import Pair, read_pair
from db.repositories.questions import NON_TRAINING_SPLITS

RETRIEVAL = "retrieval"
LEASE = timedelta(minutes=10)
MIN_REPEAT_SIMILARITY = 0.8  # Jaccard of the words
HEAD_ROWS, HEAD_QUESTIONS = 60, 8  # the head of the queue, among which the next pair or question is chosen


@dataclass(frozen=True, slots=True)
class Seat:
    """Who labels where. `holder` separates browsers under the same typed name, "" for somebody who logs in; `pool`
    names the rankers whose tops make a pooled queue. `questions`: only these, where the queue `can_narrow`; none given:
    all."""

    corpus_id: int
    annotator_id: int
    queue: str
    holder: str = ""
    pool: tuple[str, ...] = ()
    questions: tuple[int, ...] = ()

    @property
    def who(self) -> Holder:
        return Holder(self.annotator_id, self.holder)


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
            draw = _draw(s, seat, now, [*skips, *misses])
            recent = _read_recent_texts(s, seat, skips)
        matches = [r for r in draw.rows if read_pair(r) not in (*skips, *misses)]
        if not matches:
            break
        for row in sorted(
            matches, key=lambda r: (read_pair(r) != draw.leased, _is_repeat(read_pair(r), r.text, recent))
        ):
            pair = read_pair(row)
            if token := _lease(wb, seat, draw, pair, now):
                assignment = _assign(draw.rules, seat, pair, control=draw.control, is_scored=row.rank is not None)
                with wb.read() as s:
                    return build_item(s, row, seat.annotator_id, assignment, token, draw.rules)
        misses += map(read_pair, matches)  # others were quicker, such as with a whole list: the rest may be open
    leave(wb, seat)  # what was in front is not kept from others
    return None


def _lease(wb: Workbench, seat: Seat, draw: _Draw, pair: Pair, now: datetime) -> str:
    """The token of a pair that is in front of nobody else; "" where somebody leased or labelled it after the draw."""
    token = draw.token if pair == draw.leased else _make_token(*pair)
    with wb.write() as s:
        leases.release_all(s, seat.corpus_id, seat.who, seat.queue, but=None if draw.only_views else pair)
        if not draw.only_views and not leases.acquire(
            s, pair, seat.who, queue=seat.queue, token=token, expires=now + LEASE, now=now, control=draw.control
        ):
            return ""
        if not QUEUES[seat.queue].is_review and not queues.is_open(s, pair, seat.annotator_id, draw.rules.overlap):
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
    questions not wanted now, the latest last. None when nothing is left, whoever takes questions meanwhile. Raises
    BadSetting."""
    misses: list[int] = []
    while True:
        with wb.read() as s:
            draw = _draw(s, seat, wb.clock(), [*skips, *misses], is_list=True)
            recent = _read_recent_questions(s, seat, skips)
        if not draw.rows:
            break
        leased_id = draw.leased and draw.leased[0]
        for row in sorted(
            draw.rows, key=lambda r: (r.question_id != leased_id, _is_repeat(r.question_id, r.question, recent))
        ):
            assignment = _assign(draw.rules, seat, (row.question_id, 0), control=draw.control)
            target: int | None = row.sentence_id
            if assignment.is_random:
                assignment, target = replace(assignment, first_id=target), None
            item = open_question(wb, seat, row.question_id, assignment, target)
            if any(r.free for r in item.rows):
                return item
            misses.append(row.question_id)  # others were quicker, such as one who began at the same time
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
        assignment = assignment or _assign(rules, seat, (question_id, 0))
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
        items.sort(key=lambda r: _chance(question_id, r.sentence_id))
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


def count_at_other_desks(wb: Workbench, seat: Seat) -> int:
    """How many pairs of the queue are in front of somebody else, or at another desk of the same person."""
    with wb.read() as s:
        request, now = request_queue(s, seat, find_rules(s, seat.corpus_id)), wb.clock()
        return queues.count_open(s, request, now) - queues.count_open(s, request, now, leased=False)


def has_open_item(wb: Workbench, seat: Seat, *, is_list: bool = True) -> bool:
    """Whether the queue holds a pair for this annotator, be it in front of somebody else now. `is_list`: what is wanted
    are questions."""
    with wb.read() as s:
        begun_id = None if is_list else _find_begun_question(s, seat)
        request = replace(request_queue(s, seat, find_rules(s, seat.corpus_id)), begun_id=begun_id)
        return bool(queues.list_open_question_ids(s, request, wb.clock(), 1))


def list_pool(wb: Workbench, corpus_id: int) -> tuple[str, ...]:
    """Names of the rankers whose tops can be pooled: those that scored here, newest first, and retrieval."""
    with wb.read() as s:
        return (*(name for _, name, _ in queues.list_pool_versions(s, corpus_id)), RETRIEVAL)


# --- drawing ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Draw:
    """The head of a queue for one annotator: pairs, or one of each question. `leased`: the pair they hold from it
    already, with its token."""

    rules: Rules
    control: bool
    rows: list[Row]
    leased: Pair | None
    token: str
    only_views: bool


def _draw(s: Session, seat: Seat, now: datetime, skips: Sequence[Pair | int], *, is_list: bool = False) -> _Draw:
    """`skips`: pairs, and ids of questions, which are left out. `is_list`: what is wanted are questions. Raises
    BadSetting for an unknown queue."""
    if seat.queue not in QUEUES:
        raise BadSetting(f"no queue {seat.queue!r}; known: {', '.join(QUEUES)}")
    rules, only_views = find_rules(s, seat.corpus_id), has_role(s, seat.annotator_id, VIEWER)
    is_narrow = bool(seat.questions) and can_narrow(seat.queue)
    lease = None if only_views else _find_lease(s, seat, now, skips, is_narrow=is_narrow)
    control = lease.control if lease else not is_narrow and _is_control_turn(s, seat, rules)
    question_ids = tuple(x for x in skips if isinstance(x, int))
    begun_id = None if is_list else _find_begun_question(s, seat)
    request = replace(request_queue(s, seat, rules, question_ids), begun_id=begun_id)
    if control and queues.list_open_pairs(s, request, now, 1):  # a queue without an item of its own is empty
        request = request_queue(s, replace(seat, queue=RANDOM), rules, question_ids)
    if is_list:
        open_rows = queues.list_open_questions(s, request, now, HEAD_QUESTIONS)
    else:
        open_rows = queues.list_open_pairs(s, request, now, HEAD_ROWS + len(skips) - len(question_ids))
    return _Draw(
        rules, control, open_rows, read_pair(lease) if lease else None, lease.token if lease else "", only_views
    )


def _find_lease(s: Session, seat: Seat, now: datetime, skips: Sequence[Pair | int], *, is_narrow: bool) -> Lease | None:
    """Of what the holder has from the queue already; None where that is skipped, or outside of a narrow queue."""
    lease = leases.find_lease(s, seat.corpus_id, seat.who, seat.queue, now)
    if lease is None or read_pair(lease) in skips or lease.question_id in skips:
        return None
    is_outside = is_narrow and (lease.control or lease.question_id not in seat.questions)
    return None if is_outside else lease


def _is_control_turn(s: Session, seat: Seat, rules: Rules) -> bool:
    """Whether the next item is drawn at random from an adaptive queue: always the same until the annotator acts."""
    me = seat.annotator_id
    return seat.queue in ADAPTIVE and _chance(me, rows.count_events(s, me)) < rules.control


def request_queue(s: Session, seat: Seat, rules: Rules, skips: tuple[int, ...] = ()) -> queues.QueueRequest:
    """`skips`: questions. What no queue offered is requested as random."""
    versions = queues.list_pool_versions(s, seat.corpus_id) if seat.pool else []
    pool = [(i, exit_) for i, name, exit_ in versions if name in seat.pool]
    if RETRIEVAL in seat.pool:
        pool.append((0, 0))
    order = QUEUES.get(seat.queue, QUEUES[RANDOM]).order
    only = seat.questions if can_narrow(seat.queue) else ()
    return queues.QueueRequest(seat.corpus_id, order, seat.who, rules.overlap, tuple(pool), skips, only)


def _find_begun_question(s: Session, seat: Seat) -> int | None:
    """The question of the annotator's last label, if it was given in this queue of questions and no sentence of it is
    labelled correct, as far as they may know: its next candidates come before another question."""
    if seat.queue != UNLABELLED:
        return None
    last = rows.find_last_event(s, seat.annotator_id, seat.corpus_id, with_undos=False)
    if last is None or last.queue != UNLABELLED:
        return None
    labels = rows.list_labels_in_documents(s, last.question_id)
    hidden = find_reader(s, seat.corpus_id, seat.annotator_id, may_label=True).find_hidden_pairs(labels)
    outcomes = find_outcomes(s, question_ids=[last.question_id])
    is_found = any(outcomes.get(pair) == CORRECT for pair in {read_pair(x) for x in labels} - hidden)
    return None if is_found else last.question_id


def _assign(rules: Rules, seat: Seat, pair: Pair, *, control: bool = False, is_scored: bool = True) -> Assignment:
    """With the arm, where the draw is random and there are scores to hide; for a list the pair is (question id, 0)."""
    arm = ""
    if is_scored and (control or is_sample(seat.queue)):
        arm = "blind" if _chance("blind", seat.annotator_id, *pair) < rules.blind else "shown"
    return Assignment(seat.queue, control, arm)


def _chance(*parts: object) -> float:
    """A number in [0, 1) that these parts alone decide."""
    digest = hashlib.blake2b("|".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def _make_token(*ids: int) -> str:
    return "-".join([*map(str, ids), secrets.token_hex(4)])


def _read_recent_texts(s: Session, seat: Seat, skips: Sequence[Pair | int]) -> dict[Pair, str]:
    """The pairs labelled last and skipped last, with their texts."""
    sentences = {pair: s.get(Sentence, pair[1]) for pair in skips[-1:] if isinstance(pair, tuple)}
    recent = {pair: sentence.text for pair, sentence in sentences.items() if sentence is not None}
    last = rows.find_last_event(s, seat.annotator_id, seat.corpus_id)
    return recent if last is None else recent | {read_pair(last): last.text}


def _read_recent_questions(s: Session, seat: Seat, skips: Sequence[int]) -> dict[int, str]:
    """The question left last, or the one labelled last, with its text."""
    last = rows.find_last_event(s, seat.annotator_id, seat.corpus_id)
    questions = [s.get(Question, q) for q in skips[-1:] or ([last.question_id] if last else [])]
    return {q.id: q.text for q in questions if q is not None}


def _is_repeat(key: Pair | int, text: str, recent: Mapping[Pair, str] | Mapping[int, str]) -> bool:
    """Whether a text is nearly the same as a recent one; that one itself, after an undo, does not count."""
    words = set(tokenize(text))
    others = [set(tokenize(other)) for other in recent.values()] if words and key not in recent else []
    return any(len(words & other) / len(words | other) >= MIN_REPEAT_SIMILARITY for other in others)
