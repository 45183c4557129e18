"""Cosinet and Compare-Aggregate, pointwise and listwise, with and without a recurrent layer over the candidates
(Bonadiman and Moschitti, 2020, table 4): what listwise training and the original order are worth, and what they cost.

As in the paper: WikiQA, three epochs, the last state, no early stopping; WO's ties at random. Small runs have
Compare-Aggregate narrower, and with the recurrent layer that tables 5 and 6 keep.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import mean, stdev

from as2core.evaluation import evaluate
from as2core.experiments.base import Options, Report, Row, count_steps, table
from as2core.experiments.courses import Runner, Target
from as2core.nn.context import CONTEXTS
from as2core.nn.word_vectors import WordVectors, backbone_vectors
from as2core.rankers.catalog import get
from as2core.rankers.compare_aggregate import CompareAggregateRanker
from as2core.rankers.cosinet import CosinetRanker
from as2core.training.learners import suggest_settings
from as2core.types import OnProgress

NAMES = {"cosinet": "Cosinet", "compare-aggregate": "CA"}
KINDS = {"cosinet": CosinetRanker, "compare-aggregate": CompareAggregateRanker}
BASELINES = {"rr": 64.21, "wo": 51.02, "wo-rr": 68.25}
ALL = ((False, "none"), *((True, context) for context in CONTEXTS))
COMPARED = ((False, "none"), (True, "none"), (True, "birnn"))  # of the paper's tables 5 and 6
# MAP, MRR, parameters in thousands, seconds on a GTX 1080 Ti: table 4
PAPER = {
    ("cosinet", False, "none"): (70.95, 72.86, 904, 6.0),
    ("cosinet", True, "none"): (71.22, 73.07, 904, 5.5),
    ("cosinet", True, "rnn"): (74.78, 76.35, 1170, 7.5),
    ("cosinet", True, "birnn"): (75.62, 77.13, 1120, 8.9),
    ("cosinet", True, "lstm"): (74.31, 75.78, 1990, 7.0),
    ("cosinet", True, "bilstm"): (75.32, 76.85, 1810, 9.5),
    ("compare-aggregate", False, "none"): (72.03, 73.39, 2890, 19.0),
    ("compare-aggregate", True, "none"): (71.43, 73.55, 2890, 18.0),
    ("compare-aggregate", True, "rnn"): (74.73, 76.35, 5050, 20.0),
    ("compare-aggregate", True, "birnn"): (74.97, 76.44, 4870, 21.0),
    ("compare-aggregate", True, "lstm"): (74.82, 76.42, 11530, 25.0),
    ("compare-aggregate", True, "bilstm"): (74.27, 75.74, 10810, 25.0),
}
TOLERANCE = 0.02  # AP under which two models count as alike


@dataclass(frozen=True, slots=True)
class Sizes:
    """Which (listwise, context) of each family are trained, the width of each, and over how many seeds."""

    variants: dict[str, tuple[tuple[bool, str], ...]]
    hidden: dict[str, int]
    seeds: int


SMALL = Sizes({"cosinet": ALL, "compare-aggregate": COMPARED}, {"cosinet": 300, "compare-aggregate": 100}, seeds=1)
FULL = Sizes({"cosinet": ALL, "compare-aggregate": ALL}, {"cosinet": 300, "compare-aggregate": 300}, seeds=5)


@dataclass(frozen=True, slots=True)
class ModelResult:
    """One model: AP and RR of each seed, its number of parameters, and the mean seconds of a training."""

    ap: list[float]
    rr: list[float]
    parameters: int
    seconds: float


Key = tuple[str, bool, str]  # family, listwise, context


def run(
    options: Options,
    on_progress: OnProgress | None = None,
    sizes: Sizes | None = None,
    vectors: WordVectors | None = None,
) -> Report:
    """Raises UnknownData when WikiQA is missing."""
    sizes = sizes or (FULL if options.full else SMALL)
    seeds = options.seeds or sizes.seeds
    target = Target(options.questions("wikiqa-train", "no-all-neg"), options.questions("wikiqa-dev"))
    plain = {name: evaluate(get(name), target.dev).metrics["AP"] for name in BASELINES}
    keys = [(family, *variant) for family, variants in sizes.variants.items() for variant in variants]
    runner = Runner(options, count_steps(on_progress, seeds * len(keys)))
    vectors = vectors or backbone_vectors()
    results = {key: _train_seeds(key, sizes.hidden[key[0]], range(seeds), target, vectors, runner) for key in keys}
    width = sizes.hidden["compare-aggregate"]
    differs = f"WikiQA dev, not test; vectors from MiniLM's input embeddings, not Numberbatch; {seeds} seed(s)"
    narrow = differs if width == 300 else f"{differs}; CA of width {width}, not 300"
    return Report(tuple(_rows(plain, results, differs, narrow)), (_table(plain, results, narrow),))


def _train_seeds(
    key: Key, hidden: int, seeds: range, target: Target, vectors: WordVectors, runner: Runner
) -> ModelResult:
    family, listwise, context = key
    bases = [KINDS[family](vectors, listwise=listwise, context=context, seed=s, hidden=hidden) for s in seeds]
    results = [
        runner.train(f"{_name(key)}, seed {s}", base, Target(target.train), suggest_settings(base), seed=s)
        for s, base in zip(seeds, bases, strict=True)
    ]
    metrics = [evaluate(t.ranker, target.dev).metrics for t in results]
    ap, rr = ([m[name] for m in metrics] for name in ("AP", "RR"))
    return ModelResult(ap, rr, bases[0].parameters, mean(t.seconds for t in results))


def _rows(plain: dict[str, float], results: dict[Key, ModelResult], differs: str, narrow: str) -> Iterator[Row]:
    ap = {key: mean(m.ap) for key, m in results.items()}
    best = results["cosinet", True, "birnn"]
    gain = mean(best.ap) - plain["wo-rr"]
    contexts = {c: ap["cosinet", True, c] for c in CONTEXTS if c != "none"}
    pairs = {f: (ap[f, False, "none"], ap[f, True, "none"], ap[f, True, "birnn"]) for f in NAMES}
    best_ca = results["compare-aggregate", True, "birnn"]
    quicker = best.seconds < best_ca.seconds or (None if narrow != differs else False)  # a narrow CA has less to do
    yield Row(
        "shared words and the original order, together, are a strong baseline",
        "MAP " + ", ".join(f"{n} {v}" for n, v in BASELINES.items()),
        "AP " + ", ".join(f"{n} {100 * v:.2f}" for n, v in plain.items()),
        "WikiQA dev, not test",
        plain["wo-rr"] > max(plain["rr"], plain["wo"]),
    )
    yield Row(
        "Cosinet, listwise, with a BiRNN beats WO+RR",
        "75.62 against 68.25, 8.9 s of training on a GTX 1080 Ti",
        f"{100 * mean(best.ap):.2f} against {100 * plain['wo-rr']:.2f}, {best.seconds:.0f} s of training",
        differs,
        gain > TOLERANCE,
    )
    yield Row(
        "listwise training alone changes little",
        "Cosinet 70.95 to 71.22, CA 72.03 to 71.43",
        ", ".join(f"{NAMES[f]} {100 * a:.2f} to {100 * b:.2f}" for f, (a, b, _) in pairs.items()),
        narrow,
        all(abs(b - a) < TOLERANCE for a, b, _ in pairs.values()),
    )
    yield Row(
        "the recurrent layer over the candidates is what helps",
        "with a BiRNN Cosinet 71.22 to 75.62, CA 71.43 to 74.97",
        ", ".join(f"{NAMES[f]} {100 * b:.2f} to {100 * c:.2f}" for f, (_, b, c) in pairs.items()),
        narrow,
        all(c > b for _, b, c in pairs.values()),
    )
    yield Row(
        "which recurrent layer it is matters little",
        "Cosinet: " + ", ".join(f"{c} {PAPER['cosinet', True, c][0]}" for c in contexts),
        "Cosinet: " + ", ".join(f"{c} {100 * v:.2f}" for c, v in contexts.items()),
        differs,
        max(contexts.values()) - min(contexts.values()) < TOLERANCE,
    )
    yield Row(
        "Cosinet is as good as CA, in less time",
        "listwise with a BiRNN 75.62 against 74.97, 8.9 s against 21 s",
        f"{100 * mean(best.ap):.2f} against {100 * mean(best_ca.ap):.2f}, {best.seconds:.0f} s against "
        f"{best_ca.seconds:.0f} s",
        narrow,
        mean(best.ap) > mean(best_ca.ap) - TOLERANCE and quicker,
    )


def _table(plain: dict[str, float], results: dict[Key, ModelResult], differs: str) -> str:
    heads = (
        "model | MAP, paper | AP | MRR, paper | RR | parameters, paper | parameters | training, paper | training"
    ).split(" | ")
    rows = [[n.upper().replace("-", "+"), str(BASELINES[n]), f"{100 * v:.2f}", *[""] * 6] for n, v in plain.items()]
    for key, m in results.items():
        map_, mrr, thousands, seconds = PAPER[key]
        paper = [str(map_), str(mrr), f"{thousands:,}k", f"{seconds:g} s"]
        ours = [_spread(m.ap), _spread(m.rr), f"{m.parameters:,}", f"{m.seconds:.0f} s"]
        rows.append([_name(key), *chain.from_iterable(zip(paper, ours, strict=True))])
    return table(f"Every model ({differs}):", heads, rows)


def _name(key: Key) -> str:
    family, listwise, context = key
    return " ".join([NAMES[family], *(["listwise"] if listwise else []), *([context] if context != "none" else [])])


def _spread(values: Sequence[float]) -> str:
    """Mean and standard deviation over the seeds, in points."""
    text = f"{100 * mean(values):.2f}"
    return f"{text} ± {100 * stdev(values):.1f}" if len(values) > 1 else text
