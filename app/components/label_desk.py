"""What one browser session has on its desk: the item in front and the way it came.

Every step takes a desk and gives a new one; only services are called on the way. An action names the showing it was
meant for (`Desk.showing`); one that arrives after the item has changed is refused, so that a slow connection or a held
key never labels something unseen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.services import Workbench, labelling, queueing
from app.services.label_views import Dealt
from app.services.views import QueueItem, Shown

Pair = tuple[int, int]  # question id, sentence id


@dataclass(frozen=True, slots=True)
class Seat:
    """Who sits where: a new one, and the desk is cleared. `holder` tells this browser session from others of the same
    name; `pool` as for `queueing.next_item`."""

    corpus_id: int
    annotator_id: int
    queue: str
    holder: str
    pool: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """What the page shows beside the item: whether scores are on, and which version of the guidelines."""

    scores: bool
    guideline: int


@dataclass(frozen=True, slots=True)
class Desk:
    """`trail` holds the pairs shown and how they were dealt, oldest first, and `at` the place in it; at its end the
    queue goes on. `passed` are the pairs skipped in this sitting, the latest last."""

    seat: Seat
    item: QueueItem | None = None
    trail: tuple[tuple[Pair, Dealt], ...] = ()
    at: int = -1
    passed: tuple[Pair, ...] = ()
    turn: int = 0

    @property
    def showing(self) -> str:
        """Names what is on the screen now: changes with every action."""
        return f"{self.item.token if self.item else 'none'}/{self.turn}"

    def next_turn(self) -> Desk:
        """The same desk under a new showing: whatever was sent for the one before is refused."""
        return replace(self, turn=self.turn + 1)

    @property
    def can_go_back(self) -> bool:
        return bool(self.trail) and (self.at > 0 or self.item is None)

    @property
    def pair(self) -> Pair | None:
        """What a flag would be put on."""
        return (self.item.question_id, self.item.sentence_id) if self.item else None


def sit_down(wb: Workbench, seat: Seat) -> Desk:
    """A fresh desk with the queue's first item."""
    return _draw(wb, Desk(seat))


def give(wb: Workbench, desk: Desk, label: str, seen: Seen) -> Desk:
    """Store a label for the item in front and go on. Raises labelling.Enough for one that is with others, and as
    `labelling.give_label` does."""
    item = desk.item
    if item is None:
        return desk
    if item.held:
        raise labelling.Enough("this one is with others; nothing was recorded")
    shown = Shown(
        version=item.version,
        rank=item.rank,
        scores_visible=seen.scores and item.arm != "blind",
        queue=item.queue,
        control=item.control,
        arm=item.arm if seen.scores else "",
        model_says=item.model_says,
        guideline=seen.guideline,
    )
    labelling.give_label(
        wb,
        question_id=item.question_id,
        sentence_id=item.sentence_id,
        annotator_id=desk.seat.annotator_id,
        label=label,
        shown=shown,
    )
    if desk.seat.queue == "own":  # a label leaves it where it is
        desk = replace(desk, passed=(*desk.passed, (item.question_id, item.sentence_id)))
    return _onward(wb, desk)


def undo(wb: Workbench, desk: Desk) -> tuple[Desk, int]:
    """Undo this annotator's last act and show its item again; how many pairs it was about, 0 if there was none."""
    undone = labelling.undo_last(wb, desk.seat.annotator_id, desk.seat.corpus_id)
    if undone is None:
        return desk, 0
    return _show(wb, desk, (undone.question_id, undone.sentence_id)), undone.together


def back(wb: Workbench, desk: Desk) -> Desk:
    """The item shown before this one."""
    if not desk.can_go_back:
        return desk
    at = len(desk.trail) - 1 if desk.item is None else desk.at - 1
    return _show(wb, replace(desk, at=at), desk.trail[at][0])


def forward(wb: Workbench, desk: Desk) -> Desk:
    """The next item: along the trail after going back, else the queue's next, leaving this one unlabelled."""
    if desk.item is None:
        return _draw(wb, replace(desk, passed=()))
    pair = (desk.item.question_id, desk.item.sentence_id)
    stays = desk.item.label is None or desk.seat.queue in queueing.REVIEWS
    passed = (*desk.passed, pair) if stays and pair not in desk.passed else desk.passed
    return _onward(wb, replace(desk, passed=passed))


def look(wb: Workbench, desk: Desk) -> Desk:
    """Whether the queue has something now; what was passed over stays so."""
    return _draw(wb, desk)


def pass_over(wb: Workbench, desk: Desk) -> Desk:
    """The next item in place of one that may no longer be labelled."""
    return forward(wb, desk)


def open_pair(wb: Workbench, desk: Desk, pair: Pair) -> Desk:
    """Show one pair of the list of acts again, to change its label."""
    return _show(wb, desk, pair)


def _onward(wb: Workbench, desk: Desk) -> Desk:
    if 0 <= desk.at < len(desk.trail) - 1:
        at = desk.at + 1
        return _show(wb, replace(desk, at=at), desk.trail[at][0])
    return _draw(wb, desk)


def _show(wb: Workbench, desk: Desk, pair: Pair) -> Desk:
    """A pair again: dealt as the trail says, where it is in it."""
    places = [i for i, (shown, _) in enumerate(desk.trail) if shown == pair]
    at = desk.at if desk.at in places else places[-1] if places else len(desk.trail)
    dealt = desk.trail[at][1] if places else None
    item = queueing.item_at(wb, *pair, desk.seat.annotator_id, holder=desk.seat.holder, dealt=dealt)
    trail = desk.trail if places else (*desk.trail, _stop(item))
    return replace(desk, item=item, trail=trail, at=at)


def _stop(item: QueueItem) -> tuple[Pair, Dealt]:
    return (item.question_id, item.sentence_id), Dealt(item.queue, item.control, item.arm)


def _draw(wb: Workbench, desk: Desk) -> Desk:
    seat = desk.seat
    item = queueing.next_item(
        wb,
        seat.corpus_id,
        seat.annotator_id,
        seat.queue,
        holder=seat.holder,
        passed=desk.passed,
        pool=seat.pool,
    )
    if item is None:
        return replace(desk, item=None, at=len(desk.trail))
    stop = _stop(item)
    before = desk.trail[:-1] if desk.trail and desk.trail[-1][0] == stop[0] else desk.trail
    return replace(desk, item=item, trail=(*before, stop), at=len(before))
