"""What to label next: one pair, or one question with its whole list, leased so that nobody else gets it meanwhile.

An adaptive queue is not a sample: it asks for what teaches the model most. So a share of it is drawn at random and
stored as such ("control"), and estimates are made from that share alone. Of what is drawn at random a share is shown
without scores ("blind"): the difference between its labels and the others' is the effect of seeing the score.

A viewer, who cannot label, is shown the same without a lease.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.labels.guidelines import Rules, rules_of_corpus
from app.labels.strategies import (
    ADAPTIVE,
    AGAIN,
    ALONG,
    QUEUES,
    RANDOM,
    Evidence,
    Queue,
    explain,
    explain_list,
)
from app.workbench.people import VIEWER, Gone
from app.workbench.workbench import Workbench
from as2core.errors import BadSetting
from as2core.text import tokenize
from db.models import Annotator
from db.repositories import corpora as corpus_rows
from db.repositories import labels as rows
from db.repositories import leases, queues, reviews
from db.repositories import questions as question_rows
from db.repositories import versions as version_rows
from db.repositories.leases import Holder
from db.repositories.pairs import Pair

RETRIEVAL = "retrieval"
LEASE = timedelta(minutes=10)
MIN_REPEAT_SIMILARITY = 0.8  # Jaccard of the words
HEAD_ROWS = 60  # the head of the queue, among which the next item is chosen


@dataclass(frozen=True, slots=True)
class Presentation:
    """What the annotator saw when labelling: stored with the event, so that anchoring can be measured.

    `queue`: `strategies.ALONG` for a row of a list of which another row was drawn at random. `control`: drawn at random
    from an adaptive queue. `arm`: "blind" or "shown" where chance decided on the scores. `model_says`: whether the
    model took it for an answer. `guideline`: the version of the guidelines in force.
    """

    version: str = ""
    rank: int | None = None
    scores_visible: bool = True
    queue: str = ""
    control: bool = False
    arm: str = ""
    model_says: bool | None = None
    guideline: int = 0

    def to_columns(self) -> dict[str, object]:
        """As the columns of a label event."""
        columns = asdict(self)
        return {"shown_version": columns.pop("version"), "shown_rank": columns.pop("rank"), **columns}


@dataclass(frozen=True, slots=True)
class Assignment:
    """How an item came to an annotator; it keeps this when it is shown again. `control` and `arm` as in `Presentation`.
    `drawn`: of a list that was drawn at random, the sentence that was drawn; the others are listed with it."""

    queue: str = ""
    control: bool = False
    arm: str = ""
    drawn: int | None = None

    @property
    def is_blind(self) -> bool:
        return self.arm == "blind"

    def present(self, item: RankedSentence, version: str, *, scores: bool, guideline: int) -> Presentation:
        """The item as it is on the screen of somebody who has `scores` switched on or off."""
        is_along = self.drawn not in (None, item.sentence_id)  # no part of the random sample
        return Presentation(
            version=version,
            rank=item.rank,
            scores_visible=scores and not self.is_blind,
            queue=ALONG if is_along else self.queue,
            control=self.control and not is_along,
            arm=self.arm if scores and item.rank is not None else "",
            model_says=item.model_says,
            guideline=guideline,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedSentence:
    """A candidate with its scores and this annotator's `label`. `rank` and `probability` are the cascade's last exit's,
    `generative_rank` the other ranker's; None if not scored. `model_says`: whether the probability reaches the
    threshold. `why` the queue offers it, `why_unscored` for those who hide the scores."""

    sentence_id: int
    text: str
    title: str
    rank: int | None
    probability: float | None
    generative_rank: int | None
    model_says: bool | None
    label: str | None
    why: str = ""
    why_unscored: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueItem(RankedSentence):
    """One pair to label. `token` names this showing: hand it back unchanged to refuse stale keys.

    `candidates`: how many were ranked with it. `peers`: the others' (name, label), empty until one's own label is in.
    `flags`: (name, note) that nobody cleared. `is_locked`: shown again without a label of one's own while somebody
    else, or another desk of one's own, has it.
    """

    question_id: int
    question: str
    before: str
    after: str
    assignment: Assignment
    candidates: int
    version: str
    token: str
    leased_until: datetime | None
    peers: tuple[tuple[str, str], ...]
    flags: tuple[tuple[str, str], ...]
    is_locked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRow(RankedSentence):
    """A candidate in its question's list. `free`: this annotator may label it now (a viewer: could as an annotator);
    the others are leased, or have enough labels. `why` is empty but for the row that the queue offers."""

    free: bool


@dataclass(frozen=True, slots=True)
class QuestionItem:
    """A question with its whole list. Rows of a blind one come in random order. The row that was drawn at random is the
    first, since lists are labelled from the top and seldom to the end."""

    question_id: int
    question: str
    rows: tuple[ListRow, ...]
    why: str
    assignment: Assignment
    version: str
    token: str


# --- one pair --------------------------------------------------------------------------------------------------------


def next_item(
    wb: Workbench,
    corpus_id: int,
    annotator_id: int,
    queue: str,
    *,
    holder: str = "",
    passed: Collection[Pair] = (),
    pool: Collection[str] = (),
) -> QueueItem | None:
    """The next pair of a queue, leased for ten minutes: nobody else is given it meanwhile. The same call again gives
    the same pair, with a fresh lease, until it is labelled or `passed` (pairs of question and sentence id not wanted
    now, the latest last). `holder` separates sessions of the same annotator; `pool` names the rankers whose tops make
    the queue "tops". None when the queue is empty; `scoring.start_scoring` fills it. Raises BadSetting for an unknown
    queue.
    """
    now, who = wb.clock(), Holder(annotator_id, holder)
    with wb.read() as s:  # a read blocks nobody; the lease decides
        only_views = _only_views(s, annotator_id)
        draw = _draw(s, corpus_id, who, queue, now, passed, pool)
        recent = _recent_texts(s, annotator_id, corpus_id, passed)
    found = [r for r in draw.rows if _pair(r) not in passed]
    found.sort(key=lambda r: _repeats(_pair(r), r.text, recent))  # stable otherwise
    found.sort(key=lambda r: _pair(r) != draw.leased)
    for row in found:
        pair = _pair(row)
        token = draw.token if pair == draw.leased else _new_token(pair)
        expires = None if only_views else now + LEASE
        with wb.write() as s:
            leases.release_all(s, corpus_id, who, queue, but=None if only_views else pair)
            if expires and not leases.acquire(s, pair, who, queue=queue, token=token, expires=expires, now=now,
                                              control=draw.control):  # fmt: skip
                continue
            if not QUEUES[queue].is_review and not queues.is_open(s, pair, annotator_id, draw.rules.overlap):
                leases.release(s, pair[0], [pair[1]], annotator_id)  # labelled by whoever had the lease before
                continue
        assignment = _assign(draw.rules, annotator_id, pair, queue, control=draw.control, scored=row.rank is not None)
        with wb.read() as s:
            return _build_item(s, row, annotator_id, assignment, token, expires, draw.rules)
    return None


def item_at(
    wb: Workbench,
    question_id: int,
    sentence_id: int,
    annotator_id: int,
    *,
    holder: str = "",
    assignment: Assignment | None = None,
) -> QueueItem:
    """A certain pair, to show it again as it was assigned before (None: as `read_assignment` says); leased if nobody
    else holds it (`holder` as for `next_item`), else locked unless the annotator labelled it. Raises Gone."""
    now, pair = wb.clock(), (question_id, sentence_id)
    token = _new_token(pair)
    with wb.write() as s:
        row, question = queues.pair_row(s, *pair), question_rows.get_question(s, question_id)
        if row is None or question is None:
            raise Gone("this sentence is no longer a candidate of the question; reload the page")
        who, expires = Holder(annotator_id, holder), now + LEASE
        only_views = _only_views(s, annotator_id)
        leased = not only_views and leases.acquire(s, pair, who, queue="", token=token, expires=expires, now=now)
        rules = rules_of_corpus(s, question.corpus_id)
        assignment = assignment or _read_assignment(s, pair, annotator_id)
        item = _build_item(s, row, annotator_id, assignment, token, expires if leased else None, rules, again=True)
        return replace(item, is_locked=not (leased or only_views or item.label))


def read_assignment(wb: Workbench, question_id: int, sentence_id: int, annotator_id: int) -> Assignment:
    """How a pair that the annotator labelled was assigned, undone or not: as its newest event says."""
    with wb.read() as s:
        return _read_assignment(s, (question_id, sentence_id), annotator_id)


def _read_assignment(s: Session, pair: Pair, annotator_id: int) -> Assignment:
    event = rows.newest_event(s, *pair, annotator_id)
    if event is None or event.queue not in QUEUES:
        return Assignment(AGAIN, arm="" if event is None else event.arm)
    drawn = pair[1] if _is_random(event.queue, event.control) else None
    return Assignment(event.queue, event.control, event.arm, drawn)


# --- a question with its list ----------------------------------------------------------------------------------------


def next_question(
    wb: Workbench,
    corpus_id: int,
    annotator_id: int,
    queue: str,
    *,
    holder: str = "",
    passed: Collection[int] = (),
    pool: Collection[str] = (),
) -> QuestionItem | None:
    """The question of the queue's next pair with its whole list, every pair of it that is open leased; `passed`:
    questions not wanted now, the latest last. None when nothing is left. Raises BadSetting."""
    who = Holder(annotator_id, holder)
    with wb.read() as s:
        draw = _draw(s, corpus_id, who, queue, wb.clock(), passed, pool)
        recent = _recent_questions(s, annotator_id, corpus_id, passed)
    first = {r.question_id: r for r in reversed(draw.rows)}
    order = list(dict.fromkeys(r.question_id for r in draw.rows))
    order.sort(key=lambda q: _repeats(q, first[q].question, recent))
    order.sort(key=lambda q: draw.leased is None or q != draw.leased[0])
    for question_id in order:
        assignment = _assign(draw.rules, annotator_id, (question_id, 0), queue, control=draw.control)
        chosen: int | None = first[question_id].sentence_id
        if _is_random(queue, draw.control):
            assignment, chosen = replace(assignment, drawn=chosen), None
        item = question_at(wb, question_id, annotator_id, queue, holder=holder, assignment=assignment, chosen=chosen)
        if any(r.free for r in item.rows):
            return item
    return None


def question_at(
    wb: Workbench,
    question_id: int,
    annotator_id: int,
    queue: str,
    *,
    holder: str = "",
    assignment: Assignment | None = None,
    chosen: int | None = None,
) -> QuestionItem:
    """A certain question with its list, as it was assigned before (None: as the queue assigns it); what the holder had
    before is given back. `chosen`: the sentence that the queue chose it for. Raises Gone."""
    now, who = wb.clock(), Holder(annotator_id, holder)
    token = f"{question_id}-{secrets.token_hex(4)}"
    with wb.write() as s:
        question = question_rows.get_question(s, question_id)
        if question is None:
            raise Gone("this question no longer exists; reload the page")
        rules = rules_of_corpus(s, question.corpus_id)
        given = assignment or _assign(rules, annotator_id, (question_id, 0), queue)
        leases.release_all(s, question.corpus_id, who, queue)
        leased_as = queue if given.queue == queue else ""  # what another queue assigned goes back with this one's
        only_views = _only_views(s, annotator_id)
        own = rows.labels_by(s, annotator_id, [question_id])
        request = queue_request(s, question.corpus_id, given.queue, who, rules)
        found, version = [], None
        for row in queues.question_rows(s, question_id, request, now):
            pair = _pair(row)
            free = bool(row.free) and (
                only_views
                or leases.acquire(s, pair, who, queue=leased_as, token=token, expires=now + LEASE, now=now,
                                  control=given.control)
            )  # fmt: skip
            label = own.get(pair)
            is_chosen = row.asked or row.sentence_id == chosen
            reasons = _explain(s, row, given.queue, given, label, rules) if is_chosen else ("", "")
            found.append(ListRow(**_read_candidate(row, label, reasons), free=free or label is not None))
            version = version or row.version_id
        return QuestionItem(
            question_id=question_id,
            question=question.text,
            rows=tuple(_sort_rows(found, given, token)),
            why=explain_list(given.queue, len(found), is_control=given.control, is_blind=given.is_blind,
                             is_drawn=given.drawn is not None),
            assignment=given,
            version=_version_name(s, version),
            token=token,
        )  # fmt: skip


def leave(wb: Workbench, corpus_id: int, annotator_id: int, queue: str, *, holder: str = "") -> None:
    """Give back what the holder was assigned from a queue."""
    with wb.write() as s:
        leases.release_all(s, corpus_id, Holder(annotator_id, holder), queue)


def list_pool(wb: Workbench, corpus_id: int) -> tuple[str, ...]:
    """Names of the rankers whose tops can be pooled: those that scored here, newest first, and retrieval."""
    with wb.read() as s:
        return (*(name for _, name, _ in queues.pool_versions(s, corpus_id)), RETRIEVAL)


# --- drawing ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Draw:
    """The head of a queue for one annotator. `leased`: the pair they hold from it already, with its token."""

    rules: Rules
    control: bool
    rows: list[Row]
    leased: Pair | None
    token: str


def _draw(
    s: Session,
    corpus_id: int,
    who: Holder,
    queue: str,
    now: datetime,
    passed: Collection[Pair] | Collection[int],
    pool: Collection[str],
) -> _Draw:
    """`passed`: pairs, or ids of questions, which are left out. Raises BadSetting for an unknown queue."""
    rules = rules_of_corpus(s, corpus_id)
    lease = leases.find_lease(s, corpus_id, who, find_queue(queue).name, now)
    if lease and (_pair(lease) in passed or lease.question_id in passed or _only_views(s, who.annotator_id)):
        lease = None
    control = lease.control if lease else _draws_control(s, who.annotator_id, queue, rules)
    excluded = [x for x in passed if isinstance(x, int)]
    request = queue_request(s, corpus_id, RANDOM if control else queue, who, rules, pool, excluded)
    found = queues.open_pairs(s, request, now, HEAD_ROWS + len(passed) - len(excluded))
    return _Draw(rules, control, found, _pair(lease) if lease else None, lease.token if lease else "")


def find_queue(name: str) -> Queue:
    """Raises BadSetting."""
    if name not in QUEUES:
        raise BadSetting(f"no queue {name!r}; known: {', '.join(QUEUES)}")
    return QUEUES[name]


def queue_request(
    s: Session,
    corpus_id: int,
    queue: str,
    who: Holder,
    rules: Rules,
    pool: Collection[str] = (),
    excluded: Collection[int] = (),
) -> queues.QueueRequest:
    """`pool`: names of rankers. What no queue offered is requested as random."""
    order = QUEUES[queue if queue in QUEUES else RANDOM].order
    versions = [(i, exit_) for i, name, exit_ in queues.pool_versions(s, corpus_id) if name in pool] if pool else []
    if RETRIEVAL in pool:
        versions.append((0, 0))
    return queues.QueueRequest(corpus_id, order, who, rules.overlap, tuple(versions), tuple(excluded))


def _only_views(s: Session, annotator_id: int) -> bool:
    person = s.get(Annotator, annotator_id)
    return person is not None and person.role == VIEWER


def _draws_control(s: Session, annotator_id: int, queue: str, rules: Rules) -> bool:
    """Whether the annotator's next item of an adaptive queue is a random one: always the same until they act."""
    return queue in ADAPTIVE and _chance(annotator_id, queues.count_events(s, annotator_id)) < rules.control


def _is_random(queue: str, control: bool) -> bool:
    """Whether what the queue assigns is a random draw."""
    return queue == RANDOM or (control and queue in ADAPTIVE)


def _assign(
    rules: Rules, annotator_id: int, pair: Pair, queue: str, *, control: bool = False, scored: bool = True
) -> Assignment:
    """With the arm, where the draw is random and there are scores to hide; for a list the pair is (question id, 0)."""
    arm = ""
    if scored and (control or queue == RANDOM):
        arm = "blind" if _chance("blind", annotator_id, *pair) < rules.blind else "shown"
    return Assignment(queue, control, arm)


def _chance(*parts: object) -> float:
    """A number in [0, 1) that these parts alone decide."""
    digest = hashlib.blake2b("|".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def _pair(row: Row | leases.Lease) -> Pair:
    return row.question_id, row.sentence_id


def _new_token(pair: Pair) -> str:
    return f"{pair[0]}-{pair[1]}-{secrets.token_hex(4)}"


def _recent_texts(s: Session, annotator_id: int, corpus_id: int, passed: Collection[Pair]) -> dict[Pair, str]:
    """The pairs labelled last and skipped last, with their texts."""
    skipped = {pair: corpus_rows.get_sentence(s, pair[1]) for pair in list(passed)[-1:]}
    recent = {pair: sentence.text for pair, sentence in skipped.items() if sentence is not None}
    last = rows.last_labelled(s, annotator_id, corpus_id)
    return recent if last is None else recent | {_pair(last): last.text}


def _recent_questions(s: Session, annotator_id: int, corpus_id: int, passed: Collection[int]) -> dict[int, str]:
    """The question left last, or the one labelled last, with its text."""
    last = rows.last_labelled(s, annotator_id, corpus_id)
    found = [question_rows.get_question(s, q) for q in list(passed)[-1:] or ([last.question_id] if last else [])]
    return {q.id: q.text for q in found if q is not None}


def _repeats(key: Pair | int, text: str, recent: Mapping[Pair, str] | Mapping[int, str]) -> bool:
    """Whether a text is nearly the same as a recent one; that one itself, after an undo, does not count."""
    return key not in recent and any(_is_near_duplicate(text, other) for other in recent.values())


def _is_near_duplicate(one: str, other: str) -> bool:
    a, b = set(tokenize(one)), set(tokenize(other))
    return bool(a) and len(a & b) / len(a | b) >= MIN_REPEAT_SIMILARITY


# --- building items --------------------------------------------------------------------------------------------------


def _build_item(
    s: Session,
    row: Row,
    annotator_id: int,
    assignment: Assignment,
    token: str,
    leased_until: datetime | None,
    rules: Rules,
    *,
    again: bool = False,
) -> QueueItem:
    pair = _pair(row)
    before, after = corpus_rows.find_neighbours(s, row.document_id, row.position)
    labels = rows.labels_of_pair(s, *pair)
    own = next((r.label for r in labels if r.annotator_id == annotator_id), None)
    # what brought it here once, its rank or its cut, may not be so any more
    queue = QUEUES.get(assignment.queue)
    is_current = not again or (queue is not None and (queue.is_review or queue.name == RANDOM))
    reasons = _explain(s, row, assignment.queue if is_current else AGAIN, assignment, own, rules)
    return QueueItem(
        **_read_candidate(row, own, reasons),
        question_id=row.question_id,
        question=row.question,
        before=before,
        after=after,
        assignment=assignment,
        candidates=_count_ranked(s, row),
        version=_version_name(s, row.version_id),
        token=token,
        leased_until=leased_until,
        peers=tuple((r.annotator, r.label) for r in labels if r.annotator_id != annotator_id) if own else (),
        flags=tuple((r.name, r.note) for r in reviews.flags(s, pair)),
    )


def _read_candidate(row: Row, label: str | None, reasons: tuple[str, str]) -> dict[str, Any]:
    """The fields of a `RankedSentence`."""
    names = ("sentence_id", "text", "title", "rank", "probability", "generative_rank")
    fields = {name: getattr(row, name) for name in names}
    model_says = None if row.probability is None else row.probability >= row.threshold
    return fields | {"model_says": model_says, "label": label, "why": reasons[0], "why_unscored": reasons[1]}


def _explain(
    s: Session, row: Row, queue: str, assignment: Assignment, own: str | None, rules: Rules
) -> tuple[str, str]:
    """Why the queue offers the pair, with scores and without. What others chose is revealed where one label is enough,
    else once the reader's own is in."""
    is_review = queue in QUEUES and QUEUES[queue].is_review
    pair = _pair(row)
    evidence = Evidence(
        row,
        _count_ranked(s, row),
        flags=tuple((r.name, r.note) for r in reviews.flags(s, pair)) if is_review else (),
        own=own,
        suspicion=reviews.suspicion(s, pair) if is_review else None,
        reveals_labels=own is not None or rules.overlap == 1,
    )
    with_scores, without = (
        explain(queue, evidence, is_control=assignment.control, is_blind=assignment.is_blind, with_scores=scores)
        for scores in (True, False)
    )
    return with_scores, without


def _count_ranked(s: Session, row: Row) -> int:
    """Among how many candidates it was ranked."""
    return 0 if row.version_id is None else question_rows.count_ranked_with(s, row.id)


def _version_name(s: Session, version_id: int | None) -> str:
    version = None if version_id is None else version_rows.version(s, version_id)
    return version.name if version else ""


def _sort_rows(found: list[ListRow], assignment: Assignment, token: str) -> list[ListRow]:
    """By rank, shuffled where the list is blind; the row that was drawn comes first."""
    if assignment.is_blind:
        found = sorted(found, key=lambda r: _chance(token.partition("-")[0], r.sentence_id))
    return sorted(found, key=lambda r: r.sentence_id != assignment.drawn)
