"""The desk of the other mode: a question with its whole list."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Self

from app.labels import annotation, leasing
from app.labels.items import ListRow, Presentation, QuestionItem
from app.labels.queues import QUEUES, Assignment
from app.labels.seats import Seat
from app.ui.label.desk import BaseDesk, Display, Pair
from app.workbench.workbench import Workbench
from as2core.types import INCORRECT

QUESTION_TIME = timedelta(seconds=10)  # label.css hides the question then
WINDOW_ROWS, ROWS_BEFORE = 8, 2  # on the page at once, and of these before the one in front


@dataclass(frozen=True, slots=True)
class ListDesk(BaseDesk[int, QuestionItem]):
    """`row` is the place in front. Questions are skipped, not rows. `pages`: what was on the page so far.
    `question_turn`: the turn in which the page asks, `question_until` at most, whether rows that were not shown are
    incorrect, too. `read_ids`: those of `skips` that have labels of the annotator: their lists were read as far as need
    be. `pinned_first`: the first row on the page in the turn `pinned_turn`, which follows a click on a row: the others
    stay where the pointer finds them."""

    row: int = 0
    pages: frozenset[Pair] = frozenset()
    question_turn: int = -1
    question_until: datetime | None = None
    read_ids: frozenset[int] = frozenset()
    pinned_first: int = 0
    pinned_turn: int = -1

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
        """What "the rest are incorrect" would label: free for this annotator, without a label of
        theirs or from outside."""
        return tuple(r for r in self.rows if r.free and r.label is None)

    @property
    def hidden(self) -> tuple[ListRow, ...]:
        """Those of `rest` that were never on the page."""
        return tuple(r for r in self.rest if self.item and (self.item.question_id, r.sentence_id) not in self.pages)

    def asks_about_hidden(self, now: datetime) -> bool:
        is_over = self.question_until is None or now > self.question_until
        return self.question_turn == self.turn and not is_over and bool(self.hidden)

    @property
    def window(self) -> range:
        """The rows on the page: those around the one in front."""
        is_pinned = self.pinned_turn == self.turn and 0 <= self.row - self.pinned_first < WINDOW_ROWS
        first = self.pinned_first if is_pinned else self.row - ROWS_BEFORE
        first = min(max(0, first), max(0, len(self.rows) - WINDOW_ROWS))
        return range(first, min(len(self.rows), first + WINDOW_ROWS))

    @classmethod
    def resume(cls, wb: Workbench, seat: Seat, question_id: int, question_skips: tuple[int, ...] = ()) -> Self:
        """A fresh desk with this question, or with the queue's first where it may not be given."""
        desk, item = cls(seat, question_skips=question_skips), leasing.reopen_question(wb, seat, question_id)
        return desk.draw_next(wb) if item is None else desk._place(item)

    def draw_next(self, wb: Workbench) -> Self:
        """With the queue's next question. A review starts at the row it asks about."""
        item = leasing.find_next_question(wb, self.seat, (*self.question_skips, *self.skips))
        return replace(self, item=None, row=0, trail=self.trail.go_to_end()) if item is None else self._place(item)

    def _place(self, item: QuestionItem) -> Self:
        """With the question at the end of the trail, its first row to label in front."""
        is_review = QUEUES[self.seat.queue].is_review
        first = next((i for i, r in enumerate(item.rows) if r.free and (r.why if is_review else r.label is None)), 0)
        return replace(self, item=item, row=first, trail=self.trail.add(item.question_id, item.assignment))

    def open_again(self, wb: Workbench) -> Self:
        return self if self.item is None else self._show(wb, self.item.question_id, self.item.assignment)

    def open_pair(self, wb: Workbench, pair: Pair) -> Self:
        """The pair's question, its row in front."""
        desk = self._show(wb, pair[0], leasing.read_assignment(wb, *pair, self.seat.annotator_id))
        return desk.pick(desk._find_row(pair[1]) or 0)

    def give(self, wb: Workbench, label: str, display: Display) -> Self:
        """Label the row in front and step to the next one open to this annotator; at the end of the list it stays."""
        if self.item is None:
            return self
        row = self.rows[self.row]
        if not row.is_open:
            raise annotation.OverlapReached(
                "Someone else is labelling this candidate, or it has enough labels. Nothing was recorded."
            )
        annotation.give_label(
            wb,
            question_id=self.item.question_id,
            sentence_id=row.sentence_id,
            annotator_id=self.seat.annotator_id,
            label=label,
            presentation=_present(self.item, row, display),
        )
        return self._set_labels({row.sentence_id: label}).skip(wb)

    def skip(self, wb: Workbench) -> Self:
        """The next row open to this annotator in front; the same one if no more is."""
        return self.pick(next((i for i, r in enumerate(self.rows) if i > self.row and r.free), self.row))

    def note_page(self) -> Self:
        """When the window has been drawn."""
        if self.item is None:
            return self
        page = {(self.item.question_id, self.rows[place].sentence_id) for place in self.window}
        return replace(self, pages=self.pages | page)

    def ask_about_hidden(self, now: datetime) -> Self:
        """Until the next action, whatever it is, or for QUESTION_TIME."""
        return replace(self, question_turn=self.turn + 1, question_until=now + QUESTION_TIME)

    def reject_rest(self, wb: Workbench, display: Display) -> tuple[Self, int]:
        """Label every row that has no label of this annotator incorrect, in one act; how many they were."""
        if self.item is None or not self.rest:
            return self, 0
        views = annotation.give_labels(
            wb,
            question_id=self.item.question_id,
            annotator_id=self.seat.annotator_id,
            label=INCORRECT,
            presentations={r.sentence_id: _present(self.item, r, display) for r in self.rest},
        )
        return self._set_labels({x.sentence_id: INCORRECT for x in views}), len(views)

    def undo(self, wb: Workbench) -> tuple[Self, int]:
        """In front: the row that one was at if it was undone too, else the best-ranked."""
        desk, pairs = BaseDesk.undo(self, wb)  # `super()` does not work in a dataclass with slots
        if pairs > 1 and self.pair and desk.pair and self.pair[0] == desk.pair[0]:
            here = desk._find_row(self.pair[1])
            if here is not None and desk.rows[here].label != self.rows[self.row].label:
                desk = desk.pick(here)
        return desk, pairs

    def pick(self, row: int) -> Self:
        """Put a row in front; stay where there is none."""
        return replace(self, row=row) if 0 <= row < len(self.rows) else self

    def pick_by_click(self, row: int) -> Self:
        """As `pick`; the rows on the page stay there until the one in front is below them."""
        return replace(self.pick(row), pinned_first=self.window.start, pinned_turn=self.turn + 1)

    def find(self, words: str) -> tuple[Self, int]:
        """The next row below the one in front, or else from the top, with all these words or parts of words in front;
        and how many rows have them. Without words, none has."""
        terms = words.casefold().split()
        matches = [i for i, r in enumerate(self.rows) if terms and all(w in r.text.casefold() for w in terms)]
        below = [i for i in matches if i > self.row]
        return self.pick((below or matches or [self.row])[0]), len(matches)

    def _leave(self) -> Self:
        if self.item is None:
            return self
        question_id, has_label = self.item.question_id, any(r.label is not None for r in self.rows)
        read_ids = self.read_ids | {question_id} if has_label else self.read_ids - {question_id}
        return replace(self, skips=(*self.skips, question_id), read_ids=read_ids)

    def count_skips(self) -> int:
        return len(set(self.skips) - self.read_ids) + len(self.question_skips)

    def _show(self, wb: Workbench, key: int, assignment: Assignment | None) -> Self:
        at, before = self.trail.find(key)
        item = leasing.open_question(wb, self.seat, key, before or assignment, self._find_offered(key))
        trail = replace(self.trail, at=at) if before else self.trail.add(key, item.assignment)
        return replace(self, item=item, row=0, trail=trail)

    def _find_offered(self, question_id: int) -> int | None:
        """The sentence that the queue chose the question in front for. A review says by itself what it asks about."""
        if self.item is None or self.item.question_id != question_id or QUEUES[self.seat.queue].is_review:
            return None
        return next((r.sentence_id for r in self.rows if r.why), None)

    def _set_labels(self, labels: dict[int, str]) -> Self:
        rows = tuple(replace(r, label=labels.get(r.sentence_id, r.label)) for r in self.rows)
        return replace(self, item=replace(self.item, rows=rows)) if self.item else self

    def _find_row(self, sentence_id: int) -> int | None:
        return next((i for i, r in enumerate(self.rows) if r.sentence_id == sentence_id), None)


def _present(item: QuestionItem, row: ListRow, display: Display) -> Presentation:
    return row.present(item.assignment, item.version, scores=display.scores, guideline=display.guideline)
