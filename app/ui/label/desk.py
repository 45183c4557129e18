"""What one browser session labels: the item in front and the way it came.

Every step takes a desk and gives a new one; only services are called on the way. An action names the showing it was
meant for (`BaseDesk.showing`); one that arrives after the item has changed is refused, so that a slow connection or a
held key never labels something unseen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, Self, TypeVar

from app.labels import annotation, queues
from app.labels.queues import Assignment, QuestionItem, QueueItem
from app.labels.strategies import QUEUES
from app.workbench.workbench import Workbench

Pair = tuple[int, int]  # question id, sentence id
Key = TypeVar("Key")
Item = TypeVar("Item", bound=QueueItem | QuestionItem)


@dataclass(frozen=True, slots=True)
class Seat:
    """Who labels where; another seat needs a new desk. `holder` separates this browser session from others of the same
    name; `pool` as for `queues.next_item`."""

    corpus_id: int
    annotator_id: int
    queue: str
    holder: str
    pool: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Display:
    """What the page shows beside the item: whether scores are on, and which version of the guidelines."""

    scores: bool
    guideline: int


@dataclass(frozen=True, slots=True)
class Trail(Generic[Key]):
    """What was shown and how it was assigned, oldest first. `at`: the place of the item on the screen; past the end
    where the queue has no more."""

    stops: tuple[tuple[Key, Assignment], ...] = ()
    at: int = -1

    def add(self, key: Key, assignment: Assignment) -> Trail[Key]:
        """With the queue's next item at the end."""
        before = self.stops[:-1] if self.stops and self.stops[-1][0] == key else self.stops
        return Trail((*before, (key, assignment)), len(before))

    def find(self, key: Key) -> tuple[int, Assignment | None]:
        """The place of an item and how it was assigned; the end and None for one that was not shown yet."""
        places = [i for i, (shown, _) in enumerate(self.stops) if shown == key]
        at = self.at if self.at in places else places[-1] if places else len(self.stops)
        return at, self.stops[at][1] if places else None

    def move(self, steps: int) -> Trail[Key]:
        return replace(self, at=self.at + steps)

    @property
    def is_in_past(self) -> bool:
        return 0 <= self.at < len(self.stops) - 1


@dataclass(frozen=True, slots=True)
class BaseDesk(Generic[Key, Item]):
    """`passed`: what was skipped in this session, the latest last."""

    seat: Seat
    item: Item | None = None
    trail: Trail[Key] = Trail()
    passed: tuple[Key, ...] = ()
    turn: int = 0

    @property
    def showing(self) -> str:
        """Names what is on the screen now: changes with every action."""
        return f"{self.item.token if self.item else 'none'}/{self.turn}"

    def next_turn(self) -> Self:
        """The same desk under a new showing: whatever was sent for the one before is refused."""
        return replace(self, turn=self.turn + 1)

    @property
    def can_go_back(self) -> bool:
        return self.trail.at > 0


@dataclass(frozen=True, slots=True)
class Desk(BaseDesk[Pair, QueueItem]):
    """One pair at a time."""

    @property
    def pair(self) -> Pair | None:
        """What a flag would be put on."""
        return (self.item.question_id, self.item.sentence_id) if self.item else None


def start(wb: Workbench, seat: Seat) -> Desk:
    """A fresh desk with the queue's first item."""
    return draw_next(wb, Desk(seat))


def give(wb: Workbench, desk: Desk, label: str, display: Display) -> Desk:
    """Store a label for the item in front and go on. Raises OverlapReached for one that another annotator has, and as
    `annotation.give_label` does."""
    item = desk.item
    if item is None:
        return desk
    if item.is_locked:
        raise annotation.OverlapReached("Someone else is labelling this item. Nothing was recorded.")
    annotation.give_label(
        wb,
        question_id=item.question_id,
        sentence_id=item.sentence_id,
        annotator_id=desk.seat.annotator_id,
        label=label,
        presentation=item.assignment.present(item, item.version, scores=display.scores, guideline=display.guideline),
    )
    return _go_on(wb, _pass(desk) if QUEUES[desk.seat.queue].keeps_labelled else desk)


def undo(wb: Workbench, desk: Desk) -> tuple[Desk, int]:
    """Undo this annotator's last act and show its item again; how many pairs it was about, 0 if there was none."""
    undone = annotation.undo_last(wb, desk.seat.annotator_id, desk.seat.corpus_id)
    if undone is None:
        return desk, 0
    return open_pair(wb, desk, (undone.question_id, undone.sentence_id)), undone.pairs


def back(wb: Workbench, desk: Desk) -> Desk:
    """The item shown before this one."""
    return _move(wb, desk, -1) if desk.can_go_back else desk


def forward(wb: Workbench, desk: Desk) -> Desk:
    """The next item: along the trail after going back, else the queue's next, leaving this one unlabelled."""
    if desk.item is None:
        return draw_next(wb, replace(desk, passed=()))
    stays = desk.item.label is None or QUEUES[desk.seat.queue].is_review
    return _go_on(wb, _pass(desk) if stays and desk.pair not in desk.passed else desk)


skip = forward  # in place of an item that may no longer be labelled


def open_pair(wb: Workbench, desk: Desk, pair: Pair) -> Desk:
    """Show a pair again, assigned as before, at its place in the trail."""
    at, assignment = desk.trail.find(pair)
    seat = desk.seat
    item = queues.item_at(wb, *pair, seat.annotator_id, holder=seat.holder, assignment=assignment)
    trail = replace(desk.trail, at=at) if assignment else desk.trail.add(pair, item.assignment)
    return replace(desk, item=item, trail=trail)


def draw_next(wb: Workbench, desk: Desk) -> Desk:
    """With what the queue has next; what was skipped stays so."""
    seat, trail = desk.seat, desk.trail
    item = queues.next_item(
        wb, seat.corpus_id, seat.annotator_id, seat.queue, holder=seat.holder, passed=desk.passed, pool=seat.pool
    )
    if item is None:
        return replace(desk, item=None, trail=replace(trail, at=len(trail.stops)))
    return replace(desk, item=item, trail=trail.add((item.question_id, item.sentence_id), item.assignment))


def _pass(desk: Desk) -> Desk:
    return replace(desk, passed=(*desk.passed, desk.pair)) if desk.pair else desk


def _go_on(wb: Workbench, desk: Desk) -> Desk:
    return _move(wb, desk, 1) if desk.trail.is_in_past else draw_next(wb, desk)


def _move(wb: Workbench, desk: Desk, steps: int) -> Desk:
    trail = desk.trail.move(steps)
    return open_pair(wb, replace(desk, trail=trail), trail.stops[trail.at][0])
