"""The labels of a corpus, looked up one by one: whose they are, what became of each, and taking some back at once.

Whoever sees all labels (`app.labels.visibility`) looks up everyone's, imported ones included, and an admin withdraws
and moves them to other sentences; others look up, withdraw and move their own.
"""

from __future__ import annotations

import secrets
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from app.corpora.corpora import lock_corpus
from app.labels import annotation
from app.labels.items import Presentation
from app.labels.queues import QUEUES, is_sample
from app.labels.visibility import can_see_all
from app.workbench import audit, people
from app.workbench.people import ADMIN
from app.workbench.workbench import Workbench, split_search
from as2core.errors import BadSetting
from as2core.messages import count
from db.models import WITHDRAWN, Annotator, Corpus, Sentence
from db.repositories import label_lists as rows
from db.repositories import labels as label_rows
from db.repositories import people as person_rows
from db.repositories import queues, reviews
from db.repositories.label_lists import LabelFilter
from db.repositories.pairs import Pair, read_pair

WITHDRAW, HAND_OVER, MOVE = "withdraw labels", "hand over labels", "move labels"  # in the audit log


@dataclass(frozen=True, slots=True)
class HandoverView:
    """Labels of a giver: `moved` to the heir; `same` as the heir's, taken back; `different` from the heir's, left."""

    moved: int
    same: int
    different: int

    def describe(self) -> str:
        if not (self.moved or self.same or self.different):
            return "there was no label to hand over"
        return (
            f"{count(self.moved, 'label')} handed over, {self.same:,} the same as the other's, "
            f"{self.different:,} different and left where they were"
        )


@dataclass(frozen=True, slots=True)
class LabelRecord:
    """A label as it stands, with the texts that it is about. `is_gone`: the sentence left its document."""

    question_id: int
    sentence_id: int
    annotator_id: int
    label: str
    annotator: str
    created: datetime
    question: str
    sentence: str
    title: str
    is_gone: bool


@dataclass(frozen=True, slots=True)
class LabelSearch:
    """Which labels. `annotator`: one person's, "" for everyone's. `search`: words that question and sentence have
    together, in any order. `is_gone`: only those on sentences that left their documents."""

    annotator: str = ""
    label: str = ""
    search: str = ""
    is_gone: bool = False


@dataclass(frozen=True, slots=True)
class LabelsView:
    """One page of the labels that a search finds, `total` of them."""

    page: tuple[LabelRecord, ...]
    total: int


@dataclass(frozen=True, slots=True)
class EventView:
    """One step of a pair's history, and when it was done; `label` is "withdrawn" where a label was taken back.
    `is_undo`: by Undo. `is_by_admin`: an admin withdrew or moved the label. `is_move`: it was moved here, or to another
    sentence where it is withdrawn."""

    created: datetime
    annotator: str
    label: str
    is_undo: bool
    is_by_admin: bool
    is_move: bool

    def describe(self) -> str:
        by = " by an admin" if self.is_by_admin else ""
        if self.is_move:
            return f"moved to another sentence{by}" if self.label == WITHDRAWN else f"{self.label} (moved here{by})"
        return f"{self.label} (Undo)" if self.is_undo else f"{self.label} ({by.strip()})" if by else self.label


@dataclass(frozen=True, slots=True)
class PersonView:
    """How far one person is with a corpus: pairs labelled today, all of them, by label, and when the newest was."""

    name: str
    today: int
    labels: int
    correct: int
    incorrect: int
    unsure: int
    newest: datetime


def count_by_person(
    wb: Workbench, corpus_id: int, *, by: int, ahead: timedelta = timedelta()
) -> tuple[PersonView, ...]:
    """The busiest first, for who sees all labels; () for others. A day begins at midnight where clocks are `ahead` of
    UTC."""
    today = (wb.clock() + ahead).replace(hour=0, minute=0, second=0, microsecond=0) - ahead
    with wb.read() as s:
        if not can_see_all(s, by):
            return ()
        return tuple(PersonView(**row._asdict()) for row in rows.count_by_person(s, corpus_id, today))


def list_labels(
    wb: Workbench,
    corpus_id: int,
    *,
    by: int,
    which: LabelSearch = LabelSearch(),
    limit: int,
    offset: int = 0,
) -> LabelsView:
    """Newest first."""
    with wb.read() as s:
        whose = which.annotator if can_see_all(s, by) else s.get_one(Annotator, by).name
        labels = LabelFilter(corpus_id, whose, which.label, split_search(which.search), which.is_gone)
        records = tuple(LabelRecord(**row._asdict()) for row in rows.list_labels(s, labels, limit, offset))
        return LabelsView(records, rows.count_labels(s, labels))


def list_history(wb: Workbench, question_id: int, sentence_id: int, *, by: int) -> tuple[EventView, ...]:
    """What was done to the labels of a pair, the oldest first: by everyone for an admin, else by oneself."""
    with wb.read() as s:
        is_open = can_see_all(s, by)
        events = [r for r in rows.list_history(s, (question_id, sentence_id)) if is_open or r.annotator_id == by]
        return tuple(
            EventView(
                r.moved or r.created,
                r.annotator,
                r.label,
                is_undo=r.undoes is not None,
                is_by_admin=r.queue == label_rows.BY_ADMIN,
                is_move=r.moved is not None,
            )
            for r in events
        )


def withdraw_labels(wb: Workbench, corpus_id: int, records: Collection[LabelRecord], *, by: int) -> int:
    """Take labels back, each by an event of whoever gave it, and say how many: what was changed or taken back meanwhile
    stays. One's own come back by Undo on Label, one by one. Raises UnknownCorpus, NotAllowed for a viewer, and for an
    annotator if some are not theirs."""
    annotator_ids = {r.annotator_id for r in records}
    with wb.write(durable=True) as s:
        person_rows.lock_people(s, annotator_ids | {by})
        least = people.ANNOTATOR if all(r.annotator_id == by for r in records) else ADMIN
        people.require(s, by, WITHDRAW, least)
        lock_corpus(s, corpus_id)
        events, names = [], Counter[str]()
        current = {
            a: label_rows.find_labels_by(s, a, sorted({r.question_id for r in records if r.annotator_id == a}))
            for a in annotator_ids
        }
        for r in records:
            if current[r.annotator_id].get(read_pair(r)) == r.label:
                ids = {"question_id": r.question_id, "sentence_id": r.sentence_id, "annotator_id": r.annotator_id}
                queue = "" if r.annotator_id == by else label_rows.BY_ADMIN  # which one's own Undo leaves alone
                events.append({**ids, "label": WITHDRAWN, "created": wb.clock(), "queue": queue})
                names[r.annotator] += 1
        label_rows.add_events(s, events)
        if events:
            detail = ", ".join(f"{n:,} of {name}" for name, n in names.most_common())
            audit.record(s, wb.clock(), by, WITHDRAW, s.get_one(Corpus, corpus_id).name, detail)
    return len(events)


def shift_labels(
    wb: Workbench,
    corpus_id: int,
    records: Sequence[LabelRecord],
    targets: Mapping[int, int],
    *,
    by: int,
    presentation: Presentation,
) -> int:
    """Give labels to other sentences, and say how many: one's own in one act that Undo takes back; an admin's move of
    others' keeps their names and times, and the giver's Undo leaves it alone. `records`: newest first; `targets`: ids
    of sentences, by those of the labelled ones. Labels stay that were changed meanwhile, or whose new sentence their
    giver labelled already or is in no document. Raises UnknownCorpus, NotAllowed for a viewer, and for an annotator if
    some are not theirs; Gone."""
    act, moves = secrets.token_hex(8), Counter[str]()
    for question_id in {r.question_id for r in records}:
        wb.later.finish(question_id)
    with wb.write(durable=True) as s:
        person_rows.lock_people(s, {r.annotator_id for r in records} | {by})
        people.require(s, by, MOVE, people.ANNOTATOR if all(r.annotator_id == by for r in records) else ADMIN)
        lock_corpus(s, corpus_id)
        for record in reversed(records):  # the latest label of a pair stays that
            target = targets.get(record.sentence_id)
            if target is not None and _shift(s, record, target, by, wb.clock(), presentation, act):
                moves[record.annotator] += 1
        if moves:
            detail = ", ".join(f"{n:,} of {name}" for name, n in moves.most_common())
            audit.record(s, wb.clock(), by, MOVE, s.get_one(Corpus, corpus_id).name, detail)
    return moves.total()


def find_labels_there(
    wb: Workbench, records: Sequence[LabelRecord], targets: Mapping[int, int]
) -> dict[LabelRecord, str]:
    """Labels that `shift_labels` would leave where they are, and the one that their giver gave the new sentence."""
    questions: dict[int, set[int]] = defaultdict(set)
    for record in records:
        questions[record.annotator_id].add(record.question_id)
    with wb.read() as s:
        labels = {giver_id: label_rows.find_labels_by(s, giver_id, sorted(ids)) for giver_id, ids in questions.items()}
    pairs = {r: (r.question_id, targets[r.sentence_id]) for r in records if r.sentence_id in targets}
    return {r: label for r, pair in pairs.items() if (label := labels[r.annotator_id].get(pair)) is not None}


def _shift(
    s: Session, record: LabelRecord, sentence_id: int, by: int, now: datetime, presentation: Presentation, act: str
) -> bool:
    """Whether the label was moved."""
    giver_id, is_own = record.annotator_id, record.annotator_id == by
    old, new = read_pair(record), (record.question_id, sentence_id)
    is_free = _find_label(s, new, giver_id) is None and annotation.can_label(s, new, by)
    if not is_free or _find_label(s, old, giver_id) != record.label:
        return False
    display = presentation if is_own else replace(presentation, queue=label_rows.BY_ADMIN)
    created = now if is_own else record.created
    annotation.add_label(s, created, new, giver_id, record.label, display, act, may_exceed=True)
    queues.lock_candidate(s, *old)
    label_rows.add_event(s, *old, giver_id, WITHDRAWN, now, display.to_columns() | {"act": act})
    texts = (s.get_one(Sentence, i).text.split() for i in (record.sentence_id, sentence_id))
    if next(texts) == next(texts):  # how the conflict was settled holds for the same words
        reviews.copy_verdict(s, old, new)
    return True


def _find_label(s: Session, pair: Pair, annotator_id: int) -> str | None:
    """Somebody's current label."""
    newest = label_rows.find_newest_event(s, *pair, annotator_id)
    return None if newest is None or newest.label == WITHDRAWN else newest.label


def count_labels_to_give(wb: Workbench, giver_id: int, *, by: int | None) -> int:
    """How many labels in all corpora `give_labels_to` would hand over or leave; 0 for who does not see all labels."""
    with wb.read() as s:
        return label_rows.count_labels_by(s, giver_id) if by is None or can_see_all(s, by) else 0


def _find_obstacle(giver: Annotator, heir: Annotator) -> str:
    """Why the one's labels cannot become the other's; "" if they can."""
    if giver is heir:
        return f"{giver.name} twice: name two people, first whose labels they are, then whose they become"
    if giver.subject is not None and giver.role != people.BLOCKED:
        remedy = "give them the role blocked first, or name somebody who does not log in"
        return f"{giver.name} logs in, and may go on labelling: {remedy}"
    if heir.role == people.BLOCKED:
        remedy = "give them another role first, or name the two the other way round"
        return f"{heir.name} is blocked, and labels go to somebody who works here: {remedy}"
    return ""


def give_labels_to(wb: Workbench, giver_id: int, heir_id: int, *, by: int | None) -> HandoverView:
    """Make the labels of somebody who does not log in, such as a name on imported labels, or is blocked, such as an
    account that was replaced by a new one, another person's: as imported ones with their times and what was on the
    screen. The heir's Undo leaves them alone, and what chance drew stays in the sample. Labels so signed that are
    imported later are the heir's, too. Where both labelled a pair, the heir's label stays. `by` None is the command
    line. Raises NotAllowed unless `by` is an admin, BadSetting, Gone, UnknownCorpus."""
    with wb.write(durable=True) as s:
        person_rows.lock_people(s, {giver_id, heir_id, by or giver_id})
        people.allow(s, by, HAND_OVER, ADMIN)
        giver, heir = s.get(Annotator, giver_id), s.get(Annotator, heir_id)
        if giver is None or heir is None or giver.imported or heir.imported:
            raise people.Gone("this person does not exist any more: reload the page")
        if reason := _find_obstacle(giver, heir):
            raise BadSetting(reason)
        labels = label_rows.list_labels_by(s, giver_id)
        for corpus_id in sorted({r.corpus_id for r in labels}):
            lock_corpus(s, corpus_id)
        own = label_rows.find_labels_by(s, heir_id, sorted({r.question_id for r in labels}))
        random_pairs = label_rows.find_random_pairs(s, giver_id, [*filter(is_sample, QUEUES)])
        events, withdrawals, outcomes = [], [], Counter[str]()
        for r in labels:
            pair, label = {"question_id": r.question_id, "sentence_id": r.sentence_id}, own.get(read_pair(r))
            outcome = "moved" if label is None else "same" if label == r.label else "different"
            outcomes[outcome] += 1
            if outcome == "moved":
                marks = label_rows.copy_presentation(r)
                marks |= {"queue": label_rows.IMPORTED, "control": read_pair(r) in random_pairs}
                events.append({**pair, **marks, "annotator_id": heir_id, "label": r.label, "created": r.created})
            if outcome != "different":
                marks = {"queue": label_rows.HANDED_OVER, "act": str(heir_id), "created": wb.clock()}
                withdrawals.append({**pair, **marks, "annotator_id": giver_id, "label": WITHDRAWN})
        label_rows.add_events(s, events)
        label_rows.add_events(s, withdrawals)
        view = HandoverView(outcomes["moved"], outcomes["same"], outcomes["different"])
        detail = f"to {heir.name}: {view.moved:,} moved, {view.same:,} the same, {view.different:,} different and left"
        audit.record(s, wb.clock(), by, HAND_OVER, giver.name, detail)
        return view
