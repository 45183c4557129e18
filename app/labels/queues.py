"""The label queues, one entry each: what a queue offers, in which order, and how it explains an item.

To add a queue, add one entry to `QUEUES`. Its name is stored in label events and leases and never changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Float, Row, Select, SQLColumnExpression, case, cast, func, or_
from sqlalchemy.orm import Session

from as2core.messages import count
from db.models import Candidate, Question, Run, Suspicion
from db.repositories import queues, reviews
from db.repositories.pairs import Pair
from db.repositories.queues import EARLY, GENERATIVE, LAST, Order, QueueRequest

UNLABELLED = "unlabelled"  # the default
DISAGREE = "disagree"  # where one of two rankers is wrong
OWN = "own"  # one's own labels, to look at them again
RANDOM = "random"  # whose order is also that of what adaptive queues draw at random
TOPS = "tops"  # what readers see first: where labels are wanted that do not wait for a queue of their own
# Names in label events of what no queue offered: labelled on Ask; shown again; listed with a row drawn at random.
ASK, AGAIN, ALONG = "ask", "again", "along"
DECIDE = "decide"  # proposed to decide between two rankers (`app.compare.deciding`)
OUTSIDE_QUEUES = ("", ASK)  # a label from here may exceed the overlap, and puts its question in the queues

CONTROL = "Picked at random, as some of this queue are"
BLIND = "Shown without ranks, to measure how much they influence labels."
NEAR = 0.03  # in probability


@dataclass(frozen=True, slots=True)
class Assignment:
    """How an item came to an annotator; it keeps this when it is shown again. `control`: drawn at random from an
    adaptive queue. `arm`: "blind" or "shown" where chance decided on the scores. `first_id`: of a list that was drawn
    at random, the sentence that was drawn; the others are listed with it.
    `chance`: the probability with which a decision drew the question."""

    queue: str = ""
    control: bool = False
    arm: str = ""
    first_id: int | None = None
    chance: float | None = None

    @property
    def is_blind(self) -> bool:
        return self.arm == "blind"

    @property
    def is_random(self) -> bool:
        """Whether the queue draws such an item at random."""
        return is_sample(self.queue) or (self.control and self.queue in ADAPTIVE)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the reason for an item is written from. `row`: the candidate, as `list_open_pairs` gives it, ranked among
    `candidates`. `flags`: (name, note). `own`: the reader's label. `reveals_labels`: whether the reader may know what
    others chose."""

    row: Row
    candidates: int = 0
    flags: tuple[tuple[str, str], ...] = ()
    own: str | None = None
    suspicion: Suspicion | None = None
    reveals_labels: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """`hint`: what it holds, in the menu beside its name. `explain` gives the reason for an item, or "" where
    there is none beside the description. `is_adaptive`: it chooses what teaches the model most, so a share of it is
    drawn at random.
    `is_by_probability`: in the order of a sentence's probability by itself, which the page therefore shows.
    `is_sample`: all of it is drawn at random, so what is estimated from its labels holds for the corpus.
    `is_pooled`: the rankers whose first candidates it offers can be chosen.
    `is_for_evaluation`: its labels are to measure by, not to train on.
    `settle`: what a label given in a review settles there. `title`: its name on the page, by default `name`.
    `when_empty`: the text shown in place of an item."""

    name: str
    hint: str
    description: str
    order: Order
    explain: Callable[[Evidence], str]
    title: str = ""
    is_adaptive: bool = False
    is_by_probability: bool = False
    is_sample: bool = False
    is_pooled: bool = False
    is_for_evaluation: bool = False
    settle: Callable[[Session, Pair, datetime], None] | None = None
    when_empty: str = ""

    @property
    def display_name(self) -> str:
        return self.title or self.name.capitalize()

    @property
    def menu_entry(self) -> str:
        """Its name with what it holds, for somebody who chooses among all."""
        return f"{self.display_name}: {self.hint}"

    @property
    def is_review(self) -> bool:
        """It offers what is labelled already."""
        return self.order.is_review

    @property
    def keeps_pairs(self) -> bool:
        """A label given here does not take the pair out of the queue."""
        return self.is_review and self.settle is None


def is_sample(queue: str) -> bool:
    """Whether all that the queue of this name offers is drawn at random; False for what is no queue."""
    return queue in QUEUES and QUEUES[queue].is_sample


def can_narrow(queue: str) -> bool:
    """Whether a queue may be narrowed to some questions: not where estimates for all are made from its draws, and not a
    review."""
    return queue in QUEUES and not (QUEUES[queue].is_sample or QUEUES[queue].is_review)


# --- reasons ---------------------------------------------------------------------------------------------------------


def explain(evidence: Evidence, assignment: Assignment, *, with_scores: bool = True) -> str:
    """Why its queue offers an item: without scores if the item is blind or the reader hides them."""
    queue = QUEUES.get(assignment.queue)
    if assignment.is_blind:
        return f"A random pick. {BLIND}"
    if queue and queue.is_review and (reason := queue.explain(evidence)):
        return reason
    if evidence.row.rank is None:
        is_random = assignment.control or is_sample(assignment.queue)
        pick = CONTROL if assignment.control else "A random pick"
        return f"{pick}, not ranked yet." if is_random else "Not ranked yet."
    if not with_scores:
        return f"{CONTROL}." if assignment.control else queue.description if queue else "Shown again."
    if assignment.control:
        return f"{CONTROL}, and {_rank(evidence)}."
    if queue and not queue.is_review:
        return queue.explain(evidence)
    return f"{_rank(evidence).capitalize()}."


def explain_list(assignment: Assignment) -> str:
    """Why a question is offered with its list."""
    first = "" if assignment.first_id is None else " Only the first candidate was drawn; the others are listed with it."
    if assignment.is_blind:
        return f"A random question. {BLIND} The order is random too.{first}"
    if assignment.control:
        return f"A question picked at random, as some of this queue are.{first}"
    description = QUEUES[assignment.queue].description if assignment.queue in QUEUES else ""
    return f"{description}{first}".strip()


def _rank(evidence: Evidence) -> str:
    return f"ranked {evidence.row.rank} of {evidence.candidates}"


def _explain_uncertain(evidence: Evidence) -> str:
    row = evidence.row
    distance = abs(row.probability - row.threshold)
    near = "right at the threshold" if distance <= NEAR else f"{distance:.2f} from the threshold"
    return f"Its own probability, {row.probability:.2f}, is {near} of {row.threshold:.2f}."


def _explain_cut(evidence: Evidence) -> str:
    row = evidence.row
    is_in = row.cut_rank <= row.cut_kept
    steps = row.cut_kept - row.cut_rank + 1 if is_in else row.cut_rank - row.cut_kept
    places = count(steps, "place")
    side = f"{places} from being dropped" if is_in else f"dropped by {places}"
    return f"Layer {row.cut_layer} keeps the best {row.cut_kept} and ranks this one {row.cut_rank}: {side}."


def _explain_flags(evidence: Evidence) -> str:
    flags = (name + (f": {note}" if note else ", without a note") for name, note in evidence.flags)
    return "Flagged by " + "; by ".join(flags) if evidence.flags else ""


def _explain_doubt(evidence: Evidence) -> str:
    if evidence.suspicion is None:
        return ""
    doubt = f"{evidence.suspicion.doubt:.2f}"
    if evidence.reveals_labels:
        return f"It is labelled {evidence.suspicion.label}, which a model of the other labels doubts by {doubt}."
    return f"A model of the other labels doubts its label by {doubt}. You see that label after giving yours."


# --- orders ----------------------------------------------------------------------------------------------------------


def _furthest_apart(other: SQLColumnExpression[int]) -> Callable[[Select, QueueRequest], Select]:
    """Two ranks furthest apart as a ratio, so that 1 against 20 comes before 50 against 100."""
    a, b = cast(LAST.rank, Float), cast(other, Float)
    ratio = case((a > b, a / b), else_=b / a)
    return lambda query, _: query.where(other.is_not(None), other != LAST.rank).order_by(ratio.desc(), Candidate.id)


def _nearest_to_cut(query: Select, _: QueueRequest) -> Select:
    return query.where(Candidate.cut_margin.is_not(None)).order_by(Candidate.cut_margin, Candidate.id)


def _best_ranks_first(query: Select, request: QueueRequest) -> Select:
    best = queues.pooled_rank(request.pool)
    query = query.where(best <= queues.POOL_DEPTH) if request.pool else query
    return query.order_by(best, queues.shuffle(Candidate.id))


def _without_label(query: Select, request: QueueRequest) -> Select:
    with_labels = queues.select_with_labels(request.corpus_id, request.who.annotator_id, request.overlap)
    is_wanted: ColumnElement[bool] = Question.id.not_in(with_labels)
    keys = queues.sort_questions()
    if request.begun_id is not None:
        is_wanted, keys = or_(is_wanted, Question.id == request.begun_id), (Question.id != request.begun_id, *keys)
    return query.where(is_wanted).order_by(*keys, LAST.rank, Candidate.id)


def _review(asks_about: ColumnElement[bool], key: ColumnElement) -> Order:
    """What somebody is asked to look at again, by this key."""
    return Order(lambda query, _: query.order_by(key, Candidate.id), scores=(), is_review=True, asks_about=asks_about)


def _newest_own(query: Select, request: QueueRequest) -> Select:
    own = queues.own_label(request.who.annotator_id)
    return query.where(own.exists()).order_by(own.scalar_subquery().desc())


QUEUES = {
    queue.name: queue
    for queue in (
        Queue(
            name=UNLABELLED,
            hint="questions that still need a label",
            description="Questions that still need a label, the best candidate first.",
            order=Order(_without_label),
            explain=lambda _: "",
            when_empty="Nothing is left: every question is labelled, or somebody else is labelling it.",
        ),
        Queue(
            name="uncertain",
            hint="where the ranker is least sure",
            description="Candidates whose own probability is closest to the threshold for an answer.",
            order=Order(lambda query, _: query.order_by(func.abs(LAST.probability - Run.threshold), Candidate.id)),
            explain=_explain_uncertain,
            is_adaptive=True,
            is_by_probability=True,
        ),
        Queue(
            name=DISAGREE,
            hint="where two rankers disagree most",
            description="The cascade and the generative ranker disagree most about the rank. One of them is wrong.",
            order=Order(_furthest_apart(GENERATIVE.rank), scores=(LAST, GENERATIVE)),
            explain=lambda e: (
                f"Of {e.candidates}, the cascade ranks it {e.row.rank}, the generative ranker {e.row.generative_rank}."
            ),
            is_adaptive=True,
        ),
        Queue(
            name="early",
            hint="where the ranker's first and final score disagree",
            description="The scores after the first layers and after all of them disagree most about the rank.",
            order=Order(_furthest_apart(EARLY.rank), scores=(LAST, EARLY)),
            explain=lambda e: (
                f"Of {e.candidates}, it is ranked {e.row.early_rank} after layer {e.row.early_exit} "
                f"and {e.row.rank} after layer {e.row.last_exit}."
            ),
            is_adaptive=True,
        ),
        Queue(
            name="dropped",
            hint="close to being dropped or kept",
            description="Closest to being dropped, where a small error loses a correct candidate or keeps a wrong one.",
            order=Order(_nearest_to_cut),
            explain=_explain_cut,
            is_adaptive=True,
        ),
        Queue(
            name=TOPS,
            hint="the highest ranked that still need a label",
            description="The highest-ranked candidates that still need a label, as readers see them. For evaluations.",
            order=Order(_best_ranks_first),
            explain=lambda e: f"{_rank(e).capitalize()}, the highest that still needs a label.",
            is_pooled=True,
            is_for_evaluation=True,
        ),
        Queue(
            name="flagged",
            hint="marked with a note, to look at again",
            description="Flagged by an annotator, with a note. A label here clears the flag.",
            order=_review(queues.oldest_flag().is_not(None), queues.oldest_flag()),
            explain=_explain_flags,
            settle=reviews.clear_flags,
            when_empty="Nothing is flagged. Press f on an item to flag it with a note.",
        ),
        Queue(
            name="second",
            hint="labels that may be wrong",
            title="Second look",
            description="Labels that a model of all the other labels doubts. Confirm or correct them.",
            order=_review(queues.doubt().is_not(None), queues.doubt().desc()),
            explain=_explain_doubt,
            settle=reviews.mark_reviewed,
            when_empty="No label is in doubt. To check labels again, use Second looks on the page Agreement.",
        ),
        Queue(
            name=OWN,
            hint="your labels, newest first",
            description="Your own labels, newest first, for review.",
            order=Order(_newest_own, scores=(), is_review=True),
            explain=lambda e: f"You labelled it {e.own}." if e.own else "",
            when_empty="No label of yours is left to review here. When you have seen all, → begins again.",
        ),
        Queue(
            name=RANDOM,
            hint="a sample of all, for estimates",
            description="A random sample of the candidates that you can label.",
            order=Order(lambda query, _: query.order_by(queues.shuffle(Candidate.id), Candidate.id), scores=()),
            explain=lambda e: f"A random pick, {_rank(e)}.",
            is_sample=True,
            is_for_evaluation=True,
        ),
    )
}
ADAPTIVE = tuple(name for name, queue in QUEUES.items() if queue.is_adaptive)
REVIEWS = tuple(name for name, queue in QUEUES.items() if queue.is_review)
