"""Cosinet and Compare-Aggregate, pointwise and listwise, with and without a recurrent layer over the candidates
(Bonadiman and Moschitti, 2020, Tables 2 to 4): what listwise training and the original order are worth, and their cost.

As in the paper: WikiQA, three epochs, the last state, no early stopping; WO's ties at random. Small runs have
Compare-Aggregate narrower, and with the recurrent layer that Tables 5 and 6 keep.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import comb

from as2core.experiments.base import Options, Report, count_steps, table
from as2core.experiments.bench import Bench, Work, describe_setting, read_target, score
from as2core.experiments.cells import Cell
from as2core.experiments.report.findings import FAILS, HOLDS, NOT_RUN, UNDECIDED, Finding, Row, exceeds, is_close
from as2core.experiments.uncertainty import LEVEL
from as2core.nn.context import CONTEXTS
from as2core.nn.word_vectors import WordVectors, backbone_vectors
from as2core.rankers.catalog import get
from as2core.rankers.compare_aggregate import CompareAggregateRanker
from as2core.rankers.cosinet import CosinetRanker
from as2core.training.learners import suggest_settings
from as2core.types import OnProgress

NAMES = {"cosinet": "Cosinet", "compare-aggregate": "CA"}
KINDS = {"cosinet": CosinetRanker, "compare-aggregate": CompareAggregateRanker}
WO_RR = "WO+RR"
ALL = ((False, "none"), *((True, context) for context in CONTEXTS))
VARIANTS = ((False, "none"), (True, "none"), (True, "birnn"))  # of the paper's Tables 5 and 6
ALIKE = 0.02  # AP within which two models count as alike
NARROW = 100  # width of Compare-Aggregate in small runs

# thousands of parameters, seconds on a GTX 1080 Ti: Table 4
PAPER_COSTS = {
    "Cosinet": (904, 6.0),
    "Cosinet listwise": (904, 5.5),
    "Cosinet listwise rnn": (1170, 7.5),
    "Cosinet listwise birnn": (1120, 8.9),
    "Cosinet listwise lstm": (1990, 7.0),
    "Cosinet listwise bilstm": (1810, 9.5),
    "CA": (2890, 19.0),
    "CA listwise": (2890, 18.0),
    "CA listwise rnn": (5050, 20.0),
    "CA listwise birnn": (4870, 21.0),
    "CA listwise lstm": (11530, 25.0),
    "CA listwise bilstm": (10810, 25.0),
}
_CONTEXTS = [f"Cosinet listwise {c}" for c in CONTEXTS if c != "none"]
FINDINGS = (
    Finding(
        "shared words and the original order, together, are a strong baseline",
        "MAP rr 64.21, wo 51.02, wo-rr 68.25",
        (exceeds(WO_RR, "document order"), exceeds(WO_RR, "word overlap")),
        "strong: better than either alone",
    ),
    Finding(
        "Cosinet, listwise, with a BiRNN beats WO+RR",
        "75.62 against 68.25",
        (exceeds("Cosinet listwise birnn", WO_RR),),
    ),
    Finding(
        "listwise training alone changes little",
        "Cosinet 70.95 to 71.22, CA 72.03 to 71.43",
        (is_close("Cosinet listwise", "Cosinet", ALIKE), is_close("CA listwise", "CA", ALIKE)),
        f"little: within {ALIKE}",
    ),
    Finding(
        "the recurrent layer over the candidates is what helps",
        "with a BiRNN Cosinet 71.22 to 75.62, CA 71.43 to 74.97",
        (exceeds("Cosinet listwise birnn", "Cosinet listwise"), exceeds("CA listwise birnn", "CA listwise")),
    ),
    Finding(
        "which recurrent layer it is matters little",
        "Cosinet: rnn 74.78, birnn 75.62, lstm 74.31, bilstm 75.32",
        tuple(is_close(a, b, ALIKE) for a, b in combinations(_CONTEXTS, 2)),
        f"little: within {ALIKE}, every pair",
    ),
    Finding(
        "Cosinet is as good as CA",
        "listwise with a BiRNN 75.62 against 74.97",
        (exceeds("Cosinet listwise birnn", "CA listwise birnn", -ALIKE),),
        f"as good: at most {ALIKE} worse",
    ),
    Finding(
        "the recurrent layer helps on SQuAD-sent, too",
        "listwise to BiRNN, MRR: Cosinet 91.16 to 91.97, CA 90.69 to 92.05",
        missing="87 thousand questions, up to half an hour a model on the paper's GPU",
    ),
    Finding(
        "and on NQ-LA",
        "listwise to BiRNN, MAP: Cosinet 68.16 to 73.28, CA 69.82 to 74.21",
        missing="Natural Questions is not at hand (42 GB)",
    ),
)


@dataclass(frozen=True, slots=True)
class Sizes:
    """Which (listwise, context) of each family are trained, the width of each, and over how many seeds."""

    variants: dict[str, tuple[tuple[bool, str], ...]]
    hidden: dict[str, int]
    seeds: int
    target: int | None = None  # questions to train on


SMALL = Sizes(
    {"cosinet": ALL, "compare-aggregate": VARIANTS}, {"cosinet": 300, "compare-aggregate": NARROW}, seeds=5, target=430
)
FULL = Sizes({"cosinet": ALL, "compare-aggregate": ALL}, {"cosinet": 300, "compare-aggregate": 300}, seeds=5)

Key = tuple[str, bool, str]  # family, listwise, context


def run(
    options: Options,
    on_progress: OnProgress | None = None,
    sizes: Sizes | None = None,
    vectors: WordVectors | None = None,
) -> Report:
    """Raises UnknownData when the target's files are missing."""
    sizes = sizes or (FULL if options.full else SMALL)
    seeds = options.seeds or sizes.seeds
    target = read_target(options, sizes.target)
    keys = [(family, *variant) for family, variants in sizes.variants.items() for variant in variants]
    bench = Bench("structure", options, target, sizes.hidden, count_steps(on_progress, seeds * len(keys)))
    vectors = vectors or backbone_vectors(options.backbone)
    wo_rr = score(WO_RR, get("wo-rr"), target.test)
    bench.samples.add(WO_RR, None, wo_rr.values[WO_RR])
    for seed in range(seeds):  # so that a run that is stopped has every model
        for key in keys:
            bench.cell(name_model(key), seed, partial(_train, key, seed, bench, vectors, sizes))
    width = sizes.hidden["compare-aggregate"]
    narrow = "" if width == 300 else f"; CA of width {width}, not 300"
    setting = f"vectors of {describe_setting(bench)}, not Numberbatch{narrow}"
    rows = [*bench.judge(FINDINGS, setting), _speed_row(bench, setting, is_equal=width == 300)]
    return bench.report(rows, [_cost_table(bench)])


def _train(key: Key, seed: int, bench: Bench, vectors: WordVectors, sizes: Sizes, work: Work) -> Cell:
    family, listwise, context = key
    base = KINDS[family](vectors, listwise=listwise, context=context, seed=seed, hidden=sizes.hidden[family])
    result = work.train("model", base, bench.target.train, suggest_settings(base), seed=seed)
    cell = score(name_model(key), result.ranker, bench.target.test)
    return Cell(cell.values, {"training seconds": result.seconds, "parameters": base.parameters})


def _speed_row(bench: Bench, setting: str, *, is_equal: bool) -> Row:
    """Times of whole trainings: holds where every training of the one took less than every one of the other, and there
    are enough of both that chance alone seldom has them apart (Mann and Whitney, 1947: twice one in C(n + m, n))."""
    finding, paper = "and takes less time to train", "8.9 s against 21 s on a GTX 1080 Ti"
    best, ca = (
        [n["training seconds"] for n in bench.numbers.get(f"{name} listwise birnn", {}).values()]
        for name in NAMES.values()
    )
    if not best or not ca:
        return Row(finding, paper, NOT_RUN, setting, NOT_RUN, "no training of one of the two yet")
    verdict = HOLDS if max(best) < min(ca) else FAILS if min(best) > max(ca) else UNDECIDED
    why = "slowest against fastest training" + ("" if is_equal else "; the CA here is narrower than the paper's")
    if 2 / comb(len(best) + len(ca), len(ca)) > 1 - LEVEL:
        verdict, why = UNDECIDED, f"{len(best)} and {len(ca)} trainings are too few to tell"
    ours = f"{min(best):.0f} to {max(best):.0f} s against {min(ca):.0f} to {max(ca):.0f} s"
    return Row(finding, paper, ours, setting, verdict, why)


def _cost_table(bench: Bench) -> str:
    heads = ["model", "parameters, paper", "parameters", "training, paper", "training"]
    rows = []
    for name, (thousands, seconds) in PAPER_COSTS.items():
        parameters, took = (bench.mean_number(name, number) for number in ("parameters", "training seconds"))
        ours = [NOT_RUN if parameters is None else f"{parameters:,.0f}", NOT_RUN if took is None else f"{took:.0f} s"]
        rows.append([name, f"{thousands:,}k", ours[0], f"{seconds:g} s", ours[1]])
    return table(
        "Parameters and seconds of a training (the paper: GTX 1080 Ti; here: one or two CPU cores):", heads, rows
    )


def name_model(key: Key) -> str:
    """As the paper's rows: `Cosinet listwise birnn`."""
    family, listwise, context = key
    return " ".join([NAMES[family], *(["listwise"] if listwise else []), *([context] if context != "none" else [])])
