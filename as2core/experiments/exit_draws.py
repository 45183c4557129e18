"""How a cascade's exits are best trained (Soldaini and Moschitti, 2020, section 4.3.1): one exit drawn uniformly for a
mini-batch, against taking them in turn, a bias to early exits, all at once, and a gradient stopped at the exit before.

All start from the same untuned encoder and see the same batches.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from as2core.cascade.tune import trace_all
from as2core.experiments.base import Options, Report, count_steps, table
from as2core.experiments.bench import ALL_PAIRS, Bench, Work, describe_setting, read_target, untuned
from as2core.experiments.cells import Cell
from as2core.experiments.report.findings import NOT_RUN, Finding, exceeds, shorten
from as2core.experiments.twins import measure_exit
from as2core.rankers.cascade import CascadeRanker
from as2core.training.learners.cascade import PAPER
from as2core.training.settings import TrainSettings
from as2core.types import OnProgress

SETTINGS = replace(ALL_PAIRS, learning_rate=5e-5, freeze_embeddings=False)
UNIFORM, STOPPED = "uniform", "uniform, gradient stopped"
VARIANTS: dict[str, dict[str, object]] = {
    UNIFORM: {},
    STOPPED: {"stop_gradient": True},
    "round robin": {"exit_draw": "round-robin"},
    "bias to early exits": {"exit_draw": "early"},
    "all exits at once": {"exit_draw": "all"},
}
ALIKE = 0.005  # AP that counts as no difference

SMALL = {"target": 430, "epochs": 3}
FULL = {"target": 10_000, "epochs": 3}
SEEDS = 3, 5

FINDINGS = (
    Finding(
        "a uniform draw of the exit is enough",
        "round robin and a bias to early exits were no better (section 5.2, no numbers)",
        tuple(exceeds(UNIFORM, other, -ALIKE) for other in ("round robin", "bias to early exits")),
        f"the last exit; enough: at most {ALIKE} worse",
    ),
    Finding(
        "the gradient has to reach the embeddings",
        "stopped at the exit before, training does not converge (section 4.3.1, no numbers)",
        (exceeds(UNIFORM, STOPPED, ALIKE),),
        f"the last exit; by more than {ALIKE}",
    ),
)


def run(options: Options, on_progress: OnProgress | None = None, sizes: dict[str, int] | None = None) -> Report:
    """Raises UnknownData when the target's files are missing."""
    sizes = sizes or (FULL if options.full else SMALL)
    seeds = range(options.seeds or SEEDS[options.full])
    target = read_target(options, sizes["target"])
    bench = Bench("exit_draws", options, target, sizes, count_steps(on_progress, len(VARIANTS) * len(seeds)))
    base = replace(PAPER if options.full else SETTINGS, epochs=sizes["epochs"])
    for seed in seeds:
        for name, changes in VARIANTS.items():
            settings = replace(base, seed=seed, **changes)  # type: ignore[arg-type]
            bench.cell(name, seed, partial(_train, bench, name, settings), settings)
    setting = f"{sizes['epochs']} epochs; {describe_setting(bench)}; the paper trains on ASNQ"
    return bench.report(bench.judge(FINDINGS, setting), [_exit_table(bench)])


def _train(bench: Bench, name: str, settings: TrainSettings, work: Work) -> Cell:
    base = untuned(CascadeRanker, bench.options, seed=settings.seed)
    ranker = work.train("model", base, bench.target.train, settings, bench.target.dev).ranker
    traced, last = trace_all(ranker, bench.target.test), len(ranker.exits) - 1
    values = {
        name: measure_exit(traced, last),
        **{f"{name}, exit {i + 1}": measure_exit(traced, i) for i in range(last)},
    }
    return Cell(values)


def _exit_table(bench: Bench) -> str:
    def cell(system: str) -> str:
        if not (seeds := bench.samples.seeds([system])):
            return NOT_RUN
        return shorten(bench.samples.table(system, "AP", seeds).mean())

    rows = [[name, *(cell(f"{name}, exit {i}") for i in range(1, 5)), cell(name)] for name in VARIANTS]
    heads = ["training", *(f"exit {i}" for i in range(1, 5)), "the last"]
    return table(f"AP by exit on {bench.target.title}, nothing dropped, the mean over seeds:", heads, rows)
