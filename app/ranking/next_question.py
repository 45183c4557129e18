"""The question that Label lists next where none is ranked yet: ranked when its turn comes, as Ask ranks a typed one."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TypeAlias

from sqlalchemy.orm import Session

from app.labels.queues import UNLABELLED, can_narrow
from app.labels.rules import find_rules
from app.labels.seats import Seat
from app.ranking import scoring
from app.ranking.question_line import LINE
from app.versions import loading, registry
from app.versions.registry import VersionView
from app.workbench.workbench import Workbench
from db.models import Corpus, Question
from db.repositories import questions as rows
from db.repositories.queues import select_with_labels, sort_questions

OnWait: TypeAlias = Callable[[int], None]  # hears how many are before
Find: TypeAlias = Callable[[Session, tuple[int, ...]], list[Question]]  # those that are not among these, which are busy

_busy: set[int] = set()  # questions that this process ranks now
_choice = threading.Lock()


def rank_next_question(wb: Workbench, seat: Seat, on_wait: OnWait = lambda ahead: None) -> bool:
    """Rank a question that still needs a label of this annotator and that the active version has not ranked over the
    corpus as it is; one that nobody else has ranked at the moment. False where there is none. `on_wait` as in
    `Line.take`. Raises EmptyCorpus, DamagedModel."""
    version = registry.get_active(wb)
    with LINE.take(on_wait), _choose(wb, lambda s, busy: _list_unranked(s, seat, version, busy, 1)) as question:
        if question is not None:
            _rank(wb, seat, question)
        return question is not None


def is_list_outdated(wb: Workbench, corpus_id: int, question_id: int) -> bool:
    """Whether the question was ranked before the documents, or their vectors, were what they are now, and no person has
    labelled some of its list."""
    with wb.read() as s:
        return bool(rows.list_outdated_questions(s, corpus_id, (question_id,)))


def find_search_change(wb: Workbench, corpus_id: int) -> datetime | None:
    """When what a search of the corpus finds last changed; None where it never did."""
    with wb.read() as s:
        return s.get_one(Corpus, corpus_id).search_changed


def renew_list(wb: Workbench, seat: Seat, question_id: int, on_wait: OnWait = lambda ahead: None) -> None:
    """Rank a question again if its list is outdated when its turn comes. Raises EmptyCorpus, DamagedModel."""

    def find(s: Session, busy: tuple[int, ...]) -> list[Question]:
        ids = rows.list_outdated_questions(s, seat.corpus_id, (question_id,))
        return [s.get_one(Question, i) for i in ids if i not in busy]

    with LINE.take(on_wait), _choose(wb, find) as question:
        if question is not None:
            _rank(wb, seat, question)


def count_unranked(wb: Workbench, seat: Seat) -> int:
    """How many questions the active version has still to rank over the corpus as it is: of the seat's questions, or of
    the queues. In the queue of questions without a label, those that need one of this annotator."""
    version = registry.get_active(wb)
    busy = tuple(_busy)
    with wb.read() as s:
        return len(_list_unranked(s, seat, version, busy))


def has_unranked(wb: Workbench, seat: Seat) -> bool:
    """Whether `count_unranked` has one."""
    version = registry.get_active(wb)
    busy = tuple(_busy)
    with wb.read() as s:
        return bool(_list_unranked(s, seat, version, busy, 1))


def _rank(wb: Workbench, seat: Seat, question: Question) -> None:
    model = loading.load_version(wb)
    result = scoring.rank_question(wb, seat.corpus_id, question.text, model)
    scoring.store_ranking(wb, question.id, model, result, by="label", annotator_id=seat.annotator_id)


@contextmanager
def _choose(wb: Workbench, find: Find) -> Iterator[Question | None]:
    """The first that is found, which nobody else ranks meanwhile: of twenty who begin at once each has another. Which
    are busy is read before the database is: a ranking that is stored in between would else be in neither."""
    with _choice:
        busy = tuple(_busy)
        with wb.read() as s:
            question = next(iter(find(s, busy)), None)
        if question is not None:
            _busy.add(question.id)
    try:
        yield question
    finally:
        if question is not None:
            _busy.discard(question.id)


def _list_unranked(
    s: Session, seat: Seat, version: VersionView, busy: tuple[int, ...], limit: int | None = None
) -> list[Question]:
    with_labels = None
    if seat.queue == UNLABELLED:
        with_labels = select_with_labels(seat.corpus_id, seat.annotator_id, find_rules(s, seat.corpus_id).overlap)
    only = seat.questions if can_narrow(seat.queue) else ()
    return rows.list_unranked_questions(
        s, seat.corpus_id, version.id, limit, only=only, but=with_labels, busy=busy, order=sort_questions()
    )
