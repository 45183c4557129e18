"""What one browser session has on its desk: the item in front, the way it came, and what was done.

Every step takes a desk and gives a new one; only `app.services.labelling` is called on the way. An action names the
showing it was meant for (`Desk.showing`); one that arrives after the item has changed is refused, so that a slow
connection or a held key never labels something unseen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.services import Workbench, labelling
from app.services.views import QueueItem, Shown

WITHDRAWN = "withdrawn"
REMEMBERED = 5  # acts listed on the page

Pair = tuple[int, int]  # question id, sentence id


@dataclass(frozen=True, slots=True)
class Act:
    """One stored act. `label` is one of LABELS, or WITHDRAWN."""

    question_id: int
    sentence_id: int
    question: str
    text: str
    label: str


@dataclass(frozen=True, slots=True)
class Desk:
    """`trail` holds the pairs shown, oldest first, and `at` the place in it; at its end the queue goes on.

    `passed` are the pairs skipped in this sitting. `holder` tells this browser session from others of the same name.
    """

    corpus_id: int
    annotator_id: int
    queue: str
    holder: str
    item: QueueItem | None = None
    trail: tuple[Pair, ...] = ()
    at: int = -1
    passed: tuple[Pair, ...] = ()
    acts: tuple[Act, ...] = ()  # newest first
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


def sit_down(
    wb: Workbench,
    *,
    corpus_id: int,
    annotator_id: int,
    queue: str,
    holder: str,
    acts: tuple[Act, ...] = (),
) -> Desk:
    """A fresh desk with the queue's first item; `acts` are those of the sitting before, in another queue."""
    return _draw(wb, Desk(corpus_id, annotator_id, queue, holder, acts=acts))


def give(wb: Workbench, desk: Desk, label: str, *, scores_visible: bool) -> Desk:
    """Store a label for the item in front and go on. The act is listed only after the service has stored it."""
    item = desk.item
    if item is None:
        return desk
    shown = Shown(
        version=item.version,
        rank=item.rank,
        scores_visible=scores_visible,
        queue=item.queue,
    )
    labelling.give_label(
        wb,
        question_id=item.question_id,
        sentence_id=item.sentence_id,
        annotator_id=desk.annotator_id,
        label=label,
        shown=shown,
    )
    return _onward(wb, _noted(desk, item, label))


def withdraw(wb: Workbench, desk: Desk) -> Desk:
    """Take back this annotator's label of the item in front; the item stays."""
    item = desk.item
    if item is None or item.label is None:
        return desk
    labelling.withdraw(
        wb,
        question_id=item.question_id,
        sentence_id=item.sentence_id,
        annotator_id=desk.annotator_id,
    )
    return _show(wb, _noted(desk, item, WITHDRAWN), (item.question_id, item.sentence_id))


def undo(wb: Workbench, desk: Desk) -> tuple[Desk, bool]:
    """Undo this annotator's last act and show its item again; False when there was none."""
    undone = labelling.undo_last(wb, desk.annotator_id, desk.corpus_id)
    if undone is None:
        return desk, False
    pair = (undone.question_id, undone.sentence_id)
    acts = list(desk.acts)
    for i, act in enumerate(acts):
        if (act.question_id, act.sentence_id) == pair:
            del acts[i]
            break
    return _show(wb, replace(desk, acts=tuple(acts)), pair), True


def back(wb: Workbench, desk: Desk) -> Desk:
    """The item shown before this one."""
    if not desk.can_go_back:
        return desk
    at = len(desk.trail) - 1 if desk.item is None else desk.at - 1
    return _show(wb, replace(desk, at=at), desk.trail[at])


def forward(wb: Workbench, desk: Desk) -> Desk:
    """The next item: along the trail after going back, else the queue's next, leaving this one unlabelled."""
    if desk.item is None:
        return _draw(wb, replace(desk, passed=()))
    pair = (desk.item.question_id, desk.item.sentence_id)
    passed = desk.passed if desk.item.label or pair in desk.passed else (*desk.passed, pair)
    return _onward(wb, replace(desk, passed=passed))


def open_pair(wb: Workbench, desk: Desk, pair: Pair) -> Desk:
    """Show one pair of the list of acts again, to change its label."""
    return _show(wb, desk, pair)


def _noted(desk: Desk, item: QueueItem, label: str) -> Desk:
    act = Act(item.question_id, item.sentence_id, item.question, item.text, label)
    return replace(desk, acts=(act, *desk.acts)[:REMEMBERED])


def _onward(wb: Workbench, desk: Desk) -> Desk:
    if 0 <= desk.at < len(desk.trail) - 1:
        at = desk.at + 1
        return _show(wb, replace(desk, at=at), desk.trail[at])
    return _draw(wb, desk)


def _show(wb: Workbench, desk: Desk, pair: Pair) -> Desk:
    item = labelling.item_at(wb, pair[0], pair[1], desk.annotator_id, holder=desk.holder)
    if pair in desk.trail:
        at = desk.at if 0 <= desk.at < len(desk.trail) and desk.trail[desk.at] == pair else desk.trail.index(pair)
        return replace(desk, item=item, at=at)
    return replace(desk, item=item, trail=(*desk.trail, pair), at=len(desk.trail))


def _draw(wb: Workbench, desk: Desk) -> Desk:
    item = labelling.next_item(
        wb,
        desk.corpus_id,
        desk.annotator_id,
        desk.queue,
        holder=desk.holder,
        passed=desk.passed,
    )
    if item is None:
        return replace(desk, item=None, at=len(desk.trail))
    pair = (item.question_id, item.sentence_id)
    trail = desk.trail if desk.trail and desk.trail[-1] == pair else (*desk.trail, pair)
    return replace(desk, item=item, trail=trail, at=len(trail) - 1)
