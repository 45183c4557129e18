"""Labelling: one pair of question and sentence at a time, every act an event on the disk before the call ends.

What a pair is labelled is what its newest event says; undoing adds an event that restores the state before the act.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session

from app.services.labels import settled
from app.services.views import (
    LABELS,
    AnnotatorView,
    LabelView,
    ProgressView,
    QueueItem,
    Shown,
)
from app.services.workbench import Workbench, storable
from as2core.errors import As2Error, BadSetting
from as2core.text import words
from db.models import WITHDRAWN, Document, LabelEvent, Question, Sentence
from db.repositories import corpora as corpus_rows
from db.repositories import labels as rows
from db.repositories import questions as question_rows
from db.repositories import queues
from db.repositories import versions as version_rows
from db.repositories.questions import NewCandidate
from db.repositories.queues import Holder

QUEUES = {
    "uncertain": "Where the model's probability is nearest to its threshold: a label here teaches it most.",
    "disagree": "Where the cascade and the generative model rank a sentence furthest apart: one of them is wrong.",
    "dropped": "Nearest to a cut: where a small error of an early exit loses an answer or keeps a dud.",
    "tops": "The highest-ranked without a label: what a reader sees first, and what a fair evaluation needs.",
    "random": "A random share: keeps the other queues honest.",
}
LEASE = timedelta(minutes=10)
NEARLY_SAME = 0.8  # Jaccard of the words
LOOKED_AT = 60  # the head of the queue, among which the next item is chosen
MAX_NAME = 60


class Gone(As2Error):
    """The question or sentence is no longer there."""


# --- labels ----------------------------------------------------------------------------------------------------------


def annotator(wb: Workbench, name: str) -> AnnotatorView:
    """The annotator of that name, made if there is none. Raises BadSetting for an empty or overlong name."""
    name = " ".join(storable(name).split())
    if not name or len(name) > MAX_NAME:
        raise BadSetting(f"an annotator's name has 1 to {MAX_NAME} characters, not {len(name)}")
    with wb.read() as s:
        known = rows.annotator_named(s, name)
    if known is None:
        with wb.write() as s:
            known = rows.ensure_annotator(s, name, wb.clock())
    return AnnotatorView(known.id, known.name)


def give_label(
    wb: Workbench, *, question_id: int, sentence_id: int, annotator_id: int, label: str, shown: Shown | None = None
) -> LabelView:
    """Label a pair; on the disk when this returns. The label a pair has already is not stored again (`changed` False).

    Raises BadSetting for an unknown label, Gone.
    """
    if label not in LABELS:
        raise BadSetting(f"no label {label!r}; known: {', '.join(LABELS)}")
    with wb.write(durable=True) as s:
        _check(s, question_id, sentence_id, annotator_id)
        newest = rows.newest_event(s, question_id, sentence_id, annotator_id)
        queues.release(s, question_id, sentence_id, annotator_id)
        if newest is not None and newest.label == label:
            return _label_view(newest, changed=False)
        place = NewCandidate(sentence_id, question_rows.next_ordinals(s, [question_id]).get(question_id, 0))
        question_rows.put_candidates(s, question_id, [place], origin="labelled")
        said = asdict(shown) if shown else None
        return _label_view(rows.add_event(s, question_id, sentence_id, annotator_id, label, wb.clock(), shown=said))


def withdraw(wb: Workbench, *, question_id: int, sentence_id: int, annotator_id: int) -> LabelView | None:
    """Take one's label of a pair back; None if there was none. Raises Gone."""
    with wb.write(durable=True) as s:
        _check(s, question_id, sentence_id, annotator_id)
        newest = rows.newest_event(s, question_id, sentence_id, annotator_id)
        if newest is None:
            return None
        if newest.label == WITHDRAWN:
            return _label_view(newest, changed=False)
        return _label_view(rows.add_event(s, question_id, sentence_id, annotator_id, WITHDRAWN, wb.clock()))


def undo_last(wb: Workbench, annotator_id: int, corpus_id: int) -> LabelView | None:
    """Restore the state before the annotator's last act in the corpus, by one more event; called again, the act before
    that one. None if there is nothing left to undo."""
    with wb.write(durable=True) as s:
        rows.lock_annotator(s, annotator_id)
        act = rows.last_act(s, annotator_id, corpus_id)
        if act is None:
            return None
        pair = (act.question_id, act.sentence_id, annotator_id)
        before = rows.newest_event(s, *pair, before=act.id)
        label = before.label if before is not None else WITHDRAWN
        return _label_view(rows.add_event(s, *pair, label, wb.clock(), undoes=act.id))


def labels_of(wb: Workbench, question_id: int, annotator_id: int | None = None) -> dict[int, str]:
    """Sentence id -> label: one annotator's, or what everyone's come to (pairs in dispute are left out)."""
    with wb.read() as s:
        found = rows.labels_of_question(s, question_id)
    if annotator_id is None:
        return settled(found)
    return {r.sentence_id: r.label for r in found if r.annotator_id == annotator_id}


def progress(wb: Workbench, corpus_id: int, annotator_id: int) -> ProgressView:
    """How far labelling of the corpus is; a day begins at midnight UTC."""
    today = wb.clock().replace(hour=0, minute=0, second=0, microsecond=0)
    with wb.read() as s:
        mine, of_today = rows.count_by(s, corpus_id, annotator_id, today)
        per_label, questions = rows.tally(s, corpus_id)
        remaining = queues.candidates_unlabelled_by(s, corpus_id, annotator_id)
    return ProgressView(
        today=of_today,
        mine=mine,
        all=sum(per_label.values()),
        questions_labelled=questions,
        remaining=remaining,
        per_label={label: per_label.get(label, 0) for label in (*LABELS, *sorted(per_label.keys() - set(LABELS)))},
    )


def _check(s: Session, question_id: int, sentence_id: int, annotator_id: int) -> None:
    question, sentence = question_rows.question(s, question_id), corpus_rows.sentence(s, sentence_id)
    if question is None or sentence is None or question.corpus_id != sentence.corpus_id:
        raise Gone(
            "this question or sentence is no longer there: its corpus was changed or deleted; load the page anew"
        )
    if rows.lock_annotator(s, annotator_id) is None:
        raise Gone("this annotator is not known here: type your name again")


def _label_view(event: LabelEvent, *, changed: bool = True) -> LabelView:
    return LabelView(
        event.id,
        event.question_id,
        event.sentence_id,
        event.annotator_id,
        None if event.label == WITHDRAWN else event.label,
        event.created,
        changed,
    )


# --- queues ----------------------------------------------------------------------------------------------------------


def next_item(
    wb: Workbench,
    corpus_id: int,
    annotator_id: int,
    queue: str,
    *,
    holder: str = "",
    passed: Collection[tuple[int, int]] = (),
) -> QueueItem | None:
    """The next pair of a queue, leased for ten minutes: nobody else is given it meanwhile. The same call again gives
    the same pair, with a fresh lease, until it is labelled or `passed` (pairs of question and sentence id not wanted
    now). `holder` tells sessions of the same annotator apart. None when the queue is empty; `scoring.start_scoring`
    fills it. Raises BadSetting for an unknown queue.
    """
    if queue not in QUEUES:
        raise BadSetting(f"no queue {queue!r}; known: {', '.join(QUEUES)}")
    now, who = wb.clock(), Holder(annotator_id, holder)
    with wb.read() as s:  # looked for without holding anyone up; the lease decides
        head = queues.open_pairs(s, corpus_id, who, queue, now, LOOKED_AT + len(passed))
        length = queues.count_open(s, corpus_id, who, queue, now)
        held = queues.held(s, corpus_id, who, queue, now)
        last = rows.last_labelled(s, annotator_id, corpus_id)
    head = [r for r in head if (r.question_id, r.sentence_id) not in passed]
    wanted = sorted(head, key=lambda r: _repeats(r, last))  # stable: the queue's order otherwise
    if held is not None:
        wanted.sort(key=lambda r: (r.question_id, r.sentence_id) != (held.question_id, held.sentence_id))
    for row in wanted:
        pair = (row.question_id, row.sentence_id)
        token = held.token if held is not None and pair == (held.question_id, held.sentence_id) else _token(pair)
        with wb.write() as s:
            queues.release_all(s, who, but=pair)
            if not queues.lease(s, pair, who, queue=queue, token=token, expires=now + LEASE, now=now):
                continue
            if rows.is_labelled(s, *pair):  # by the one who held it until just now
                queues.release(s, *pair, annotator_id)
                continue
            place = head.index(row) + 1
            return _item(s, row, annotator_id, queue, token, now + LEASE, place, max(length, place))
    return None


def item_at(wb: Workbench, question_id: int, sentence_id: int, annotator_id: int, *, holder: str = "") -> QueueItem:
    """A certain pair, to show it again; leased if nobody else holds it (`holder` as for `next_item`). Raises Gone."""
    now, pair = wb.clock(), (question_id, sentence_id)
    token = _token(pair)
    with wb.write() as s:
        _check(s, question_id, sentence_id, annotator_id)
        row = queues.pair_row(s, question_id, sentence_id)
        if row is None:
            raise Gone("this sentence is no longer a candidate of the question; load the page anew")
        taken = queues.lease(s, pair, Holder(annotator_id, holder), queue="", token=token, expires=now + LEASE, now=now)
        return _item(s, row, annotator_id, "", token, now + LEASE if taken else None, 1, 1)


def _token(pair: tuple[int, int]) -> str:
    return f"{pair[0]}-{pair[1]}-{secrets.token_hex(4)}"


def _repeats(row: Any, last: tuple[int, int, str] | None) -> bool:
    """Whether a pair says nearly what the one just labelled said; that one itself, after an undo, does not count."""
    if last is None or (row.question_id, row.sentence_id) == last[:2]:
        return False
    a, b = set(words(row.text)), set(words(last[2]))
    return bool(a) and len(a & b) / len(a | b) >= NEARLY_SAME


def _item(
    s: Session,
    row: Any,
    annotator_id: int,
    queue: str,
    token: str,
    until: datetime | None,
    place: int,
    length: int,
) -> QueueItem:
    question, sentence = s.get_one(Question, row.question_id), s.get_one(Sentence, row.sentence_id)
    before, after = corpus_rows.neighbours(s, sentence)
    exits, version, scored = {}, "", 0
    if row.version_id is not None:
        version = getattr(version_rows.version(s, row.version_id), "name", "")
        found = question_rows.exit_scores(s, row.id, row.version_id)
        exits = {x.exit: x.probability for x in found if x.probability is not None}
        scored = question_rows.scored_candidates(s, row.question_id, row.version_id)
    own = [r for r in rows.labels_of_question(s, row.question_id) if r.annotator_id == annotator_id]
    return QueueItem(
        question_id=row.question_id,
        sentence_id=row.sentence_id,
        question=question.text,
        text=sentence.text,
        before=before,
        after=after,
        title=s.get_one(Document, sentence.document_id).title,
        document_id=sentence.document_id,
        why=_why(row, queue, scored),
        queue=queue,
        rank=row.rank,
        probability=row.probability,
        generative_rank=row.generative_rank,
        exit_probabilities=exits,
        candidates=scored,
        version=version,
        label=next((r.label for r in own if r.sentence_id == row.sentence_id), None),
        token=token,
        leased_until=until,
        position_in_queue=place,
        queue_length=length,
    )


def _why(row: Any, queue: str, scored: int) -> str:
    """Why this pair is asked, in a sentence with its numbers."""
    if row.rank is None:
        return "A random pick, not ranked by any model yet." if queue == "random" else "No model has ranked it yet."
    if queue == "uncertain":
        distance = abs(row.probability - row.threshold)
        near = "right at the threshold" if distance <= 0.03 else f"{distance:.2f} from the threshold"
        return f"Layer {row.last_exit} gives {row.probability:.2f}: {near} of {row.threshold:.2f}."
    if queue == "disagree":
        return f"Of {scored}, the cascade ranks it {row.rank} and the generative model {row.generative_rank}."
    if queue == "dropped":
        inside = row.cut_rank <= row.cut_kept
        steps = row.cut_kept - row.cut_rank + 1 if inside else row.cut_rank - row.cut_kept
        places = "1 place" if steps == 1 else f"{steps} places"
        side = f"{places} from being dropped" if inside else f"dropped by {places}"
        return f"After layer {row.cut_layer} the best {row.cut_kept} stay, and it stands at {row.cut_rank}: {side}."
    if queue == "tops":
        return f"Ranked {row.rank} of {scored}, the highest without a label."
    if queue == "random":
        return f"A random pick, ranked {row.rank} of {scored}."
    return f"Ranked {row.rank} of {scored}, probability {row.probability:.2f}."
