"""What one browser session labels: the item in front and the way it came.

Every step gives a new desk; only services are called on the way. An action names the showing it was meant for
(`BaseDesk.showing`); one that arrives after the item has changed is refused, so that a slow connection or a held key
never labels something unseen.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, Self, TypeVar

from app.labels import annotation, leasing
from app.labels.items import QuestionItem, QueueItem
from app.labels.queues import QUEUES, Assignment
from app.labels.seats import Seat
from app.workbench.workbench import DatabaseTrouble, Workbench

DESK_KEY = "_label_desk"  # of the session
Pair = tuple[int, int]  # question id, sentence id
Key = TypeVar("Key")
Item = TypeVar("Item", bound=QueueItem | QuestionItem)


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

    def add(self, key: Key, assignment: Assignment) -> Self:
        """With the queue's next item at the end."""
        before = self.stops[:-1] if self.stops and self.stops[-1][0] == key else self.stops
        return replace(self, stops=(*before, (key, assignment)), at=len(before))

    def find(self, key: Key) -> tuple[int, Assignment | None]:
        """The place of an item and how it was assigned; the end and None for one that was not shown yet."""
        places = [i for i, (other, _) in enumerate(self.stops) if other == key]
        at = self.at if self.at in places else places[-1] if places else len(self.stops)
        return at, self.stops[at][1] if places else None

    def move(self, steps: int) -> Self:
        return replace(self, at=self.at + steps)

    def go_to_end(self) -> Self:
        return replace(self, at=len(self.stops))

    @property
    def is_in_past(self) -> bool:
        return 0 <= self.at < len(self.stops) - 1


@dataclass(frozen=True, slots=True)
class BaseDesk(ABC, Generic[Key, Item]):
    """`skips`: what was skipped in this session, the latest last; `question_skips`: questions with all their pairs."""

    seat: Seat
    item: Item | None = None
    trail: Trail[Key] = Trail()
    skips: tuple[Key, ...] = ()
    question_skips: tuple[int, ...] = ()
    turn: int = 0

    @classmethod
    def start(cls, wb: Workbench, seat: Seat, question_skips: tuple[int, ...] = ()) -> Self:
        """A fresh desk with the queue's first item; `question_skips`: from a desk before it."""
        return cls(seat, question_skips=question_skips).draw_next(wb)

    @property
    def showing(self) -> str:
        """Names what is on the screen now: changes with every action."""
        return f"{self.item.token if self.item else 'none'}/{self.turn}"

    @property
    @abstractmethod
    def pair(self) -> Pair | None:
        """What a flag would be put on."""

    @property
    def can_go_back(self) -> bool:
        return self.trail.at > 0

    def count_skips(self) -> int:
        """How many items and questions were skipped."""
        return len(self.skips) + len(self.question_skips)

    def next_turn(self) -> Self:
        """The same desk under a new showing: whatever was sent for the one before is refused."""
        return replace(self, turn=self.turn + 1)

    @abstractmethod
    def draw_next(self, wb: Workbench) -> Self:
        """With what the queue has next; what was skipped stays so."""

    @abstractmethod
    def open_again(self, wb: Workbench) -> Self:
        """The question in front as it is ranked now."""

    @abstractmethod
    def open_pair(self, wb: Workbench, pair: Pair) -> Self:
        """Show a pair again, assigned as before, at its place in the trail."""

    @abstractmethod
    def give(self, wb: Workbench, label: str, display: Display) -> Self:
        """Store a label for what is in front and go on. Raises OverlapReached for a pair that another annotator has or
        that has enough labels, and as `annotation.give_label` does."""

    def skip(self, wb: Workbench) -> Self:
        """Go on from what may no longer be labelled."""
        return self.forward(wb)

    def follow(self, step: Callable[[Workbench], Self], wb: Workbench) -> Self:
        """What comes after an act that is stored. Where the database fails only now, nothing is in front, so that the
        page does not say that the act was lost; the next item is drawn when the database is back."""
        try:
            return step(wb)
        except DatabaseTrouble:
            return replace(self, item=None)

    def reopen_pair(self, wb: Workbench, pair: Pair) -> Self:
        """`open_pair`, after what was done to the pair is stored."""
        return self.follow(lambda wb: self.open_pair(wb, pair), wb)

    def undo(self, wb: Workbench) -> tuple[Self, int]:
        """Undo this annotator's last act and show its item again; how many pairs it was about, 0 if there was none."""
        event = annotation.undo_last(wb, self.seat.annotator_id, self.seat.corpus_id)
        if event is None:
            return self, 0
        pair = event.question_id, event.sentence_id
        return self.reopen_pair(wb, pair), event.pairs

    def back(self, wb: Workbench) -> Self:
        """The item shown before this one."""
        return self._move(wb, -1) if self.can_go_back else self

    def forward(self, wb: Workbench) -> Self:
        """The next item: along the trail after going back, else the queue's next, leaving this one for later."""
        if self.item is None:
            return replace(self, skips=(), question_skips=()).draw_next(wb)
        return self._leave()._go_on(wb)

    def skip_question(self, wb: Workbench) -> Self:
        """The queue's next item of another question; this question is skipped on every desk of the session."""
        if self.item is None:
            return self
        return replace(self, question_skips=(*self.question_skips, self.item.question_id)).draw_next(wb)

    @abstractmethod
    def _leave(self) -> Self:
        """With the item among the skips, if the queue would offer it again."""

    @abstractmethod
    def _show(self, wb: Workbench, key: Key, assignment: Assignment | None) -> Self:
        """An item again, assigned as the trail says, else as given."""

    def _go_on(self, wb: Workbench) -> Self:
        return self._move(wb, 1) if self.trail.is_in_past else self.draw_next(wb)

    def _move(self, wb: Workbench, steps: int) -> Self:
        trail = self.trail.move(steps)
        return replace(self, trail=trail)._show(wb, *trail.stops[trail.at])


@dataclass(frozen=True, slots=True)
class Desk(BaseDesk[Pair, QueueItem]):
    """One pair at a time."""

    @property
    def pair(self) -> Pair | None:
        return (self.item.question_id, self.item.sentence_id) if self.item else None

    def open_again(self, wb: Workbench) -> Self:
        """With what the queue has first now: another sentence of the question may be the best."""
        return self.draw_next(wb)

    def draw_next(self, wb: Workbench) -> Self:
        item, trail = leasing.find_next_item(wb, self.seat, (*self.question_skips, *self.skips)), self.trail
        if item is None:
            return replace(self, item=None, trail=trail.go_to_end())
        return replace(self, item=item, trail=trail.add((item.question_id, item.sentence_id), item.assignment))

    def open_pair(self, wb: Workbench, pair: Pair) -> Self:
        return self._show(wb, pair, None)

    def give(self, wb: Workbench, label: str, display: Display) -> Self:
        if self.item is None:
            return self
        self._store(wb, self.item, label, display)
        desk = self._pass() if QUEUES[self.seat.queue].keeps_pairs else self
        return desk.follow(desk._go_on, wb)

    def _store(self, wb: Workbench, item: QueueItem, label: str, display: Display) -> None:
        if item.is_locked:
            raise annotation.OverlapReached("Someone else is labelling this item. Nothing was recorded.")
        annotation.give_label(
            wb,
            question_id=item.question_id,
            sentence_id=item.sentence_id,
            annotator_id=self.seat.annotator_id,
            label=label,
            presentation=item.present(
                item.assignment, item.version, scores=display.scores, guideline=display.guideline
            ),
        )

    def _leave(self) -> Self:
        stays = self.item is not None and (self.item.label is None or QUEUES[self.seat.queue].is_review)
        return self._pass() if stays and self.pair not in self.skips else self

    def _pass(self) -> Self:
        return replace(self, skips=(*self.skips, self.pair)) if self.pair else self

    def _show(self, wb: Workbench, key: Pair, assignment: Assignment | None) -> Self:
        seat, (at, before) = self.seat, self.trail.find(key)
        item = leasing.open_item(wb, *key, seat.annotator_id, holder=seat.holder, assignment=before or assignment)
        trail = replace(self.trail, at=at) if before else self.trail.add(key, item.assignment)
        return replace(self, item=item, trail=trail)
