"""A cheap first ranker before the transformer (Matsubara et al., 2020, section 4.2): Jaccard, Rel-CNN and
Compare-Aggregate pass their best k on to a cross-encoder; how accurate is that, and how long does it take?

The first rankers learn from one half of the train part (at the Structure paper's rate, and Compare-Aggregate in its
form). The other half and the dev part are measured, filled up with negatives of their other questions, as in ASNQ++, so
none of them was in the training data. Each ranker scores every candidate once, which gives the accuracy for all k. The
times have a cell of their own: question by question, so that a busy minute slows all of them alike.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from as2core.data.asnq_plus import extend
from as2core.data.source import json_line
from as2core.experiments.base import Options, Report, count_steps, table
from as2core.experiments.bench import Bench, Work, read_target
from as2core.experiments.cells import Cell
from as2core.experiments.report.findings import NOT_RUN, Finding, Part, Row, ValuesByMeasure, exceeds, is_close, shorten
from as2core.experiments.uncertainty import estimate_mean
from as2core.metrics import measure_each, order
from as2core.rankers.base import Ranker
from as2core.rankers.catalog import get
from as2core.system.files import write_text
from as2core.training.learners import require_weights
from as2core.training.learners.structure import POINTWISE
from as2core.types import Json, OnProgress, Progress, Question
from as2core.version import digest_code

FIRST = {"jaccard": "Jaccard", "rel-cnn": "Rel-CNN", "compare-aggregate": "CA"}
TIMED = ("compare-aggregate", "jaccard")
ALL, TIMES, ON_GPU = "all candidates", "times", "on a GPU"
KS = (10, 20, 50, 100, 200, 400, 800)
PAPER_K = 100  # the paper's k
BEST = f"the best {PAPER_K}"
DEV_QUESTIONS = 60  # of the training half, for early stopping alone
ALIKE, BEHIND = 0.01, 0.05  # P@1
SELECTOR = "cross-encoder:engine=torch"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Candidates a question, questions, epochs of the first rankers, questions timed."""

    candidates: int
    questions: int
    epochs: int
    timed: int
    seeds: int


SMALL = Sizes(candidates=1300, questions=250, epochs=3, timed=20, seeds=3)
FULL = Sizes(candidates=1300, questions=2_672, epochs=10, timed=20, seeds=3)


def name_best(first: str, k: int) -> str:
    return f"{first}, best {k}"


_P1 = "P@1"
FINDINGS = (
    Finding(
        "Compare-Aggregate's best 100 are as good to choose from as all",
        "P@1 ASNQ .569 of .571, ASNQ++ .528 of .536",
        (exceeds(name_best("CA", PAPER_K), ALL, -ALIKE, _P1),),
        f"as good: at most {ALIKE} worse",
    ),
    Finding(
        "Jaccard's are not",
        "P@1 ASNQ .474 of .571, ASNQ++ .443 of .536",
        (exceeds(ALL, name_best("Jaccard", PAPER_K), BEHIND, _P1),),
        f"by more than {BEHIND}",
    ),
    Finding(
        "Rel-CNN is between the two",
        "a footnote says so, without numbers",
        (
            exceeds(name_best("Rel-CNN", PAPER_K), name_best("Jaccard", PAPER_K), measure=_P1),
            exceeds(name_best("CA", PAPER_K), name_best("Rel-CNN", PAPER_K), measure=_P1),
        ),
    ),
    Finding(
        "accuracy is there at 100 candidates",
        "ASNQ, CA: at 100 candidates or fewer the upper bound is reached",
        (is_close(name_best("CA", PAPER_K), name_best("CA", 400), 2 * ALIKE, _P1),),
        f"against 400, within {2 * ALIKE}",
    ),
    Finding(
        "Jaccard does not catch up with more candidates",
        "GPD: P@1 .270 with 100 to .411 with 300, CA .450 with 100",
        missing="GPD and the training set SBTS are Amazon's own and not public",
    ),
    Finding(
        "a larger selector is more accurate at every first ranker",
        "ASNQ P@1, BERT-base to large: .474 to .492 Jaccard, .569 to .596 CA, .571 to .599 all",
        missing="ASNQ and the weights are not at hand",
    ),
)


def run(options: Options, on_progress: OnProgress | None = None, sizes: Sizes | None = None) -> Report:
    """Raises UnknownData when the target's files are missing."""
    sizes = sizes or (FULL if options.full else SMALL)
    seeds = range(options.seeds or sizes.seeds)
    whole = read_target(options)
    train, dev = whole.train[::2][:-DEV_QUESTIONS], whole.train[::2][-DEV_QUESTIONS:]
    test_questions = [*whole.test, *whole.train[1::2]][: sizes.questions]
    filled = list(extend([*whole.train[1::2], *whole.test], test_questions, candidates=sizes.candidates))
    others = len(test_questions) - len(whole.test)
    title = f"{whole.title} and {others} train questions that nothing is trained on" if others > 0 else whole.title
    target = replace(whole, train=train, dev=dev, test=filled, title=title)
    size_key = {"candidates": sizes.candidates, "epochs": sizes.epochs, "timed": sizes.timed}
    bench = Bench("rerank", options, target, size_key, count_steps(on_progress, 3 + 2 * len(seeds)))
    selector = _Selector(bench, sizes)
    bench.cell(TIMES, None, lambda _: _measure_times(filled[: sizes.timed]))
    if selector.measure():
        for name in FIRST:
            for seed in seeds if name != "jaccard" else (None,):
                bench.cell(f"first ranker {name}", seed, partial(selector.combine, name, seed))
    setting = (
        f"{len(filled)} questions of {whole.title} filled up to {sizes.candidates:,} candidates; first rankers on "
        f"{len(train)} train questions; the shipped cascade's last exit selects, trained once"
    )
    rows = [*bench.judge(FINDINGS, setting), _time_row(bench, setting)]
    return bench.report(rows, [_table(bench, [*_list_ks(sizes.candidates)])])


@dataclass(slots=True)
class _Selector:
    """The transformer over all candidates, and the rankers before it by its scores."""

    bench: Bench
    sizes: Sizes
    scores: dict[str, np.ndarray] = field(default_factory=dict)

    def measure(self) -> bool:
        """Score everything once; False where there was no time for it."""
        cell = self.bench.cell(ALL, None, self._score_all)
        if cell is not None:
            self.scores = {qid: np.array(s) for qid, s in cell.lists.items()}
        return cell is not None

    def _score_all(self, work: Work) -> Cell:
        questions = self.bench.target.test
        scores = score_each(get(SELECTOR), questions, work.report, work.folder / "scores.jsonl")
        lists = {qid: values.tolist() for qid, values in scores.items()}
        return Cell({ALL: measure_each(questions, scores)}, {}, lists)

    def combine(self, name: str, seed: int | None, work: Work) -> Cell:
        """A first ranker, and the selector on its best k: P@1 and the others, for every k."""
        ranker = self._train(name, seed or 0, work)
        first = score_each(ranker, self.bench.target.test, work.report, work.folder / "scores.jsonl")
        values: dict[str, ValuesByMeasure] = {}
        for k in _list_ks(self.sizes.candidates):
            both = {q.qid: select(first[q.qid], self.scores[q.qid], k) for q in self.bench.target.test}
            values[name_best(FIRST[name], k)] = measure_each(self.bench.target.test, both)
        return Cell(values)

    def _train(self, name: str, seed: int, work: Work) -> Ranker:
        """Stopped early by AP on the target's dev questions, as the paper's; Jaccard has nothing to learn."""
        if name == "jaccard":
            return get(name)
        base = get(f"{name}:seed={seed}")
        target = self.bench.target
        settings = replace(POINTWISE, epochs=self.sizes.epochs, seed=seed)
        return work.train("model", require_weights(base), target.train, settings, target.dev).ranker


def score_each(
    ranker: Ranker, questions: Sequence[Question], on_progress: OnProgress | None = None, file: Path | None = None
) -> dict[str, np.ndarray]:
    """Every candidate's score by question. They are kept in `file` question by question: what an earlier attempt of the
    same code scored is not scored again."""
    records = _read_scores(file)
    for done, q in enumerate(questions):
        if on_progress:
            on_progress(Progress(done, len(questions)))
        if q.qid not in records:
            records[q.qid] = ranker.score(q.text, q.candidates).tolist()
            _keep(file, {"qid": q.qid, "code": digest_code(), "scores": [*records[q.qid]]})
    return {q.qid: np.array(records[q.qid]) for q in questions}


def _read_scores(path: Path | None) -> dict[str, list[float]]:
    """By question; a line that a stop cut short is taken out of the file."""
    if path is None or not path.is_file():
        return {}
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    write_text("".join(f"{line}\n" for line in lines), path)
    records = map(json.loads, lines)
    return {r["qid"]: r["scores"] for r in records if r["code"] == digest_code()}


def _keep(path: Path | None, record: dict[str, Json]) -> None:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as stream:
            stream.write(json_line(record))


def select(first: np.ndarray, second: np.ndarray, k: int) -> np.ndarray:
    """Scores of two rankers in a row, (n,) like theirs: the best k of the first in the order of the second, the
    others below them."""
    best = np.sort(order(first)[:k])  # in their original order, which breaks ties
    ranks = np.argsort(order(second[best]))
    scores = np.full(len(first), -float(len(first)))
    scores[best] = -ranks
    return scores


def _measure_times(questions: Sequence[Question]) -> Cell:
    """Seconds of the selector on all candidates and on Jaccard's best, and of the first rankers on all. They are not
    trained, since no time depends on that; nor does one on which candidates are the best."""
    import torch

    selector, first = get(SELECTOR), {name: get(name) for name in TIMED}
    rankers: dict[str, Ranker] = {ALL: selector, BEST: selector, **first}
    times: dict[str, list[float]] = {name: [] for name in rankers}
    for question in (questions[0], *questions):  # the first call of a model takes longer
        best = _keep_best(question, first["jaccard"])
        for name, ranker in rankers.items():
            candidates = best.candidates if name == BEST else question.candidates
            started = time.perf_counter()
            ranker.score(question.text, candidates)
            times[name].append(time.perf_counter() - started)
    times = {name: seconds[1:] for name, seconds in times.items()}
    return Cell({}, {ON_GPU: float(torch.cuda.is_available())}, times)


def _keep_best(question: Question, ranker: Ranker) -> Question:
    rows = np.sort(order(ranker.score(question.text, question.candidates))[:PAPER_K])
    return replace(question, candidates=tuple(question.candidates[i] for i in rows))


def _list_ks(candidates: int) -> list[int]:
    return [k for k in KS if k < candidates]


def _time_row(bench: Bench, setting: str) -> Row:
    finding = "the transformer is spared most of its time"
    paper = "ASNQ++ 4.230 s to .924 s with CA (4.6 times), .580 s with Jaccard (7.3 times)"
    lists = bench.lists.get(TIMES, {}).get(None)
    if lists is None:
        return Row(finding, paper, NOT_RUN, setting, NOT_RUN, "no time left to measure it")
    whole, best, ca, jaccard = (np.array(lists[name]) for name in (ALL, BEST, *TIMED))
    shares = {"CA": whole / (best + ca), "Jaccard": whole / (best + jaccard)}
    estimate = estimate_mean(shares["CA"])
    verdict, why = Part({}, low=2.0).verdict(estimate, is_drawn=False)
    ours = (
        f"{whole.mean():.2f} s to {(best + ca).mean():.2f} s with CA ({estimate.mean:.1f} times, {estimate.low:.1f} to "
        f"{estimate.high:.1f}), {(best + jaccard).mean():.2f} s with Jaccard ({shares['Jaccard'].mean():.1f} times)"
    )
    device = ON_GPU if bench.mean_number(TIMES, ON_GPU) else "on a processor"
    return Row(
        finding, paper, ours, f"spared most: 2 times or more; {len(whole)} questions {device}; {setting}", verdict, why
    )


def _table(bench: Bench, ks: Sequence[int]) -> str:
    def cell(system: str) -> str:
        seeds = bench.samples.seeds([system])
        return shorten(bench.samples.table(system, "P@1", seeds).mean()) if seeds else NOT_RUN

    rows = [[first, *(cell(name_best(first, k)) for k in ks), cell(ALL)] for first in FIRST.values()]
    heads = ["first ranker", *(f"{k:,}" for k in ks), "all"]
    return table("P@1 by how many the first ranker passes on, the mean over seeds:", heads, rows)
