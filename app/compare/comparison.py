"""The result of a comparison of rankers on a labelled set: measures with intervals, paired tests, costs, and ranks
question by question."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from app.compare.pairs import PairedResult, PairsByMetric
from app.compare.question_sets import explain_short_lists, find_own_corpus
from app.compare.rankers import find_twins
from app.corpora.corpora import CORPUS_PREFIX
from app.jobs import queue
from app.jobs.kinds import JobKind
from app.jobs.queue import JobView
from app.labels import visibility
from app.workbench.workbench import Workbench
from as2core.data import jsonl
from as2core.data.catalog import has_order
from as2core.errors import As2Error
from as2core.evaluation.rankers import Cut, Evaluation, compute_intervals
from as2core.evaluation.training_record import count_trained_on
from as2core.metrics import bound_metrics, measure_unranked, order, to_ranks
from as2core.rankers.catalog import rename_spec
from as2core.types import Question
from db.models import Evaluation as EvaluationRow
from db.models import Job, JsonObject
from db.repositories import versions as rows

if TYPE_CHECKING:
    import pandas as pd

MAX_UNLABELLED_FIRST = 0.1  # of the questions, for a comparison without a warning
MAX_NAMES = 3  # of a warning
QUESTIONS = "data.jsonl"  # of the job's folder: those that it compares on


@dataclass(frozen=True, slots=True)
class ComparisonSettings:
    """What a comparison was asked to do. `limit`: at most so many questions, drawn with a fixed seed; None for all.
    `with_unlabelled`: of a corpus, the sentences that were ranked for its questions and have no label are ranked, too,
    and count as incorrect."""

    rankers: tuple[str, ...]
    data: str
    setting: str = "clean"
    limit: int | None = None
    with_unlabelled: bool = False

    @classmethod
    def of(cls, job: JobView) -> ComparisonSettings:
        return cls(**{**job.settings, "rankers": tuple(job.settings["rankers"])})

    @property
    def measured_setting(self) -> str:
        """The setting of the evaluations, which keeps all that `question_sets.select_questions` kept."""
        return "no-all-neg" if self.with_unlabelled and self.setting == "clean" else self.setting


def rename_version(job: Job, old: str, new: str) -> None:
    """In a comparison that may still run; the figures of one that is done are by the names it had."""
    rankers = [rename_spec(spec, old, new) for spec in job.settings["rankers"]]
    if job.state != "done" and rankers != job.settings["rankers"]:
        job.settings = {**job.settings, "rankers": rankers}


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric's mean over the questions with its 95 % bootstrap interval. `least` and `most`: what it could be with
    the missing labels, None where every candidate is labelled."""

    value: float
    low: float
    high: float
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class RankerResult:
    """One ranker on the set. `relative_cost`: FLOPs as a share of the whole model's, None where that has no meaning.
    `seconds`: a question, measured in turns with the other rankers; None where they were not."""

    ranker: str
    figures: Mapping[str, Figure]
    relative_cost: float | None
    cuts: tuple[Cut, ...] = ()
    seconds: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonView:
    """Rankers over one labelled set. `unranked`: the means without reranking; of a corpus's labels in
    `unranked_order` (of `retrieval_order`), of other sets in that of the data, which is "". Empty in a comparison of a
    corpus's labels by an older program. `per_question`: columns qid, question, ranker, then the metrics. `ranks`: qid
    -> frame with columns candidate, label, and a rank per ranker. `by_id`: the questions by their ids. `twins`: the
    ranker of a sweep that is one compared by its name -> that name. `paired`: metric -> its tests. `trained_on`: ranker
    -> how many of the questions it was trained on, where it was. `full_names`: a ranker's short name -> its own, where
    it has one (`short_names`). `with_unlabelled`: as in the settings. `warning`: that the labels are too few for the
    figures to mean much, "" where they are not. `finished`: when it was made; `data_digest`: of its questions;
    `ranker_digests`: by ranker, of what scores. None of them of the comparison that comes with the program."""

    data: str
    setting: str
    questions: int
    results: tuple[RankerResult, ...]
    paired: Mapping[str, Sequence[PairedResult]]
    per_question: pd.DataFrame
    ranks: Mapping[str, pd.DataFrame]
    notes: tuple[str, ...] = ()
    unranked: Mapping[str, float] = field(default_factory=dict)
    unranked_order: str = ""
    by_id: Mapping[str, Question] = field(default_factory=dict)
    twins: Mapping[str, str] = field(default_factory=dict)
    trained_on: Mapping[str, int] = field(default_factory=dict)
    full_names: Mapping[str, str] = field(default_factory=dict)
    with_unlabelled: bool = False
    warning: str = ""
    finished: datetime | None = None
    data_digest: str = ""
    ranker_digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def distinct_results(self) -> tuple[RankerResult, ...]:
        """Each ranker once."""
        return tuple(r for r in self.results if r.ranker not in self.twins)

    @property
    def question_texts(self) -> dict[str, str]:
        """By the questions' ids."""
        return self.per_question.drop_duplicates("qid").set_index("qid")["question"].to_dict()

    def list_distinct_pairs(self, metric: str) -> tuple[PairedResult, ...]:
        """The tests of a metric between these."""
        return tuple(p for p in self.paired.get(metric, ()) if not {p.a, p.b} & self.twins.keys())


def to_row(name: str, e: Evaluation, questions: Sequence[Question], seconds: float | None) -> dict[str, object]:
    """A ranker's figures as they are stored: flat, `AP`, `AP low`, `AP high`, `AP least`, `AP most` and so on."""
    row: dict[str, object] = {"ranker": name, "questions": e.questions}
    for metric, (low, high) in compute_intervals(e.per_question).items():
        row |= {metric: e.metrics[metric], f"{metric} low": low, f"{metric} high": high}
    if any(c.label is None for q in questions for c in q.candidates):
        for metric, (least, most) in bound_metrics(questions, e.scores).items():
            row |= {f"{metric} least": least, f"{metric} most": most}
    cuts = [asdict(cut) for cut in e.cuts]
    return {**row, "seconds_per_question": seconds, "relative_cost": e.relative_cost, "cuts": cuts}


def _from_row(row: JsonObject) -> RankerResult:
    """What `to_row` stored. Older rows have the seconds of some earlier moment, which are not comparable."""
    figures = {
        m: Figure(row[m], row[f"{m} low"], row[f"{m} high"], row.get(f"{m} least"), row.get(f"{m} most"))
        for m in (key.removesuffix(" low") for key in row if key.endswith(" low"))
    }
    cuts = tuple(Cut(**{**cut, "lost": tuple(cut["lost"])}) for cut in row.get("cuts", ()))
    return RankerResult(row["ranker"], figures, row["relative_cost"], cuts, row.get("seconds_per_question"))


def load_comparison(wb: Workbench, job_id: int, *, by: int | None = None) -> ComparisonView:
    """The result of a comparison, without the labels that `by` may not see yet; before it is done, all but the times.
    Raises UnknownJob, As2Error when it has none yet or what it was made of is gone."""
    job = queue.load_job(wb, job_id)
    if job.kind != JobKind.COMPARE or not job.result:
        raise As2Error(f"job {job_id} is not a finished comparison: it is a {job.kind} and {job.state}")
    file = wb.settings.jobs_dir / str(job_id) / QUESTIONS
    if not file.is_file():
        raise As2Error(f"the questions of comparison {job_id} are gone ({file}): compare again")
    settings = ComparisonSettings.of(job)
    evaluations = _load_evaluations(wb, job, settings)
    scores = {name: row.result["scores"] for name, row in evaluations.items()}
    per_question = {name: row.result["per_question"] for name, row in evaluations.items()}
    hidden = _find_hidden_labels(wb, settings.data, by)
    twins = find_twins(wb, [row["ranker"] for row in job.result["rows"]])
    view = make_view(settings, job.result, jsonl.read(file)[0], per_question, scores, hidden=hidden, twins=twins)
    return replace(
        view,
        finished=job.finished,
        data_digest=job.result["data_hash"],
        ranker_digests={name: key.rpartition("@")[2] for name, key in job.result["keys"].items()},
    )


def make_view(
    settings: ComparisonSettings,
    result: JsonObject,
    questions: Sequence[Question],
    per_question: Mapping[str, Mapping[str, Mapping[str, float]]],
    scores: Mapping[str, Mapping[str, list[float]]],
    *,
    hidden: Collection[tuple[str, str]] = (),
    twins: Mapping[str, str],
) -> ComparisonView:
    """Of a job's result. `per_question`: ranker -> metric -> question id -> value; `scores`: ranker -> question id ->
    one a candidate; `hidden`: pairs whose labels stay out of the ranks; `twins`: as `find_twins`, by today's settings,
    so only those count whose figures were the same."""
    import pandas as pd

    by_id = {q.qid: q for q in questions}
    is_corpus, retrieval = settings.data.startswith(CORPUS_PREFIX), result.get("unranked", {})
    in_order = measure_unranked(questions) if has_order(settings.data) else {}
    results = {row["ranker"]: _from_row(row) for row in result["rows"]}
    values = [
        {"qid": qid, "question": by_id[qid].text if qid in by_id else "", "ranker": name}
        | {m: by_qid[qid] for m, by_qid in metrics.items()}
        for name, metrics in per_question.items()
        for qid in next(iter(metrics.values()), {})
    ]
    return ComparisonView(
        data=settings.data,
        setting=settings.setting,
        questions=result["questions"],
        results=tuple(results.values()),
        paired=PairsByMetric(result["paired"], per_question),
        per_question=pd.DataFrame(values),
        ranks=_Ranks(by_id, scores, hidden),
        notes=tuple(result["notes"]),
        unranked=retrieval.get("metrics", {}) if is_corpus else in_order,
        unranked_order=retrieval.get("order", ""),
        by_id=by_id,
        twins={twin: name for twin, name in twins.items() if results[twin].figures == results[name].figures},
        trained_on=count_trained_on(result["notes"], results),
        with_unlabelled=settings.with_unlabelled,
        warning=_warn_of_labels(settings, by_id, {n: s for n, s in scores.items() if n not in twins})
        if is_corpus
        else "",
    )


def _warn_of_labels(
    settings: ComparisonSettings, by_id: Mapping[str, Question], scores: Mapping[str, Mapping[str, list[float]]]
) -> str:
    """That the lists are too short, or that a ranker has often a sentence first that nobody labelled; else ""."""
    sizes = [(len(q.candidates), q.positives) for q in by_id.values()]
    with_unlabelled = settings.with_unlabelled
    is_complete = with_unlabelled and all(c.label is not None for q in by_id.values() for c in q.candidates)
    if warning := explain_short_lists(sizes, with_unlabelled=with_unlabelled, is_complete=is_complete):
        return warning
    counts = {name: _count_unlabelled_first(by_id, of_one) for name, of_one in scores.items()}
    worst = sorted((n for n in counts if counts[n] > MAX_UNLABELLED_FIRST * len(by_id)), key=lambda n: -counts[n])
    if not worst:
        return ""
    parts = ", ".join(f"{name} on {counts[name]:,}" for name in worst[:MAX_NAMES])
    return (
        f"A sentence without a label is ranked first by {parts} of the {len(by_id):,} questions. It counts as "
        "incorrect, and may be correct: the comparison favours the ranker whose first sentences were labelled. Label "
        "with the queue Tops, which takes the first sentences of several rankers."
    )


def _count_unlabelled_first(by_id: Mapping[str, Question], scores: Mapping[str, list[float]]) -> int:
    """For how many questions a ranker's first candidate has no label."""
    first = [by_id[qid].candidates[int(order(np.array(s))[0])] for qid, s in scores.items() if qid in by_id and s]
    return sum(candidate.label is None for candidate in first)


def _find_hidden_labels(wb: Workbench, data: str, by: int | None) -> set[tuple[str, str]]:
    corpus = find_own_corpus(wb, data)
    return set() if corpus is None else visibility.find_hidden_labels(wb, corpus.id, by)


def _load_evaluations(wb: Workbench, job: JobView, settings: ComparisonSettings) -> dict[str, EvaluationRow]:
    """By ranker. Raises As2Error where one is gone, which nothing here deletes."""
    data_hash, keys = job.result["data_hash"], job.result["keys"]
    with wb.read() as s:
        evaluations = {
            name: rows.find_evaluation(s, key, data_hash, settings.measured_setting) for name, key in keys.items()
        }
    rows_of = {name: row for name, row in evaluations.items() if row is not None}
    if missing := evaluations.keys() - rows_of.keys():
        names = ", ".join(sorted(missing))
        raise As2Error(f"the values of {names} in comparison {job.id} are gone: compare again")
    return rows_of


@dataclass(frozen=True, slots=True, eq=False)
class _Ranks(Mapping[str, "pd.DataFrame"]):
    """Question id -> its candidates' ranks by every ranker, made when asked for."""

    questions: Mapping[str, Question]
    scores: Mapping[str, Mapping[str, list[float]]]
    hidden: Collection[tuple[str, str]]

    def __getitem__(self, qid: str) -> pd.DataFrame:
        import pandas as pd

        question = self.questions[qid]
        labels = [None if (question.text, c.text) in self.hidden else c.label for c in question.candidates]
        ranks = {name: to_ranks(np.array(s[qid])) for name, s in self.scores.items() if qid in s}
        return pd.DataFrame({"candidate": [c.text for c in question.candidates], "label": labels, **ranks})

    def __contains__(self, qid: object) -> bool:
        return qid in self.questions  # a mapping's own would make the ranks to tell

    def __iter__(self) -> Iterator[str]:
        return iter(self.questions)

    def __len__(self) -> int:
        return len(self.questions)
