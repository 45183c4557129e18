"""What pages and commands get from the services: frozen values, no session and no row behind them.

Identifiers are the database's integers, times are aware datetimes in UTC, labels are `LABELS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from as2core.cascade.trace import CascadeTrace

if TYPE_CHECKING:
    import pandas as pd

    from app.services.label_views import ImportLine

CORRECT, INCORRECT, UNSURE = "correct", "incorrect", "unsure"
LABELS = (CORRECT, INCORRECT, UNSURE)
ROLES = ("admin", "annotator", "viewer")

JOB_ACTIVE = ("queued", "running")


@dataclass(frozen=True, slots=True)
class CorpusView:
    """A corpus and what is in it. `labels` counts pairs of question and sentence that carry a current label."""

    id: int
    name: str
    documents: int
    sentences: int
    questions: int
    labels: int
    vectors_done: int
    vectors_total: int
    created: datetime

    @property
    def vectors_ready(self) -> int:
        """Per cent of the passages that can be found by meaning; 100 only when all can."""
        return 100 * self.vectors_done // self.vectors_total if self.vectors_total else 100


@dataclass(frozen=True, slots=True)
class IngestView:
    """What became of the files: documents by outcome, `failed` as (name, reason), and the totals touched.

    `job_id` is the background job that computes the vectors, None when all are there.
    """

    added: int
    updated: int
    unchanged: int
    failed: tuple[tuple[str, str], ...]
    documents: int
    sentences: int
    seconds: float
    job_id: int | None


@dataclass(frozen=True, slots=True)
class DocumentView:
    id: int
    external_id: str
    title: str
    source: str
    sentences: int


@dataclass(frozen=True, slots=True)
class SentenceView:
    id: int
    text: str
    position: int
    paragraph: int


@dataclass(frozen=True, slots=True)
class CandidateView:
    """A sentence up for ranking, in its surroundings. `retrieval_rank` is its document's and passage's place among
    the hits turned into one order over the sentences, from 1; `label` is what everyone's labels come to. `id` is None
    for one that the first look dropped: it is not kept."""

    id: int | None
    sentence_id: int
    text: str
    title: str
    document_id: int
    position: int
    before: str
    after: str
    retrieval_rank: int
    label: str | None


@dataclass(frozen=True, slots=True, eq=False)
class AskView:
    """An answered question. Candidates are in document order; arrays and the trace's positions follow it.

    `trace` dropped nothing, so `trace.replay(schedule)` is instant. `probability` is the last exit's, `(n,)`;
    `answered` says whether any reaches `threshold`, a number without meaning unless `calibrated`.
    `seconds`: "retrieve", "rank", "store", "total". `notes` are sentences for the reader (a fallback, a cut).
    `typed`: how the question was typed where a word of it was mended, else "".
    """

    question_id: int
    run_id: int
    corpus_id: int
    question: str
    version: str
    candidates: tuple[CandidateView, ...]
    trace: CascadeTrace
    probability: np.ndarray
    threshold: float
    calibrated: bool
    seconds: Mapping[str, float]
    notes: tuple[str, ...] = ()
    typed: str = ""

    @property
    def answered(self) -> bool:
        return bool(len(self.probability)) and float(self.probability.max()) >= self.threshold

    @property
    def best(self) -> int | None:
        """The position of the top candidate by the complete trace, None without candidates."""
        return int(self.trace.ranking()[0]) if self.candidates else None


@dataclass(frozen=True, slots=True)
class MeasuredView:
    """Seconds of the same candidates through the encoder: dropping none, and dropping."""

    whole: float
    dropped: float


@dataclass(frozen=True, slots=True)
class AnnotatorView:
    """`role` is one of ROLES; `local`: the name was typed here, no identity provider vouches for it."""

    id: int
    name: str
    role: str = "annotator"
    local: bool = True


@dataclass(frozen=True, slots=True)
class Shown:
    """What the annotator saw when labelling: kept with the event, so anchoring can be measured.

    `queue`: "along" for a row of a list that chance brought by another row. `control`: drawn at random from an adaptive
    queue. `arm`: "blind" or "shown" where chance decided on the scores. `model_says`: whether the model took it for an
    answer. `guideline`: the version of the guidelines in force.
    """

    version: str = ""
    rank: int | None = None
    scores_visible: bool = True
    queue: str = ""
    control: bool = False
    arm: str = ""
    model_says: bool | None = None
    guideline: int = 0


@dataclass(frozen=True, slots=True)
class LabelView:
    """The state of one pair for one annotator after an event: `label` None when it carries none any more.

    `changed` is False when the call repeated what was already so and no event was written. `together`: how many pairs
    the same act was about.
    """

    event_id: int
    question_id: int
    sentence_id: int
    annotator_id: int
    label: str | None
    created: datetime
    changed: bool = True
    together: int = 1


@dataclass(frozen=True, slots=True)
class BroughtView:
    """What came of a list of questions: how many are new, how many lines repeated another, and which were there."""

    added: int
    repeated: int
    known: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueueItem:
    """One pair to label, and why it is asked. `token` names this showing: hand it back unchanged to refuse stale keys.

    `rank` and `probability` are the cascade's last exit's, `generative_rank` the other ranker's; None if not scored.
    `model_says`: whether the probability reaches the threshold. `control`, `arm`: as in `Shown`. `peers`: the others'
    (name, label), empty until one's own label is in. `flags`: (name, note) that nobody cleared. `why_unscored`: why,
    for those who hide the scores. `held`: shown again while somebody else, or another desk of one's own, has it, and
    without a label of one's own: not to be labelled now.
    """

    question_id: int
    sentence_id: int
    question: str
    text: str
    before: str
    after: str
    title: str
    document_id: int
    why: str
    queue: str
    rank: int | None
    probability: float | None
    generative_rank: int | None
    candidates: int
    version: str
    label: str | None
    token: str
    leased_until: datetime | None
    model_says: bool | None = None
    control: bool = False
    arm: str = ""
    peers: tuple[tuple[str, str], ...] = ()
    flags: tuple[tuple[str, str], ...] = ()
    why_unscored: str = ""
    held: bool = False


@dataclass(frozen=True, slots=True)
class ProgressView:
    """How far labelling is. `today` and `mine` are this annotator's pairs, `all` everyone's; `remaining` are those this
    annotator could still label in the queue asked for; `per_label` counts `all` by what the labels come to: LABELS, and
    "disputed" where people disagree evenly. `pace`: labels a minute in the sitting that goes on, None without one.
    `target`: the pairs wanted, None if none were set."""

    today: int
    mine: int
    all: int
    questions_labelled: int
    remaining: int
    per_label: Mapping[str, int]
    pace: float | None = None
    target: int | None = None


@dataclass(frozen=True, slots=True)
class Promotion:
    """Why a version was promoted, in words, and when."""

    words: str
    at: datetime


@dataclass(frozen=True, slots=True)
class VersionView:
    """A model version. `problem` is empty, or says why its directory can't be used. `promotions` are those that
    somebody gave words for, oldest first."""

    id: int
    name: str
    kind: str
    parent: str | None
    created: datetime
    note: str
    state: str
    metrics: Mapping[str, float]
    path: str
    problem: str = ""
    promotions: tuple[Promotion, ...] = ()


@dataclass(frozen=True, slots=True)
class JobView:
    """A background job as its row tells it. `progress` is 0 to 1; `log` is the path of the full error, if any."""

    id: int
    kind: str
    state: str
    progress: float
    message: str
    events: tuple[Mapping[str, Any], ...]
    result: Mapping[str, Any]
    error: str
    log: str
    settings: Mapping[str, Any]
    corpus_id: int | None
    attempt: int
    cancelling: bool
    created: datetime
    started: datetime | None
    finished: datetime | None
    paused: bool = False

    @property
    def active(self) -> bool:
        return self.state in JOB_ACTIVE


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonView:
    """Rankers over one labelled set.

    `rows`: one dict a ranker: `ranker`, `questions`, each metric and its `<metric> low`, `<metric> high`, `seconds`,
    `relative_cost` (None where it has no meaning), `cuts` (dicts of `as2core.evaluation.Cut`), `measured` (its day, or
    None) and `timed_here`; where labels are missing, what each metric could come to with them, `<metric> least` and
    `<metric> most`. `paired`: one dict a pair: a, b, metric, difference, low, high, p, wins, losses, ties.
    `per_question`: columns qid, question, ranker, then the metrics. `ranks`: qid -> frame with columns candidate,
    label, and a rank per ranker.
    """

    data: str
    setting: str
    questions: int
    rows: tuple[Mapping[str, Any], ...]
    paired: tuple[Mapping[str, Any], ...]
    per_question: pd.DataFrame
    ranks: Mapping[str, pd.DataFrame]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportView:
    """What became of the lines. `conflicting` lines differ from a label the same annotator gave before, or from a
    verdict, and were not taken; `malformed` are (line number, reason). `corpus_id`: None where no line could be read
    and none was made for them. `verdicts`: how many were new. `lines`: what became of each line. `moved`: questions
    that were here in another split, as (the split before, or "" for none; the one now; how many)."""

    new: int
    same: int
    conflicting: int
    malformed: tuple[tuple[int, str], ...]
    questions: int
    corpus_id: int | None
    format: str
    conflicts: tuple[str, ...] = field(default=())
    lines: tuple[ImportLine, ...] = ()
    verdicts: int = 0
    moved: tuple[tuple[str, str, int], ...] = ()

    @property
    def moved_in_words(self) -> str:
        """As in "moved from train to test: 3"; empty where none was."""
        return ", ".join(f"moved from {before or 'no split'} to {now}: {n:,}" for before, now, n in self.moved)
