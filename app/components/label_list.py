"""The desk of the other mode: a question with its whole list. As in `label_desk`, a step gives a new desk."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.components.label_desk import Pair, Seat, Seen
from app.services import Workbench, labelling, queueing
from app.services.label_views import Dealt, ListRow, QuestionItem
from app.services.views import INCORRECT, Shown

WINDOW = 8  # rows on the page at once


@dataclass(frozen=True, slots=True)
class ListDesk:
    """`row` is the place in front; `trail` the questions shown and how they were dealt, `place` the one of them on the
    screen. `passed`: the questions left, the latest last."""

    seat: Seat
    item: QuestionItem | None = None
    row: int = 0
    trail: tuple[tuple[int, Dealt], ...] = ()
    place: int = -1
    passed: tuple[int, ...] = ()
    turn: int = 0

    @property
    def showing(self) -> str:
        return f"{self.item.token if self.item else 'none'}/{self.row}/{self.turn}"

    def next_turn(self) -> ListDesk:
        return replace(self, turn=self.turn + 1)

    @property
    def can_go_back(self) -> bool:
        return bool(self.trail) and (self.place > 0 or self.item is None)

    @property
    def pair(self) -> Pair | None:
        return (self.item.question_id, self.item.rows[self.row].sentence_id) if self.item else None

    @property
    def rest(self) -> tuple[ListRow, ...]:
        """What "the rest are incorrect" would label: open to this annotator, and not labelled by them."""
        return tuple(r for r in self.item.rows if r.free and r.label is None) if self.item else ()

    @property
    def window(self) -> range:
        """The rows on the page: those around the one in front."""
        rows = len(self.item.rows) if self.item else 0
        first = min(max(0, self.row - WINDOW // 2), max(0, rows - WINDOW))
        return range(first, min(rows, first + WINDOW))


def sit_down(wb: Workbench, seat: Seat) -> ListDesk:
    """A fresh desk with the queue's first question."""
    return _draw(wb, ListDesk(seat))


def give(wb: Workbench, desk: ListDesk, label: str, seen: Seen) -> ListDesk:
    """Label the row in front and step to the next one open to this annotator; at the end of the list it stays.

    Raises labelling.Enough for a row that is with others or has labels enough, and as `labelling.give_label` does.
    """
    if desk.item is None:
        return desk
    row = desk.item.rows[desk.row]
    if not row.free:
        raise labelling.Enough("this row is with others or has labels enough; nothing was recorded")
    labelling.give_label(
        wb,
        question_id=desk.item.question_id,
        sentence_id=row.sentence_id,
        annotator_id=desk.seat.annotator_id,
        label=label,
        shown=_shown(desk.item, row, seen),
    )
    return pass_over(wb, _labelled(desk, {row.sentence_id: label}))


def pass_over(wb: Workbench, desk: ListDesk) -> ListDesk:
    """The next row open to this annotator in front; the same one if no more is."""
    if desk.item is None:
        return desk
    return replace(desk, row=next((i for i, r in enumerate(desk.item.rows) if i > desk.row and r.free), desk.row))


def reject_rest(wb: Workbench, desk: ListDesk, seen: Seen) -> tuple[ListDesk, int]:
    """Label every row that has no label of this annotator incorrect, in one act; how many they were."""
    if desk.item is None or not desk.rest:
        return desk, 0
    given = labelling.give_labels(
        wb,
        question_id=desk.item.question_id,
        annotator_id=desk.seat.annotator_id,
        label=INCORRECT,
        shown={r.sentence_id: _shown(desk.item, r, seen) for r in desk.rest},
    )
    return _labelled(desk, {x.sentence_id: INCORRECT for x in given}), len(given)


def undo(wb: Workbench, desk: ListDesk) -> tuple[ListDesk, int]:
    """Undo the last act and show its question, in front the row that one was at if it was undone too, else the
    best-ranked; how many pairs it was about, 0 for none."""
    before = desk.item.rows[desk.row] if desk.item else None
    undone = labelling.undo_last(wb, desk.seat.annotator_id, desk.seat.corpus_id)
    if undone is None:
        return desk, 0
    stood, desk = desk.pair, open_pair(wb, desk, (undone.question_id, undone.sentence_id))
    if undone.together > 1 and stood and stood[0] == undone.question_id:
        here = _place(desk, stood)
        if here is not None and desk.item.rows[here].label != before.label:
            desk = replace(desk, row=here)
    return desk, undone.together


def open_pair(wb: Workbench, desk: ListDesk, pair: Pair) -> ListDesk:
    """The pair's question, its row in front."""
    dealt = queueing.dealt_as(wb, *pair, desk.seat.annotator_id)
    desk = _show(wb, desk, pair[0], dealt)
    return replace(desk, row=_place(desk, pair) or 0)


def _place(desk: ListDesk, pair: Pair) -> int | None:
    return next((i for i, r in enumerate(desk.item.rows) if r.sentence_id == pair[1]), None)


def up(desk: ListDesk) -> ListDesk:
    return replace(desk, row=max(0, desk.row - 1))


def down(desk: ListDesk) -> ListDesk:
    return replace(desk, row=min(len(desk.item.rows) - 1, desk.row + 1)) if desk.item else desk


def pick(desk: ListDesk, row: int) -> ListDesk:
    """Put a row in front."""
    return replace(desk, row=row) if desk.item and 0 <= row < len(desk.item.rows) else desk


def back(wb: Workbench, desk: ListDesk) -> ListDesk:
    """The question before this one."""
    if not desk.can_go_back:
        return desk
    place = len(desk.trail) - 1 if desk.item is None else desk.place - 1
    return _show(wb, replace(desk, place=place), *desk.trail[place])


def forward(wb: Workbench, desk: ListDesk) -> ListDesk:
    """The next question; what is left of this one stays for later."""
    if desk.item is None:
        return _draw(wb, replace(desk, passed=()))
    passed = (*desk.passed, desk.item.question_id)
    if 0 <= desk.place < len(desk.trail) - 1:
        return _show(wb, replace(desk, place=desk.place + 1, passed=passed), *desk.trail[desk.place + 1])
    return _draw(wb, replace(desk, passed=passed))


def look(wb: Workbench, desk: ListDesk) -> ListDesk:
    """Whether the queue has something now; what was passed over stays so."""
    return _draw(wb, desk)


def _shown(item: QuestionItem, row: ListRow, seen: Seen) -> Shown:
    along = item.drawn not in (None, row.sentence_id)  # chance brought the list by another row: no part of its sample
    return Shown(
        version=item.version,
        rank=row.rank,
        scores_visible=seen.scores and item.arm != "blind",
        queue=queueing.ALONG if along else item.queue,
        control=item.control and not along,
        arm=item.arm if seen.scores and row.rank is not None else "",
        model_says=row.model_says,
        guideline=seen.guideline,
    )


def _labelled(desk: ListDesk, labels: dict[int, str]) -> ListDesk:
    rows = tuple(replace(r, label=labels.get(r.sentence_id, r.label)) for r in desk.item.rows)
    return replace(desk, item=replace(desk.item, rows=rows))


def _show(wb: Workbench, desk: ListDesk, question_id: int, dealt: Dealt) -> ListDesk:
    """A question again: dealt as the trail says, where it is in it."""
    seat = desk.seat
    places = [i for i, (shown, _) in enumerate(desk.trail) if shown == question_id]
    place = desk.place if desk.place in places else places[-1] if places else len(desk.trail)
    trail = desk.trail if places else (*desk.trail, (question_id, dealt))
    item = queueing.question_at(
        wb, question_id, seat.annotator_id, seat.queue, holder=seat.holder, dealt=trail[place][1]
    )
    return replace(desk, item=item, row=0, trail=trail, place=place)


def _draw(wb: Workbench, desk: ListDesk) -> ListDesk:
    seat = desk.seat
    item = queueing.next_question(
        wb, seat.corpus_id, seat.annotator_id, seat.queue, holder=seat.holder, passed=desk.passed, pool=seat.pool
    )
    if item is None:
        return replace(desk, item=None, row=0, place=len(desk.trail))
    before = desk.trail[:-1] if desk.trail and desk.trail[-1][0] == item.question_id else desk.trail
    trail = (*before, (item.question_id, Dealt(item.queue, item.control, item.arm, item.drawn)))
    asked = seat.queue in queueing.REVIEWS  # these ask about a row; the others go through the list
    first = next((i for i, r in enumerate(item.rows) if r.free and (r.why if asked else r.label is None)), 0)
    return replace(desk, item=item, row=first, trail=trail, place=len(trail) - 1)
