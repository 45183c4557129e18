"""A cheap first ranker before the transformer (Matsubara et al., 2020, section 4.2): Jaccard, Rel-CNN and
Compare-Aggregate pass their best k on to a cross-encoder; how accurate is that, and how long does it take?

Questions of WikiQA dev are filled up with negatives of other questions, as in ASNQ++. The first rankers learn from one
half of WikiQA train (at the Structure paper's rate, and Compare-Aggregate in its form), the negatives come from the
other and from dev, so none of them was in the training data. Each ranker scores every candidate once, which gives the
accuracy for all k and its own time; the selector is timed on the best k.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from as2core.data.asnq_plus import extend
from as2core.experiments.base import Options, Report, Row, Step, count_steps, table
from as2core.experiments.courses import Runner, Target
from as2core.metrics import order
from as2core.rankers.base import Ranker
from as2core.rankers.catalog import get
from as2core.rankers.word_ranker import WordRanker
from as2core.training.learners.structure import POINTWISE
from as2core.types import OnProgress, Progress, Question

FIRST = ("jaccard", "rel-cnn", "compare-aggregate")
KS = (10, 20, 50, 100, 200, 400, 800)
DEV_QUESTIONS = 60  # of the training half, for early stopping alone


@dataclass(frozen=True, slots=True)
class Sizes:
    """Candidates a question and how many questions, of each set; epochs of the first rankers; questions timed."""

    sets: tuple[tuple[int, int], ...]
    epochs: int
    timed: int


SMALL = Sizes(sets=((100, 40), (1300, 10)), epochs=3, timed=2)
FULL = Sizes(sets=((100, 122), (1300, 122)), epochs=10, timed=20)


@dataclass(frozen=True, slots=True)
class SetResult:
    """One set: the scores of each question by ranker, and how many seconds a question takes, by first ranker on all
    candidates, and by the number of candidates for the selector; None stands for all."""

    questions: list[Question]
    scores: dict[str, list[np.ndarray]]
    first_seconds: dict[str, float]
    selector_seconds: dict[int | None, float]

    @property
    def ks(self) -> list[int]:
        return [k for k in self.selector_seconds if k]

    @property
    def size(self) -> int:
        return len(self.questions[0].candidates)

    def accuracy(self, first: str, k: int | None = None) -> float:
        """P@1 of two rankers in a row, by their scores; the selector sees the best k in their original order."""
        correct = []
        for q, x, y in zip(self.questions, self.scores[first], self.scores["selector"], strict=True):
            rows = np.sort(order(x)[:k])
            correct.append(q.candidates[rows[order(y[rows])[0]]].label == 1)
        return float(np.mean(correct))

    def seconds(self, first: str, k: int | None = None) -> float:
        return self.selector_seconds[k] + (self.first_seconds[first] if k else 0.0)


def run(options: Options, on_progress: OnProgress | None = None, sizes: Sizes | None = None) -> Report:
    """Raises UnknownData when WikiQA is missing."""
    sizes = sizes or (FULL if options.full else SMALL)
    step = count_steps(on_progress, 2 + len(sizes.sets) * (len(FIRST) + 2))
    train, dev = options.questions("wikiqa-train"), options.questions("wikiqa-dev")
    target, runner = Target(train[::2][:-DEV_QUESTIONS], train[::2][-DEV_QUESTIONS:]), Runner(options, step)
    first = {name: _first_ranker(name, target, sizes.epochs, runner) for name in FIRST}
    selector = get("cross-encoder:engine=torch")
    results = []
    for candidates, count in sizes.sets:
        questions = list(extend([*train[1::2], *dev], dev[:count], candidates=candidates))
        results.append(_evaluate_set(questions, first, selector, sizes.timed, step))
    setting = f"first rankers on {len(target.train)} WikiQA train questions; the shipped cascade's last exit selects"
    return Report(tuple(_rows(results, setting)), tuple(_table(r, setting) for r in results))


def _first_ranker(name: str, target: Target, epochs: int, runner: Runner) -> Ranker:
    """Stopped early by AP on the target's dev questions, as the paper's; Jaccard has nothing to learn."""
    ranker = get(name)
    if not isinstance(ranker, WordRanker):
        return ranker
    return runner.train(f"training {name}", ranker, target, POINTWISE, epochs=epochs).ranker


def _evaluate_set(
    questions: list[Question], first: dict[str, Ranker], selector: Ranker, timed: int, step: Step
) -> SetResult:
    """The time of a first ranker on all candidates, and of the selector on the best k of the first of them."""
    size = len(questions[0].candidates)
    scores: dict[str, list[np.ndarray]] = {}
    seconds: dict[str, float] = {}
    for name, ranker in {**first, "selector": selector}.items():
        report, scores[name], started = step(f"{name} on {size:,} candidates"), [], time.perf_counter()
        for done, q in enumerate(questions):
            report(Progress(done, len(questions)))
            scores[name].append(ranker.score(q.text, q.candidates))
        seconds[name] = (time.perf_counter() - started) / len(questions)
    report, ks = step(f"timing the best of {size:,} candidates"), [k for k in KS if k < size]
    by_k: dict[int | None, float] = {}
    for done, k in enumerate(ks):
        report(Progress(done, len(ks)))
        started = time.perf_counter()
        for q, x in zip(questions[:timed], scores[FIRST[0]], strict=False):
            selector.score(q.text, [q.candidates[i] for i in np.sort(order(x)[:k])])
        by_k[k] = (time.perf_counter() - started) / len(questions[:timed])
    return SetResult(questions, scores, seconds, {**by_k, None: seconds["selector"]})


def _rows(results: Sequence[SetResult], setting: str) -> Iterator[Row]:
    last = results[-1]
    k = max(x for x in last.ks if x <= 100)
    few = min(k, max(results[0].ks))
    jaccard, rel_cnn, ca = ([r.accuracy(name, min(k, max(r.ks))) for r in results] for name in FIRST)
    whole = [r.accuracy(FIRST[0]) for r in results]  # whichever ranker comes first
    sizes = " and ".join(f"{r.size:,} candidates ({len(r.questions)} questions)" for r in results)
    differs = f"P@1 on WikiQA dev filled up to {sizes}; {setting}; one question less counts as none"
    by_k = {x: last.accuracy("compare-aggregate", x) for x in last.ks}
    complete = last.seconds(FIRST[0])
    after_jaccard, _, after_ca = (last.seconds(name, k) for name in FIRST)
    tolerance = [max(0.01, 1 / len(r.questions)) for r in results]  # one question less is no difference
    yield Row(
        "Compare-Aggregate's best 100 are as good to choose from as all",
        "ASNQ .569 of .571, ASNQ++ .528 of .536",
        f"best {few} and {k}: {_join(ca)} of {_join(whole)}",
        differs,
        all(w - a <= x + 1e-9 for a, w, x in zip(ca, whole, tolerance, strict=True)),
    )
    yield Row(
        "Jaccard's are not",
        "ASNQ .474 of .571, ASNQ++ .443 of .536",
        f"{_join(jaccard)} of {_join(whole)}",
        differs,
        any(w - a > x for a, w, x in zip(jaccard, whole, tolerance, strict=True)),
    )
    yield Row(
        "Rel-CNN is between the two",
        "a footnote says so, without numbers",
        f"{_join(jaccard)} Jaccard, {_join(rel_cnn)} Rel-CNN, {_join(ca)} CA",
        differs,
        all(j <= r <= c for j, r, c in zip(jaccard, rel_cnn, ca, strict=True)),
    )
    yield Row(
        "the transformer is spared most of its time",
        "ASNQ++ 4.230 s to .924 s with CA (4.6 times), .580 s with Jaccard (7.3 times)",
        f"{complete:.2f} s to {after_ca:.2f} s with CA ({complete / after_ca:.1f} times), "
        f"{after_jaccard:.2f} s with Jaccard ({complete / after_jaccard:.1f} times)",
        f"{last.size:,} candidates, the best {k} passed on; MiniLM on CPU against BERT-base on a V100",
        complete / after_ca >= 2,
    )
    yield Row(
        "accuracy grows with k and is there at 100 or fewer",
        "ASNQ, CA: at 100 candidates or fewer the upper bound is reached",
        f"{', '.join(f'{x}: {v:.3f}' for x, v in by_k.items())}, all: {whole[-1]:.3f}",
        f"Compare-Aggregate first, {last.size:,} candidates, {len(last.questions)} questions",
        whole[-1] - by_k[k] <= tolerance[-1] + 1e-9,
    )


def _join(values: Sequence[float]) -> str:
    return " and ".join(f"{v:.3f}" for v in values)


def _table(result: SetResult, setting: str) -> str:
    ks = [*result.ks, None]
    title = (
        f"P@1 and seconds a question by how many the first ranker passes on; {len(result.questions)} questions of "
        f"WikiQA dev with {result.size:,} candidates; {setting}:"
    )
    rows = [[name, *(f"{result.accuracy(name, k):.3f}, {result.seconds(name, k):.2f} s" for k in ks)] for name in FIRST]
    return table(title, ["first ranker", *(f"{k:,}" if k else f"all {result.size:,}" for k in ks)], rows)
