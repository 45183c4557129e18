"""The desk of the other mode: a question with its whole list. As in `desk`, a step gives a new desk."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.labels import annotation, queues
from app.labels.consensus import INCORRECT
from app.labels.queues import Assignment, ListRow, Presentation, QuestionItem
from app.labels.strategies import QUEUES
from app.ui.label.desk import BaseDesk, Display, Pair, Seat
from app.workbench.workbench import Workbench

WINDOW_ROWS = 8  # on the page at once


@dataclass(frozen=True, slots=True)
class ListDesk(BaseDesk[int, QuestionItem]):
    """`row` is the place in front. Questions are skipped, not rows."""

    row: int = 0

    @property
    def showing(self) -> str:
        return f"{self.item.token if self.item else 'none'}/{self.row}/{self.turn}"

    @property
    def rows(self) -> tuple[ListRow, ...]:
        return self.item.rows if self.item else ()

    @property
    def pair(self) -> Pair | None:
        return (self.item.question_id, self.item.rows[self.row].sentence_id) if self.item else None

    @property
    def rest(self) -> tuple[ListRow, ...]:
        """What "the rest are incorrect" would label: open to this annotator, and not labelled by them."""
        return tuple(r for r in self.rows if r.free and r.label is None)

    @property
    def window(self) -> range:
        """The rows on the page: those around the one in front."""
        first = min(max(0, self.row - WINDOW_ROWS // 2), max(0, len(self.rows) - WINDOW_ROWS))
        return range(first, min(len(self.rows), first + WINDOW_ROWS))


def start(wb: Workbench, seat: Seat) -> ListDesk:
    """A fresh desk with the queue's first question."""
    return draw_next(wb, ListDesk(seat))


def give(wb: Workbench, desk: ListDesk, label: str, display: Display) -> ListDesk:
    """Label the row in front and step to the next one open to this annotator; at the end of the list it stays.

    Raises OverlapReached for a row that another annotator has or that has enough labels, and as `annotation.give_label`
    does.
    """
    if desk.item is None:
        return desk
    row = desk.rows[desk.row]
    if not row.free:
        raise annotation.OverlapReached(
            "Someone else is labelling this row, or it has enough labels. Nothing was recorded."
        )
    annotation.give_label(
        wb,
        question_id=desk.item.question_id,
        sentence_id=row.sentence_id,
        annotator_id=desk.seat.annotator_id,
        label=label,
        presentation=_present(desk.item, row, display),
    )
    return skip(wb, _set_labels(desk, {row.sentence_id: label}))


def skip(wb: Workbench, desk: ListDesk) -> ListDesk:
    """The next row open to this annotator in front; the same one if no more is."""
    return pick(desk, next((i for i, r in enumerate(desk.rows) if i > desk.row and r.free), desk.row))


def reject_rest(wb: Workbench, desk: ListDesk, display: Display) -> tuple[ListDesk, int]:
    """Label every row that has no label of this annotator incorrect, in one act; how many they were."""
    if desk.item is None or not desk.rest:
        return desk, 0
    views = annotation.give_labels(
        wb,
        question_id=desk.item.question_id,
        annotator_id=desk.seat.annotator_id,
        label=INCORRECT,
        presentations={r.sentence_id: _present(desk.item, r, display) for r in desk.rest},
    )
    return _set_labels(desk, {x.sentence_id: INCORRECT for x in views}), len(views)


def undo(wb: Workbench, desk: ListDesk) -> tuple[ListDesk, int]:
    """Undo the last act and show its question, in front the row that one was at if it was undone too, else the
    best-ranked; how many pairs it was about, 0 for none."""
    undone = annotation.undo_last(wb, desk.seat.annotator_id, desk.seat.corpus_id)
    if undone is None:
        return desk, 0
    shown = open_pair(wb, desk, (undone.question_id, undone.sentence_id))
    if undone.pairs > 1 and desk.pair and desk.pair[0] == undone.question_id:
        here = _place(shown, desk.pair[1])
        if here is not None and shown.rows[here].label != desk.rows[desk.row].label:
            shown = pick(shown, here)
    return shown, undone.pairs


def open_pair(wb: Workbench, desk: ListDesk, pair: Pair) -> ListDesk:
    """The pair's question, its row in front."""
    desk = _show(wb, desk, pair[0], queues.read_assignment(wb, *pair, desk.seat.annotator_id))
    return pick(desk, _place(desk, pair[1]) or 0)


def up(desk: ListDesk) -> ListDesk:
    return pick(desk, desk.row - 1)


def down(desk: ListDesk) -> ListDesk:
    return pick(desk, desk.row + 1)


def pick(desk: ListDesk, row: int) -> ListDesk:
    """Put a row in front."""
    return replace(desk, row=row) if 0 <= row < len(desk.rows) else desk


def back(wb: Workbench, desk: ListDesk) -> ListDesk:
    """The question before this one."""
    return _move(wb, desk, -1) if desk.can_go_back else desk


def forward(wb: Workbench, desk: ListDesk) -> ListDesk:
    """The next question; what is left of this one stays for later."""
    if desk.item is None:
        return draw_next(wb, replace(desk, passed=()))
    desk = replace(desk, passed=(*desk.passed, desk.item.question_id))
    return _move(wb, desk, 1) if desk.trail.is_in_past else draw_next(wb, desk)


def draw_next(wb: Workbench, desk: ListDesk) -> ListDesk:
    """With what the queue has next; what was skipped stays so. A review starts at the row it asks about."""
    seat, trail = desk.seat, desk.trail
    item = queues.next_question(
        wb, seat.corpus_id, seat.annotator_id, seat.queue, holder=seat.holder, passed=desk.passed, pool=seat.pool
    )
    if item is None:
        return replace(desk, item=None, row=0, trail=replace(trail, at=len(trail.stops)))
    is_review = QUEUES[seat.queue].is_review
    first = next((i for i, r in enumerate(item.rows) if r.free and (r.why if is_review else r.label is None)), 0)
    return replace(desk, item=item, row=first, trail=trail.add(item.question_id, item.assignment))


def _present(item: QuestionItem, row: ListRow, display: Display) -> Presentation:
    return item.assignment.present(row, item.version, scores=display.scores, guideline=display.guideline)


def _set_labels(desk: ListDesk, labels: dict[int, str]) -> ListDesk:
    rows = tuple(replace(r, label=labels.get(r.sentence_id, r.label)) for r in desk.rows)
    return replace(desk, item=replace(desk.item, rows=rows)) if desk.item else desk


def _place(desk: ListDesk, sentence_id: int) -> int | None:
    return next((i for i, r in enumerate(desk.rows) if r.sentence_id == sentence_id), None)


def _move(wb: Workbench, desk: ListDesk, steps: int) -> ListDesk:
    trail = desk.trail.move(steps)
    return _show(wb, replace(desk, trail=trail), *trail.stops[trail.at])


def _show(wb: Workbench, desk: ListDesk, question_id: int, assignment: Assignment) -> ListDesk:
    """A question again, assigned as before, at its place in the trail."""
    seat = desk.seat
    at, before = desk.trail.find(question_id)
    item = queues.question_at(
        wb, question_id, seat.annotator_id, seat.queue, holder=seat.holder, assignment=before or assignment
    )
    trail = replace(desk.trail, at=at) if before else desk.trail.add(question_id, assignment)
    return replace(desk, item=item, row=0, trail=trail)
