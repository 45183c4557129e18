"""What somebody who labels sees: one pair, or a question with its list, with scores and why the queue offers it.
`Presentation` is what of this is stored with the label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.labels.queues import AGAIN, ALONG, QUEUES, Assignment, Evidence, explain
from app.labels.rules import Rules
from app.labels.visibility import Reader
from db.models import ModelVersion
from db.repositories import candidates as candidate_rows
from db.repositories import labels as rows
from db.repositories import questions as question_rows
from db.repositories import reviews
from db.repositories import sentences as sentence_rows
from db.repositories.pairs import read_pair


@dataclass(frozen=True, slots=True)
class Presentation:
    """What the annotator saw when labelling: stored with the event, so that anchoring can be measured. `queue`:
    `queues.ALONG` for a row of a list of which another row was drawn at random. `control`: drawn at random from an
    adaptive queue. `arm`: "blind" or "shown" where chance decided on the scores. `model_says`: as in
    `RankedSentence`. `guideline`: the version of the guidelines in force. `chance`: with which a decision between two
    rankers drew the question."""

    version: str = ""
    rank: int | None = None
    scores_visible: bool = True
    queue: str = ""
    control: bool = False
    arm: str = ""
    model_says: bool | None = None
    guideline: int = 0
    chance: float | None = None

    def to_columns(self) -> dict[str, object]:
        """As the columns of a label event."""
        columns = asdict(self)
        return {"shown_version": columns.pop("version"), "shown_rank": columns.pop("rank"), **columns}


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedSentence:
    """A candidate with its scores and this annotator's `label`. `rank` and `probability` are the cascade's last exit's,
    `generative_rank` the other ranker's; None if not scored. `model_says`: whether the probability reaches the
    threshold, which is not all that makes an answer on Ask. `why` the queue offers it, `why_unscored` for those who
    hide the scores."""

    sentence_id: int
    text: str
    title: str
    heading: str
    rank: int | None
    probability: float | None
    generative_rank: int | None
    model_says: bool | None
    label: str | None
    why: str = ""
    why_unscored: str = ""

    def present(self, assignment: Assignment, version: str, *, scores: bool, guideline: int) -> Presentation:
        """As it is on the screen of somebody who has `scores` switched on or off."""
        is_along = assignment.first_id not in (None, self.sentence_id)  # no part of the random sample
        return Presentation(
            version=version,
            rank=self.rank,
            scores_visible=scores and not assignment.is_blind,
            queue=ALONG if is_along else assignment.queue,
            control=assignment.control and not is_along,
            arm=assignment.arm if scores and self.rank is not None else "",
            model_says=self.model_says,
            guideline=guideline,
            chance=assignment.chance,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueItem(RankedSentence):
    """One pair to label. `token` names this showing: hand it back unchanged to refuse stale keys. `candidates`: how
    many were ranked with it. `is_non_training`: no retrain learns from it. `peers`: the others' (name, label),
    empty until one's own label is in. `is_locked`: shown again without a label of one's own while somebody else, or
    another desk of one's own, has it."""

    question_id: int
    question: str
    before: str
    after: str
    assignment: Assignment
    candidates: int
    is_non_training: bool
    version: str
    token: str
    peers: tuple[tuple[str, str], ...]
    is_locked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRow(RankedSentence):
    """A candidate in its question's list. `free`: it is offered to this annotator (a viewer: would be as an annotator),
    or labelled by them; the others are leased, or have enough labels. `imports`: (name, label) of what labels from
    outside it has, unless a review hides them; `is_correctable`: those alone keep it from being free, and a label that
    is meant for it is taken. `peers`: the other people's (name, label) when the list was opened, which nobody sees
    before their own is in. `why` is empty but for the row that the queue offers. `is_leased`: to another desk."""

    free: bool
    imports: tuple[tuple[str, str], ...] = ()
    peers: tuple[tuple[str, str], ...] = ()
    is_correctable: bool = False
    is_leased: bool = False

    @property
    def is_open(self) -> bool:
        """Whether this annotator may label it now."""
        return self.free or self.is_correctable


@dataclass(frozen=True, slots=True)
class QuestionItem:
    """A question with its whole list. Rows of a blind one come in random order. The row that was drawn at random is the
    first, since lists are labelled from the top and seldom to the end. `is_non_training`: no retrain learns from it.
    `run_size`: how many candidates the ranks are among, those that were deleted since included; 0 where none is ranked.
    `labelled_by`: who labelled the rows that are closed because they have enough labels."""

    question_id: int
    question: str
    rows: tuple[ListRow, ...]
    why: str
    assignment: Assignment
    is_non_training: bool
    version: str
    token: str
    run_size: int = 0
    labelled_by: tuple[str, ...] = ()


def build_item(
    s: Session, row: Row, annotator_id: int, assignment: Assignment, token: str, rules: Rules, *, again: bool = False
) -> QueueItem:
    """`again`: shown once more, as it was assigned before."""
    pair = read_pair(row)
    place = row.document_id, row.position
    before, after = ("", "") if row.retired else sentence_rows.find_neighbours(s, *place)
    labels = rows.list_labels_of_pair(s, *pair)
    own = next((r.label for r in labels if r.annotator_id == annotator_id), None)
    # what brought it here once, its rank or its cut, may not be so any more
    queue = QUEUES.get(assignment.queue)
    is_current = not again or (queue is not None and (queue.is_review or queue.is_sample))
    count = count_run(s, row)
    is_hidden = Reader(annotator_id, rules.overlap).is_hidden(labels)
    assigned = assignment if is_current else replace(assignment, queue=AGAIN)
    reasons = _explain(s, row, assigned, own, count, is_hidden=is_hidden)
    return QueueItem(
        **asdict(_read_candidate(row, own, reasons)),
        question_id=row.question_id,
        question=row.question,
        before=before,
        after=after,
        assignment=assignment,
        candidates=count,
        is_non_training=row.split in question_rows.NON_TRAINING_SPLITS,
        version=find_version_name(s, row.version_id),
        token=token,
        peers=tuple((r.annotator, r.label) for r in labels if r.annotator_id != annotator_id) if own else (),
    )


def build_row(
    s: Session,
    row: Row,
    assignment: Assignment,
    annotator_id: int,
    votes: Sequence[Row],
    rules: Rules,
    *,
    is_offered: bool,
    is_free: bool,
) -> ListRow:
    """`votes`: the labels of the pair. `is_offered`: by the queue, which says why. `is_free`: nobody else has it."""
    label = next((v.label for v in votes if v.annotator_id == annotator_id), None)
    imports = tuple((v.annotator, v.label) for v in votes if v.imported)
    is_hidden = Reader(annotator_id, rules.overlap).is_hidden(votes)
    reasons = "", ""
    if is_offered:
        reasons = _explain(s, row, assignment, label, count_run(s, row), is_hidden=is_hidden)
    return ListRow(
        **asdict(_read_candidate(row, label, reasons)),
        free=is_free or label is not None,
        imports=() if row.asked and is_hidden else imports,
        peers=tuple((v.annotator, v.label) for v in votes if not v.imported and v.annotator_id != annotator_id),
        is_correctable=bool(imports) and not row.leased and len(votes) - len(imports) < rules.overlap,
        is_leased=row.leased,
    )


def _read_candidate(row: Row, label: str | None, reasons: tuple[str, str]) -> RankedSentence:
    return RankedSentence(
        sentence_id=row.sentence_id,
        text=row.text,
        title=row.title,
        heading=row.heading,
        rank=row.rank,
        probability=row.probability,
        generative_rank=row.generative_rank,
        model_says=None if row.probability is None else row.probability >= row.threshold,
        label=label,
        why=reasons[0],
        why_unscored=reasons[1],
    )


def _explain(
    s: Session, row: Row, assignment: Assignment, own: str | None, count: int, *, is_hidden: bool
) -> tuple[str, str]:
    """Why the queue offers the pair, ranked among `count`, with scores and without. `is_hidden`: what others chose."""
    is_review = assignment.queue in QUEUES and QUEUES[assignment.queue].is_review
    evidence = Evidence(
        row,
        count,
        flags=tuple((r.name, r.note) for r in reviews.list_flags(s, read_pair(row))) if is_review else (),
        own=own,
        suspicion=reviews.find_suspicion(s, read_pair(row)) if is_review else None,
        reveals_labels=not is_hidden,
    )
    return explain(evidence, assignment), explain(evidence, assignment, with_scores=False)


def count_run(s: Session, row: Row) -> int:
    """Among how many candidates it was ranked."""
    return 0 if row.version_id is None else candidate_rows.count_ranked_with(s, row.id)


def find_version_name(s: Session, version_id: int | None) -> str:
    version = None if version_id is None else s.get(ModelVersion, version_id)
    return version.name if version else ""
