"""A cheap first ranker before the transformer (Matsubara et al., 2020, section 4.2): Jaccard, Rel-CNN and
Compare-Aggregate pass their best k on to a cross-encoder; how accurate is that, and how long does it take?

Questions of WikiQA dev are filled up with negatives of other questions, as ASNQ++ was made. The first rankers learn
from one half of WikiQA train (at the Structure paper's rate, and Compare-Aggregate in its form), the negatives come
from the other and from dev, so that none of them was learnt from. Each ranker scores every candidate once, which gives
the accuracy for all k and its own time; the selector is timed on the best k.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from as2core.data.asnq_plus import extend
from as2core.experiments.base import Options, Report, Row, learning, steps
from as2core.metrics import measures, order
from as2core.rankers.base import Ranker
from as2core.rankers.catalog import get
from as2core.rankers.sequential import SequentialRanker, Stage
from as2core.training.fine_tune import fine_tune
from as2core.training.learners.structure import POINTWISE
from as2core.types import Candidate, OnProgress, Progress, Question

FIRST = ("jaccard", "rel-cnn", "compare-aggregate")
KS = (10, 20, 50, 100, 200, 400, 800)
LONG = 1300
WATCHED = 60  # questions of the half learnt from that only tell when to stop


@dataclass(frozen=True, slots=True)
class Sizes:
    """Candidates a question and how many questions, of each set; epochs of the first rankers; questions timed."""

    sets: tuple[tuple[int, int], ...]
    epochs: int
    timed: int


SMALL = Sizes(sets=((100, 40), (LONG, 10)), epochs=3, timed=2)
FULL = Sizes(sets=((100, 122), (LONG, 122)), epochs=10, timed=20)


@dataclass(frozen=True, slots=True)
class Found:
    """One set: P@1 by first ranker and k (`None`: the selector on everyone), and seconds a question."""

    questions: list[Question]
    accuracy: dict[str, dict[int | None, float]]
    seconds: dict[str, dict[int | None, float]]

    @property
    def ks(self) -> list[int]:
        return [k for k in self.accuracy[FIRST[0]] if k]

    @property
    def size(self) -> int:
        return len(self.questions[0].candidates)

    @property
    def whole(self) -> float:
        """P@1 of the selector on everyone, whoever came first."""
        return self.accuracy[FIRST[0]][None]


def run(options: Options, on_progress: OnProgress | None = None, sizes: Sizes | None = None) -> Report:
    """Raises UnknownData when WikiQA is not at hand."""
    sizes = sizes or (FULL if options.full else SMALL)
    step = steps(on_progress, 2 + len(sizes.sets) * (len(FIRST) + 2))
    train, dev = options.questions("wikiqa-train"), options.questions("wikiqa-dev")
    learnt, watched = train[::2][:-WATCHED], train[::2][-WATCHED:]
    first = {name: _first(name, learnt, watched, sizes.epochs, options, step) for name in FIRST}
    selector = get("cross-encoder:engine=torch")
    found = []
    for candidates, count in sizes.sets:
        questions = list(extend([*train[1::2], *dev], dev[:count], candidates=candidates))
        found.append(_found(questions, first, selector, sizes.timed, step))
    setting = f"first rankers on {len(learnt)} WikiQA train questions; the shipped cascade's last exit selects"
    return Report(tuple(_rows(found, setting)), tuple(_table(f, setting) for f in found))


def _first(name: str, train, dev, epochs: int, options: Options, step) -> Ranker:
    """Stopped early by AP on `dev`, as the paper's; Jaccard has nothing to learn."""
    ranker = get(name)
    if name == "jaccard":
        return ranker
    settings, told = replace(POINTWISE, epochs=epochs), learning(step(f"training {name}"))
    return fine_tune(ranker, train, dev, settings, workdir=options.workdir / name, on_event=told).ranker


class _Known:
    """A ranker that scored a question's candidates before; a candidate's id finds its place."""

    def __init__(self, name: str, scores: np.ndarray) -> None:
        self.name, self._scores = name, scores

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        return self._scores[[int(c.id) for c in candidates]]


def _found(questions: list[Question], first: dict[str, Ranker], selector: Ranker, timed: int, step) -> Found:
    """P@1 of every first ranker and k, by recorded scores; the time of a first ranker on all and the selector on k."""
    size = len(questions[0].candidates)
    ks = [k for k in KS if k < size]
    scores, seconds = {}, {}
    for name, ranker in {**first, "selector": selector}.items():
        tell, scores[name], started = step(f"{name} on {size:,} candidates"), [], time.perf_counter()
        for done, q in enumerate(questions):
            tell(Progress(done, len(questions)))
            scores[name].append(ranker.score(q.text, q.candidates))
        seconds[name] = (time.perf_counter() - started) / len(questions)
    tell = step(f"timing the best of {size:,} candidates")
    selecting: dict[int | None, float] = {None: seconds["selector"]}
    for done, k in enumerate(ks):
        tell(Progress(done, len(ks)))
        selecting[k] = _selecting(selector, k, questions[:timed], scores[FIRST[0]])
    found = Found(questions, {}, {})
    for name in first:
        cut = {k: _accuracy(questions, scores[name], scores["selector"], k) for k in (*ks, None)}
        found.accuracy[name] = cut
        found.seconds[name] = {k: t + (0.0 if k is None else seconds[name]) for k, t in selecting.items()}
    return found


def _accuracy(questions: Sequence[Question], cheap: list[np.ndarray], dear: list[np.ndarray], k: int | None) -> float:
    """P@1 of the sequential reranker that recorded scores make."""
    given = {}
    for q, c, d in zip(questions, cheap, dear, strict=True):
        ranker = SequentialRanker([Stage(_Known("first", c), k), Stage(_Known("selector", d))])
        given[q.qid] = ranker.score(q.text, [Candidate(str(i), "") for i in range(len(q.candidates))])
    return measures(questions, given, ("P@1",))["P@1"]


def _selecting(selector: Ranker, k: int, questions: Sequence[Question], cheap: Sequence[np.ndarray]) -> float:
    """Mean seconds of the selector on the best k."""
    started = time.perf_counter()
    for q, c in zip(questions, cheap, strict=False):
        selector.score(q.text, [q.candidates[i] for i in np.sort(order(c)[:k])])
    return (time.perf_counter() - started) / len(questions)


def _rows(found: Sequence[Found], setting: str) -> list[Row]:
    many = found[-1]
    k = max(x for x in many.ks if x <= 100)
    at = {name: [f.accuracy[name][min(k, max(f.ks))] for f in found] for name in FIRST}
    whole = [f.whole for f in found]
    sizes = " and ".join(f"{f.size:,} candidates ({len(f.questions)} questions)" for f in found)
    differs = f"P@1 on WikiQA dev filled up to {sizes}; {setting}; one question less counts as none"
    few = min(k, max(found[0].ks))
    said = {name: " and ".join(f"{v:.3f}" for v in values) for name, values in at.items()}
    all_said = " and ".join(f"{v:.3f}" for v in whole)
    quick, by_k = many.seconds["compare-aggregate"], many.accuracy["compare-aggregate"]
    allowed = [max(0.01, 1 / len(f.questions)) for f in found]  # one question less is no difference
    return [
        Row(
            "Compare-Aggregate's best 100 are as good to choose from as all",
            "ASNQ .569 of .571, ASNQ++ .528 of .536",
            f"best {few} and {k}: {said['compare-aggregate']} of {all_said}",
            differs,
            all(w - a <= x + 1e-9 for a, w, x in zip(at["compare-aggregate"], whole, allowed, strict=True)),
        ),
        Row(
            "Jaccard's are not",
            "ASNQ .474 of .571, ASNQ++ .443 of .536",
            f"{said['jaccard']} of {all_said}",
            differs,
            any(w - a > x for a, w, x in zip(at["jaccard"], whole, allowed, strict=True)),
        ),
        Row(
            "Rel-CNN is between the two",
            "a footnote says so, without numbers",
            f"{said['jaccard']} Jaccard, {said['rel-cnn']} Rel-CNN, {said['compare-aggregate']} CA",
            differs,
            all(
                j <= r <= c
                for j, r, c in zip(at["jaccard"], at["rel-cnn"], at["compare-aggregate"], strict=True)
            ),
        ),
        Row(
            "the transformer is spared most of its time",
            "ASNQ++ 4.230 s to .924 s with CA (4.6 times), .580 s with Jaccard (7.3 times)",
            f"{quick[None]:.2f} s to {quick[k]:.2f} s with CA ({quick[None] / quick[k]:.1f} times), "
            f"{many.seconds['jaccard'][k]:.2f} s with Jaccard ({quick[None] / many.seconds['jaccard'][k]:.1f} times)",
            f"{many.size:,} candidates, the best {k} passed on; MiniLM on CPU against BERT-base on a V100",
            quick[None] / quick[k] >= 2,
        ),
        Row(
            "accuracy grows with k and is there at 100 or fewer",
            "ASNQ, CA: at 100 candidates or fewer the upper bound is reached",
            f"{', '.join(f'{x}: {v:.3f}' for x, v in by_k.items() if x)}, all: {many.whole:.3f}",
            f"Compare-Aggregate first, {many.size:,} candidates, {len(many.questions)} questions",
            many.whole - by_k[k] <= allowed[-1] + 1e-9,
        ),
    ]  # fmt: skip


def _table(found: Found, setting: str) -> str:
    ks = [*found.ks, None]
    heads = " | ".join(f"{k:,}" if k else f"all {found.size:,}" for k in ks)
    lines = [
        f"P@1 and seconds a question by how many the first ranker passes on; {len(found.questions)} questions of "
        f"WikiQA dev with {found.size:,} candidates; {setting}:\n",
        f"| first ranker | {heads} |",
        f"|---|{'---|' * len(ks)}",
    ]
    for name in FIRST:
        cells = (f"{found.accuracy[name][k]:.3f}, {found.seconds[name][k]:.2f} s" for k in ks)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)
