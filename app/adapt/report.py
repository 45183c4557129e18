"""What came of a retrain: the job's result, stored with the job and, in the card's own words, in card.json."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from app.adapt.label_selection import LabelSelection
from app.corpora.corpora import list_corpora
from app.labels import visibility
from app.versions.benchmarks import FROZEN
from app.versions.evaluations import ReliabilityBin, to_json
from app.versions.outcome import COMPARISON_KEYS, Change, find_change
from app.workbench.workbench import Workbench
from as2core.errors import DamagedModel
from as2core.evaluation.rankers import Evaluation, Outcome
from as2core.metrics import PairedTest, find_detectable_difference, order, paired_test
from as2core.types import Candidate, Json, Question

T = TypeVar("T")
U = TypeVar("U")
Metrics = dict[str, float]
OLDER_SELECTION = LabelSelection(presumed=0)  # of programs that stored none
SHIPPED = "shipped"  # the name of a baseline: the version that came with the program
MAX_TEXT_CHARS, MAX_LISTED_LABELS = 300, 50  # of what is stored to be read on the card


@dataclass(frozen=True, slots=True)
class BeforeAfter(Generic[T]):
    before: T
    after: T

    def map(self, convert: Callable[[T], U]) -> "BeforeAfter[U]":
        return BeforeAfter(convert(self.before), convert(self.after))


@dataclass(frozen=True, slots=True)
class TopSentence:
    """The sentence that was ranked first."""

    text: str
    correct: bool

    @classmethod
    def find(cls, question: Question, evaluation: Evaluation) -> "TopSentence":
        best = question.candidates[int(order(evaluation.scores[question.qid])[0])]
        return cls(best.text[:MAX_TEXT_CHARS], best.label == 1)


@dataclass(frozen=True, slots=True)
class QuestionChange:
    """A held-out question's AP. Cards of older programs have no top sentences."""

    qid: str
    question: str
    before: float
    after: float
    top_before: TopSentence | None = None
    top_after: TopSentence | None = None

    @classmethod
    def build(cls, q: Question, before: Evaluation, after: Evaluation) -> "QuestionChange":
        values = before.per_question["AP"][q.qid], after.per_question["AP"][q.qid]
        return cls(q.qid, q.text, *values, TopSentence.find(q, before), TopSentence.find(q, after))

    @property
    def change(self) -> float:
        return self.after - self.before

    @property
    def turn(self) -> int:
        """1 where an incorrect first sentence gave way to a correct one, -1 the other way round, else 0."""
        if self.top_before is None or self.top_after is None:
            return 0
        return self.top_after.correct - self.top_before.correct


@dataclass(frozen=True, slots=True)
class Baseline:
    """What before and after are compared with, on the same held-out questions. `name`: RETRIEVAL or WORDS of
    `app.ranking.retrieval_order`, or SHIPPED. `gain`: the version's AP against its; older programs stored none."""

    name: str
    metrics: Metrics
    gain: PairedTest | None = None

    @classmethod
    def build(cls, name: str, evaluation: Evaluation, after: Evaluation) -> "Baseline":
        return cls(name, evaluation.metrics, paired_test(after.per_question["AP"], evaluation.per_question["AP"]))


@dataclass(frozen=True, slots=True)
class ExcludedLabel:
    question: str
    text: str
    correct: bool


@dataclass(frozen=True, slots=True)
class ExcludedLabels:
    """Labels that were not trained on because they look wrong. `rate`: the estimated share of wrong labels. `correct`:
    how many of the `labels` left out are "correct". `to_read`: the least likely ones."""

    rate: float
    labels: int
    correct: int
    to_read: tuple[ExcludedLabel, ...] = ()

    @classmethod
    def build(cls, rate: float, labels: Sequence[tuple[Question, Candidate]]) -> "ExcludedLabels":
        rows = ((q.text, c.text[:MAX_TEXT_CHARS], c.label == 1) for q, c in labels[:MAX_LISTED_LABELS])
        correct = sum(c.label == 1 for _, c in labels)
        return cls(rate, len(labels), correct, tuple(ExcludedLabel(*label) for label in rows))


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """What was trained on. `skipped_questions`: how many of the `questions` have labels of one kind only, of which a
    cascade learns nothing. `presumed`: how many of the `incorrect` sentences carry no label. `origins`: training
    questions by where they came from; `givers`: their labels by annotator. `cross_fitted_questions`: training questions
    on which before and after are compared, too (app.adapt.cross_fitting). Results of older programs lack all these, and
    the numbers of labels."""

    questions: int = 0
    correct: int | None = None
    incorrect: int | None = None
    presumed: int | None = None
    dev_questions: int = 0
    held_out_questions: int = 0
    cross_fitted_questions: int = 0
    replayed_questions: int = 0
    skipped_questions: int = 0
    origins: dict[str, int] = field(default_factory=dict)
    givers: dict[str, int] = field(default_factory=dict)

    @property
    def useful_questions(self) -> int:
        """Those that the ranker learnt from."""
        return self.questions - self.skipped_questions


@dataclass(frozen=True, slots=True)
class RetrainReport:
    """`before`, `after`, `intervals`, `paired` and `per_question` are of the held-out questions, and of those that
    were cross-fitted; `per_exit` is of the held-out ones: layer -> AP there when nothing is dropped. `frozen` and
    `frozen_others` are the frozen benchmarks. `settings` are those of the training, `weights` those of a fusion.
    `snapshot` is the hash of the labels. `is_check_skipped`: somebody had the retrain finish without the check by
    copies, which few held-out questions call for."""

    version: str
    before: Metrics
    after: Metrics
    paired: PairedTest
    base: str = ""
    kind: str = ""
    intervals: BeforeAfter[dict[str, tuple[float, float]]] = field(default_factory=lambda: BeforeAfter({}, {}))
    per_question: tuple[QuestionChange, ...] = ()
    per_exit: BeforeAfter[Metrics] = field(default_factory=lambda: BeforeAfter({}, {}))
    reliability: BeforeAfter[tuple[ReliabilityBin, ...]] = field(default_factory=lambda: BeforeAfter((), ()))
    baselines: tuple[Baseline, ...] = ()
    frozen: BeforeAfter[Metrics] | None = None
    frozen_others: dict[str, BeforeAfter[Metrics]] = field(default_factory=dict)
    labels: LabelCounts = field(default_factory=LabelCounts)
    left_out: ExcludedLabels | None = None
    choice: LabelSelection = OLDER_SELECTION
    replay: float = 0.0
    weights: dict[str, float] | None = None
    settings: dict[str, object] = field(default_factory=dict)
    snapshot: str = ""
    seconds: float = 0.0
    training_seconds: float = 0.0
    is_check_skipped: bool = False

    @property
    def change(self) -> Change:
        benchmarks = {
            name: (sides.before["AP"], sides.after["AP"])
            for name, sides in self.benchmarks.items()
            if "AP" in sides.before and "AP" in sides.after
        }
        return find_change(self.before["AP"], self.after["AP"], self.paired, benchmarks)

    @property
    def outcome(self) -> Outcome:
        return self.change.outcome

    @property
    def has_few_changes(self) -> bool:
        """Whether some questions changed, but too few to judge by."""
        return self.paired.changes > 0 and self.paired.has_few_changes

    @property
    def detectable_difference(self) -> float | None:
        """The smallest change of AP that the compared questions would have shown four times in five. None where too few
        changed, and where the change is clear: what was seen needs no power."""
        if self.paired.has_few_changes or self.outcome is not Outcome.UNCLEAR:
            return None
        return find_detectable_difference(q.change for q in self.per_question)

    @property
    def benchmarks(self) -> dict[str, BeforeAfter[Metrics]]:
        return {**({FROZEN: self.frozen} if self.frozen else {}), **self.frozen_others}

    def to_json(self) -> dict[str, Json]:
        record = to_json(self)
        return {**record, **{key: record[key] or {} for key in ("frozen", "left_out")}}

    @classmethod
    def from_json(cls, record: Mapping[str, Json]) -> "RetrainReport":
        """From a job's result; what an older program did not store has its default. Raises DamagedModel."""
        try:
            return _ADAPTER.validate_python({k: v for k, v in record.items() if v not in (None, {}, [])})
        except ValidationError as e:
            raise DamagedModel(f"the report of {record.get('version', 'a retrain')} cannot be read: {e}") from e

    def to_card(self) -> dict[str, Json]:
        """The report's part of card.json."""
        record = {k: v for k, v in self.to_json().items() if k not in ("version", "kind", "labels", "snapshot")}
        data = {"sha256": self.snapshot, **to_json(self.labels)}
        kind = {"retrain_kind": self.kind}
        return {"parent": record.pop("base"), "data": data, "metrics": record.pop("after"), **kind, **record}

    def to_metrics(self) -> dict[str, Json]:
        """What is stored with the version, for `app.versions.outcome` and the list."""
        record = self.to_json()
        before = {f"before {k}": v for k, v in self.before.items()}
        return {**self.after, **before, **{key: record[key] for key in COMPARISON_KEYS}}

    @classmethod
    def from_card(cls, card: Mapping[str, Json]) -> "RetrainReport | None":
        """From card.json; None for a version that was not made by a retrain. Raises DamagedModel."""
        if not card.get("before") or not card.get("paired"):
            return None
        data = card.get("data")
        labels = data if isinstance(data, dict) else {}
        own = {"version": card.get("name", ""), "kind": card.get("retrain_kind", ""), "base": card.get("parent")}
        others = {"after": card.get("metrics"), "labels": labels, "snapshot": labels.get("sha256")}
        return cls.from_json({**card, **own, **others})


_ADAPTER = TypeAdapter(RetrainReport)


def find_hidden_labels(wb: Workbench, by: int) -> set[tuple[str, str]]:
    """(question, sentence as a card has it) whose label this person may not see yet."""
    pairs = (pair for corpus in list_corpora(wb) for pair in visibility.find_hidden_labels(wb, corpus.id, by))
    return {(question, text[:MAX_TEXT_CHARS]) for question, text in pairs}
