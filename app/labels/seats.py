"""Who labels where, and what a queue holds for them.

An adaptive queue is not a sample: it asks for what teaches the model most. So a share of it is drawn at random and
stored as such ("control"), and estimates are made from that share alone. Of what is drawn at random a share is shown
without scores ("blind"): the difference between its labels and the others' is the effect of seeing the score.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.labels.consensus import find_outcomes
from app.labels.queues import ADAPTIVE, QUEUES, RANDOM, UNLABELLED, Assignment, can_narrow, is_sample
from app.labels.rules import Rules, find_rules
from app.labels.visibility import find_reader
from app.workbench.people import VIEWER, has_role
from app.workbench.workbench import Workbench
from as2core.errors import BadSetting
from as2core.text import tokenize
from as2core.types import CORRECT
from db.models import Question, Sentence
from db.repositories import labels as rows
from db.repositories import leases, queues
from db.repositories.leases import Holder, Lease
from db.repositories.pairs import Pair, read_pair

RETRIEVAL = "retrieval"
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


def count_at_other_desks(wb: Workbench, seat: Seat) -> int:
    """How many pairs of the queue are in front of somebody else, or at another desk of the same person."""
    with wb.read() as s:
        request, now = request_queue(s, seat, find_rules(s, seat.corpus_id)), wb.clock()
        return queues.count_open(s, request, now) - queues.count_open(s, request, now, leased=False)


def has_open_item(wb: Workbench, seat: Seat, *, is_list: bool = True) -> bool:
    """Whether the queue holds a pair that is in front of nobody else, for this annotator to have now. `is_list`: what
    is wanted are questions."""
    with wb.read() as s:
        begun_id = None if is_list else _find_begun_question(s, seat)
        request = replace(request_queue(s, seat, find_rules(s, seat.corpus_id)), begun_id=begun_id)
        return bool(queues.list_open_question_ids(s, request, wb.clock(), 1))


def list_pool(wb: Workbench, corpus_id: int) -> tuple[str, ...]:
    """Names of the rankers whose tops can be pooled: those that scored here, newest first, and retrieval."""
    with wb.read() as s:
        return (*(name for _, name, _ in queues.list_pool_versions(s, corpus_id)), RETRIEVAL)


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a queue for one annotator: pairs, or one of each question. `leased`: the pair they hold from it
    already, with its token."""

    rules: Rules
    control: bool
    rows: list[Row]
    leased: Pair | None
    token: str
    only_views: bool


def draw_head(s: Session, seat: Seat, now: datetime, skips: Sequence[Pair | int], *, is_list: bool = False) -> Head:
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
    return Head(
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
    return seat.queue in ADAPTIVE and draw_chance(me, rows.count_events(s, me)) < rules.control


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


def make_assignment(
    rules: Rules, seat: Seat, pair: Pair, *, control: bool = False, is_scored: bool = True
) -> Assignment:
    """With the arm, where the draw is random and there are scores to hide; for a list the pair is (question id, 0)."""
    arm = ""
    if is_scored and (control or is_sample(seat.queue)):
        arm = "blind" if draw_chance("blind", seat.annotator_id, *pair) < rules.blind else "shown"
    return Assignment(seat.queue, control, arm)


def draw_chance(*parts: object) -> float:
    """A number in [0, 1) that these parts alone decide."""
    digest = hashlib.blake2b("|".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def read_recent_texts(s: Session, seat: Seat, skips: Sequence[Pair | int]) -> dict[Pair, str]:
    """The pairs labelled last and skipped last, with their texts."""
    sentences = {pair: s.get(Sentence, pair[1]) for pair in skips[-1:] if isinstance(pair, tuple)}
    recent = {pair: sentence.text for pair, sentence in sentences.items() if sentence is not None}
    last = rows.find_last_event(s, seat.annotator_id, seat.corpus_id)
    return recent if last is None else recent | {read_pair(last): last.text}


def read_recent_questions(s: Session, seat: Seat, skips: Sequence[int]) -> dict[int, str]:
    """The question left last, or the one labelled last, with its text."""
    last = rows.find_last_event(s, seat.annotator_id, seat.corpus_id)
    questions = [s.get(Question, q) for q in skips[-1:] or ([last.question_id] if last else [])]
    return {q.id: q.text for q in questions if q is not None}


def is_repeat(key: Pair | int, text: str, recent: Mapping[Pair, str] | Mapping[int, str]) -> bool:
    """Whether a text is nearly the same as a recent one; that one itself, after an undo, does not count."""
    words = set(tokenize(text))
    others = [set(tokenize(other)) for other in recent.values()] if words and key not in recent else []
    return any(len(words & other) / len(words | other) >= MIN_REPEAT_SIMILARITY for other in others)
