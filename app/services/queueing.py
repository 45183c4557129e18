"""What to label next: one pair, or one question with its whole list, leased so that nobody else gets it meanwhile.

An adaptive queue is not a sample: what it teaches most about is what it asks for. So a share of it is drawn at random
and stored as such ("control"), and estimates are made from that share alone. Of what is drawn at random a share is
shown without scores ("blind"): the difference between its labels and the others' is what seeing the score does.

A viewer, who cannot label, is shown the same without a lease: looking keeps nothing from those who can.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy.orm import Session

from app.services.label_views import Dealt, ListRow, QuestionItem, Rules
from app.services.people import VIEWER, Gone
from app.services.queue_words import QUEUES, why, why_question
from app.services.rules import rules_of
from app.services.views import QueueItem
from app.services.workbench import Workbench
from as2core.errors import BadSetting
from as2core.text import words
from db.models import Annotator
from db.repositories import corpora as corpus_rows
from db.repositories import labels as rows
from db.repositories import leases, queues, reviews
from db.repositories import questions as question_rows
from db.repositories import versions as version_rows
from db.repositories.leases import Holder, Pair

__all__ = [
    "ADAPTIVE",
    "ALONG",
    "QUEUES",
    "REVIEWS",
    "dealt_as",
    "item_at",
    "leave",
    "next_item",
    "next_question",
    "pool_of",
    "question_at",
]

ADAPTIVE = ("uncertain", "disagree", "early", "dropped")
REVIEWS = queues.REVIEWS
AGAIN = "again"  # the queue of what is shown again and no queue had dealt
ALONG = "along"  # the queue of what came with a list, of which chance had drawn another row
RETRIEVAL = "retrieval"
LEASE = timedelta(minutes=10)
NEARLY_SAME = 0.8  # Jaccard of the words
LOOKED_AT = 60  # the head of the queue, among which the next item is chosen


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
    now, the latest last). `holder` tells sessions of the same annotator apart; `pool` names the rankers whose tops make
    the queue "tops". None when the queue is empty; `scoring.start_scoring` fills it. Raises BadSetting for an unknown
    queue.
    """
    now, who = wb.clock(), Holder(annotator_id, holder)
    with wb.read() as s:  # looked for without holding anyone up; the lease decides
        how, looks = rules_of(s, corpus_id), _only_looks(s, annotator_id)
        held = leases.held(s, corpus_id, who, _known(queue), now)
        if held is not None and (looks or (held.question_id, held.sentence_id) in passed):
            held = None
        drawn = held.control if held is not None else _drawn(s, annotator_id, queue, how)
        wanted = wanted_of(s, corpus_id, "random" if drawn else queue, how, pool)
        head = queues.open_pairs(s, wanted, who, now, LOOKED_AT + len(passed))
        lately = _lately(s, annotator_id, corpus_id, passed)
    head = [r for r in head if (r.question_id, r.sentence_id) not in passed]
    order = sorted(head, key=lambda r: _repeats((r.question_id, r.sentence_id), r.text, lately))  # stable otherwise
    if held is not None:
        order.sort(key=lambda r: (r.question_id, r.sentence_id) != (held.question_id, held.sentence_id))
    for row in order:
        pair = (row.question_id, row.sentence_id)
        token = held.token if held is not None and pair == (held.question_id, held.sentence_id) else _token(pair)
        until = None if looks else now + LEASE
        with wb.write() as s:
            leases.release_all(s, corpus_id, who, queue, but=None if looks else pair)
            if until and not leases.lease(s, pair, who, queue=queue, token=token, expires=until, now=now,
                                          control=drawn):  # fmt: skip
                continue
            if queue not in queues.REVIEWS and not queues.is_open(s, pair, annotator_id, how.overlap):
                leases.release(s, pair[0], [pair[1]], annotator_id)  # by the one who held it until just now
                continue
        arm = _arm(how, annotator_id, pair, random=drawn or queue == "random", scored=row.rank is not None)
        with wb.read() as s:  # who writes next does not wait for what is only told
            return _item(s, row, annotator_id, Dealt(queue, drawn, arm), token, until, how)
    return None


def item_at(
    wb: Workbench,
    question_id: int,
    sentence_id: int,
    annotator_id: int,
    *,
    holder: str = "",
    dealt: Dealt | None = None,
) -> QueueItem:
    """A certain pair, to show it again as it was `dealt` (None: as `dealt_as` says); leased if nobody else holds it
    (`holder` as for `next_item`), else `held` unless the annotator labelled it. Raises Gone."""
    now, pair = wb.clock(), (question_id, sentence_id)
    token = _token(pair)
    with wb.write() as s:
        row, question = queues.pair_row(s, *pair), question_rows.question(s, question_id)
        if row is None or question is None:
            raise Gone("this sentence is no longer a candidate of the question; load the page anew")
        who, until = Holder(annotator_id, holder), now + LEASE
        looks = _only_looks(s, annotator_id)
        taken = not looks and leases.lease(s, pair, who, queue="", token=token, expires=until, now=now)
        how = rules_of(s, question.corpus_id)
        dealt = dealt or _dealt_as(s, pair, annotator_id)
        item = _item(s, row, annotator_id, dealt, token, until if taken else None, how, again=True)
        return replace(item, held=not (taken or looks or item.label))


def dealt_as(wb: Workbench, question_id: int, sentence_id: int, annotator_id: int) -> Dealt:
    """How a pair that the annotator labelled came to them, undone or not: as its newest event says."""
    with wb.read() as s:
        return _dealt_as(s, (question_id, sentence_id), annotator_id)


def _dealt_as(s: Session, pair: Pair, annotator_id: int) -> Dealt:
    event = rows.newest_event(s, *pair, annotator_id)
    if event is None or event.queue not in QUEUES:
        return Dealt(AGAIN, arm="" if event is None else event.arm)
    drawn = pair[1] if _by_chance(event.queue, event.control) else None
    return Dealt(event.queue, event.control, event.arm, drawn)


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
    now, who = wb.clock(), Holder(annotator_id, holder)
    with wb.read() as s:
        how = rules_of(s, corpus_id)
        held = leases.held(s, corpus_id, who, _known(queue), now)
        if held is not None and held.question_id in passed:
            held = None
        drawn = held.control if held is not None else _drawn(s, annotator_id, queue, how)
        wanted = wanted_of(s, corpus_id, "random" if drawn else queue, how, pool, without=passed)
        found = queues.open_pairs(s, wanted, who, now, LOOKED_AT)
        lately = _lately_asked(s, annotator_id, corpus_id, passed)
    first = {r.question_id: r for r in reversed(found)}
    order = list(dict.fromkeys(r.question_id for r in found))
    order.sort(key=lambda q: _repeats(q, first[q].question, lately))
    if held is not None:
        order.sort(key=lambda q: q != held.question_id)
    for question_id in order:
        dealt, meant = _dealt_list(how, annotator_id, question_id, queue, control=drawn), first[question_id].sentence_id
        if _by_chance(queue, drawn):
            dealt, meant = replace(dealt, drawn=meant), None
        made = question_at(wb, question_id, annotator_id, queue, holder=holder, dealt=dealt, meant=meant)
        if any(r.free for r in made.rows):
            return made
    return None


def question_at(
    wb: Workbench,
    question_id: int,
    annotator_id: int,
    queue: str,
    *,
    holder: str = "",
    dealt: Dealt | None = None,
    meant: int | None = None,
) -> QuestionItem:
    """A certain question with its list, as it was `dealt` (None: as the queue deals it); what the holder had before is
    given back. `meant`: the sentence that the queue chose it for. Raises Gone."""
    now, who = wb.clock(), Holder(annotator_id, holder)
    token = f"{question_id}-{secrets.token_hex(4)}"
    with wb.write() as s:
        question = question_rows.question(s, question_id)
        if question is None:
            raise Gone("this question is no longer there; load the page anew")
        how = rules_of(s, question.corpus_id)
        dealt = dealt or _dealt_list(how, annotator_id, question_id, queue, control=False)
        leases.release_all(s, question.corpus_id, who, queue)
        held_as = queue if dealt.queue == queue else ""  # what another queue dealt goes back with this one's
        found, version, looks = [], None, _only_looks(s, annotator_id)
        mine = rows.labels_by(s, annotator_id, [question_id])
        for row in queues.question_rows(s, question_id, who, how.overlap, now, dealt.queue):
            pair, until = (question_id, row.sentence_id), now + LEASE
            free = bool(row.free) and (
                looks
                or leases.lease(s, pair, who, queue=held_as, token=token, expires=until, now=now, control=dealt.control)
            )
            label, said = mine.get(pair), ("", "")
            if row.asked or row.sentence_id == meant:
                said = _why(s, row, dealt, dealt.queue, _scored(s, row), label, how)
            found.append(_list_row(row, free, label, said))
            version = version or row.version_id
        return QuestionItem(
            question_id=question_id,
            question=question.text,
            rows=tuple(_in_order(found, dealt, token)),
            why=why_question(
                found, dealt.queue, control=dealt.control, blind=dealt.arm == "blind", drawn=dealt.drawn is not None
            ),
            queue=dealt.queue,
            version=getattr(version_rows.version(s, version), "name", "") if version is not None else "",
            token=token,
            control=dealt.control,
            arm=dealt.arm,
            drawn=dealt.drawn,
        )


def leave(wb: Workbench, corpus_id: int, annotator_id: int, queue: str, *, holder: str = "") -> None:
    """Give back what the holder was given from a queue."""
    with wb.write() as s:
        leases.release_all(s, corpus_id, Holder(annotator_id, holder), queue)


def pool_of(wb: Workbench, corpus_id: int) -> tuple[str, ...]:
    """Names of the rankers whose tops can be pooled: those that scored here, newest first, and retrieval."""
    with wb.read() as s:
        return (*(name for _, name, _ in queues.pool_versions(s, corpus_id)), RETRIEVAL)


# --- how it is drawn and shown ---------------------------------------------------------------------------------------


def _only_looks(s: Session, annotator_id: int) -> bool:
    person = s.get(Annotator, annotator_id)
    return person is not None and person.role == VIEWER


def _known(queue: str) -> str:
    if queue not in QUEUES:
        raise BadSetting(f"no queue {queue!r}; known: {', '.join(QUEUES)}")
    return queue


def wanted_of(
    s: Session, corpus_id: int, order: str, how: Rules, pool: Collection[str], without: Collection[int] = ()
) -> queues.Wanted:
    """What a queue is asked for, the pool's rankers by their names."""
    chosen = [(i, exit_) for i, name, exit_ in queues.pool_versions(s, corpus_id) if name in pool] if pool else []
    if RETRIEVAL in pool:
        chosen.append((0, 0))
    return queues.Wanted(corpus_id, order, how.overlap, tuple(chosen), tuple(without))


def _drawn(s: Session, annotator_id: int, queue: str, how: Rules) -> bool:
    """Whether the annotator's next item of an adaptive queue is a random one: always the same until they act."""
    return queue in ADAPTIVE and _chance(annotator_id, queues.count_events(s, annotator_id)) < how.control


def _by_chance(queue: str, control: bool) -> bool:
    """Whether what the queue deals is a random draw."""
    return queue == "random" or (control and queue in ADAPTIVE)


def _arm(how: Rules, annotator_id: int, pair: Pair, *, random: bool, scored: bool) -> str:
    if not (random and scored):
        return ""
    return "blind" if _chance("blind", annotator_id, *pair) < how.blind else "shown"


def _dealt_list(how: Rules, annotator_id: int, question_id: int, queue: str, *, control: bool) -> Dealt:
    arm = _arm(how, annotator_id, (question_id, 0), random=control or queue == "random", scored=True)
    return Dealt(queue, control, arm)


def _chance(*parts: object) -> float:
    """A number in [0, 1) that these parts alone decide."""
    digest = hashlib.blake2b("|".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def _token(pair: Pair) -> str:
    return f"{pair[0]}-{pair[1]}-{secrets.token_hex(4)}"


def _lately(s: Session, annotator_id: int, corpus_id: int, passed: Collection[Pair]) -> dict[Pair, str]:
    """The pairs labelled last and skipped last, with their texts."""
    found = {pair: corpus_rows.sentence(s, pair[1]) for pair in list(passed)[-1:]}
    lately = {pair: sentence.text for pair, sentence in found.items() if sentence is not None}
    last = rows.last_labelled(s, annotator_id, corpus_id)
    return lately if last is None else lately | {(last.question_id, last.sentence_id): last.text}


def _lately_asked(s: Session, annotator_id: int, corpus_id: int, passed: Collection[int]) -> dict[int, str]:
    """The question left last, or the one labelled last, with its text."""
    last = rows.last_labelled(s, annotator_id, corpus_id)
    found = [question_rows.question(s, q) for q in list(passed)[-1:] or ([last.question_id] if last else [])]
    return {q.id: q.text for q in found if q is not None}


def _repeats(key: object, text: str, lately: Mapping[Any, str]) -> bool:
    """Whether a text says nearly what one of the last said; that one itself, after an undo, does not count."""
    return key not in lately and any(_alike(text, other) for other in lately.values())


def _alike(one: str, other: str) -> bool:
    a, b = set(words(one)), set(words(other))
    return bool(a) and len(a & b) / len(a | b) >= NEARLY_SAME


def _says(row: Any) -> bool | None:
    return None if row.probability is None else row.probability >= row.threshold


def _list_row(row: Any, free: bool, label: str | None, said: tuple[str, str]) -> ListRow:
    return ListRow(
        row.sentence_id,
        row.text,
        row.title,
        row.rank,
        row.probability,
        row.generative_rank,
        _says(row),
        label,
        free or label is not None,
        *said,
    )


def _in_order(found: Sequence[ListRow], dealt: Dealt, token: str) -> list[ListRow]:
    """By rank, shuffled where the list is blind; the row that was drawn comes first."""
    order = list(found)
    if dealt.arm == "blind":
        order.sort(key=lambda r: _chance(token.partition("-")[0], r.sentence_id))
    return sorted(order, key=lambda r: r.sentence_id != dealt.drawn)


def _scored(s: Session, row: Any) -> int:
    """Among how many candidates it was ranked."""
    return 0 if row.version_id is None else question_rows.ranked_with(s, row.id)


def _why(s: Session, row: Any, dealt: Dealt, queue: str, scored: int, own: str | None, how: Rules) -> tuple[str, str]:
    """In the words of `queue`, with scores and without, as whoever labels the pair `own` may read them: what others say
    is told where one label is enough, else once one's own is in."""
    pair = (row.question_id, row.sentence_id)
    tell = partial(
        why,
        row,
        queue,
        scored,
        control=dealt.control,
        blind=dealt.arm == "blind",
        flags=[(r.name, r.note) for r in reviews.flags(s, pair)] if queue == "flagged" else (),
        own=own,
        doubted=reviews.suspicion(s, pair) if queue == "second" else None,
        told=own is not None or how.overlap == 1,
    )
    return tell(), tell(scores=False)


def _item(
    s: Session,
    row: Any,
    annotator_id: int,
    dealt: Dealt,
    token: str,
    until: datetime | None,
    how: Rules,
    *,
    again: bool = False,
) -> QueueItem:
    pair = (row.question_id, row.sentence_id)
    before, after = corpus_rows.neighbours(s, row.document_id, row.position)
    scored = _scored(s, row)
    by = None if row.version_id is None else version_rows.version(s, row.version_id)
    everyones = rows.of_pair(s, *pair)
    own = next((r.label for r in everyones if r.annotator_id == annotator_id), None)
    # what brought it here once, its rank or its cut, may not be so any more
    words_of = AGAIN if again and dealt.queue not in ("random", *REVIEWS) else dealt.queue
    said, unscored = _why(s, row, dealt, words_of, scored, own, how)
    return QueueItem(
        question_id=row.question_id,
        sentence_id=row.sentence_id,
        question=row.question,
        text=row.text,
        before=before,
        after=after,
        title=row.title,
        document_id=row.document_id,
        why=said,
        queue=dealt.queue,
        rank=row.rank,
        probability=row.probability,
        generative_rank=row.generative_rank,
        candidates=scored,
        version=by.name if by else "",
        label=own,
        token=token,
        leased_until=until,
        model_says=_says(row),
        control=dealt.control,
        arm=dealt.arm,
        peers=tuple((r.name, r.label) for r in everyones if r.annotator_id != annotator_id) if own else (),
        flags=tuple((r.name, r.note) for r in reviews.flags(s, pair)),
        why_unscored=unscored,
    )
