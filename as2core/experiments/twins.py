"""A cascade and its twins: for each of its exits a monolithic model of that depth, trained on the same questions, from
the same start, for as long (Soldaini and Moschitti, 2020, section 5.4). In a row they make the sequential ranker.

The cascade learns all exits at once here, where the paper draws one for a mini-batch: so each of its classifiers sees
as many updates as its twin. Every model scores every candidate once; all drop ratios are replays of these scores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace, exit_flops
from as2core.cascade.tune import trace_all
from as2core.experiments.courses import ALL_PAIRS, Runner, Target, untuned
from as2core.metrics import measure_mean
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.cross_encoder import CrossEncoderRanker
from as2core.types import Question

TracedRun = list[tuple[Question, CascadeTrace]]
SETTINGS = replace(ALL_PAIRS, learning_rate=5e-5, positives=2, negatives=6, exit_draw="all")
STEPS = 12  # of `train_twins`


@dataclass(frozen=True, slots=True)
class Twins:
    """Complete traces on dev questions: of the cascade, and of the monolithic model of each depth."""

    cascade: TracedRun
    monolithic: dict[int, TracedRun]

    def exits(self) -> list[float]:
        """AP of the cascade's exits, without dropping."""
        return [exit_ap(self.cascade, i) for i in range(len(self.monolithic))]

    def depths(self) -> list[float]:
        """AP of the monolithic models."""
        return [exit_ap(run, 0) for run in self.monolithic.values()]

    def sequential(self, ratio: float) -> tuple[float, float]:
        """AP and relative cost of the monolithic models in a row, each dropping `ratio` of the rest."""
        by_question = zip(*self.monolithic.values(), strict=True)
        rows = [(runs[-1][0], replace(runs[-1][1], exits=tuple(t.exits[0] for _, t in runs))) for runs in by_question]
        run = _replay(rows, ratio)
        # unlike a cascade's exits, each model starts again at the embeddings
        flops = sum(
            exit_flops(0, e.layer, t.lengths[e.alive], t.lengths[e.again], t.shape) for _, t in run for e in t.exits
        )
        return _measure(run)["AP"], flops / sum(t.full_flops for _, t in run)


def train_twins(target: Target, runner: Runner, *, epochs: int, seed: int) -> Twins:
    """Six trainings to their end, none of them selected by the dev questions, and a run of each over these: STEPS
    steps of the runner."""
    start = untuned(CascadeRanker, seed=seed)
    train = Target(target.train)

    def train_and_run(ranker: CascadeRanker, what: str) -> TracedRun:
        model = runner.train(f"training {what}", ranker, train, SETTINGS, epochs=epochs, seed=seed).ranker
        return trace_all(model, target.dev, runner.step(f"running {what}"))

    cascade = train_and_run(start, "the cascade")
    depths = {depth: CrossEncoderRanker.from_cascade(start, depth=depth) for depth in start.exits}
    return Twins(cascade, {depth: train_and_run(twin, f"{depth} layers") for depth, twin in depths.items()})


def exit_ap(run: TracedRun, exit_index: int) -> float:
    """AP of one exit over all candidates."""
    return measure_mean([q for q, _ in run], {q.qid: t.exits[exit_index].scores for q, t in run}, ("AP",))["AP"]


def at_ratio(run: TracedRun, ratio: float) -> dict[str, float]:
    """Measures and relative cost ("cost") under one ratio at every exit, keeping at least one candidate."""
    run = _replay(run, ratio)
    return {**_measure(run), "cost": sum(t.flops for _, t in run) / sum(t.full_flops for _, t in run)}


def _replay(run: TracedRun, ratio: float) -> TracedRun:
    return [(q, t.replay(DropSchedule.constant(ratio, exits=len(t.exits)))) for q, t in run]


def _measure(run: TracedRun) -> dict[str, float]:
    return measure_mean([q for q, _ in run], {q.qid: t.scores() for q, t in run})
