"""A cascade and its twins: for each of its exits a monolithic model of that depth, trained on the same questions, from
the same start, for as long (Soldaini and Moschitti, 2020, section 5.4). In a row they make the sequential ranker.

In small runs the cascade learns all exits at once, where the paper draws one for a mini-batch: so each of its
classifiers sees as many updates as its twin. Every model scores every candidate once; all drop ratios are replays of
these scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace, exit_flops
from as2core.cascade.tune import trace_all
from as2core.experiments.bench import Target, Work
from as2core.experiments.cells import Cell
from as2core.experiments.picture import RATIOS
from as2core.experiments.report.findings import ValuesByMeasure
from as2core.metrics import measure_each
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.cross_encoder import CrossEncoderRanker
from as2core.training.settings import TrainSettings
from as2core.types import Question

TracedRun = list[tuple[Question, CascadeTrace]]


@dataclass(frozen=True, slots=True)
class Twins:
    """Complete traces on the measured questions: of the cascade, and of the monolithic model of each depth."""

    cascade: TracedRun
    monolithic: dict[int, TracedRun]

    def sequential(self, ratio: float) -> tuple[ValuesByMeasure, float]:
        """Measures and relative cost of the monolithic models in a row, each dropping `ratio` of the rest."""
        by_question = zip(*self.monolithic.values(), strict=True)
        rows = [(runs[-1][0], replace(runs[-1][1], exits=tuple(t.exits[0] for _, t in runs))) for runs in by_question]
        run = _replay(rows, ratio)
        # unlike a cascade's exits, each model starts again at the embeddings
        flops = sum(
            exit_flops(0, e.layer, t.lengths[e.alive], t.lengths[e.again], t.shape) for _, t in run for e in t.exits
        )
        return _measure(run), flops / sum(t.full_flops for _, t in run)

    def score(self) -> Cell:
        """Every system of the paper's Tables 2 and 3."""
        values: dict[str, ValuesByMeasure] = {}
        numbers: dict[str, float] = {}
        for name, (measures, cost) in self._systems():
            values[name], numbers[f"cost of {name}"] = measures, cost
        return Cell(values, numbers)

    def _systems(self) -> Iterator[tuple[str, tuple[ValuesByMeasure, float]]]:
        depths = [*self.monolithic]
        for i, (depth, run) in enumerate(self.monolithic.items()):
            share = depth / depths[-1]
            yield name_monolithic(i), (measure_exit(run, 0), share)
            yield name_exit(i), (measure_exit(self.cascade, i), share)
        for ratio in RATIOS:
            yield name_cascade(ratio), at_ratio(self.cascade, ratio)
            yield name_sequential(ratio), self.sequential(ratio)


def name_exit(i: int) -> str:
    """Exits are numbered from 0; the paper's are after 4, 6, 8, 10 and 12 of 12 layers."""
    return f"cascade, exit {i + 1}"


def name_monolithic(i: int) -> str:
    return f"monolithic, depth of exit {i + 1}"


def name_cascade(ratio: float) -> str:
    return f"cascade, ratio {ratio:g}"


def name_sequential(ratio: float) -> str:
    return f"sequential, ratio {ratio:g}"


def train_twins(start: CascadeRanker, target: Target, work: Work, settings: TrainSettings) -> Twins:
    """As many trainings as exits and one more; each a run over the measured questions."""

    def train_and_run(ranker: CascadeRanker, name: str) -> TracedRun:
        model = work.train(name, ranker, target.train, settings, target.dev).ranker
        return trace_all(model, target.test)

    cascade = train_and_run(start, "the cascade")
    depths = {depth: CrossEncoderRanker.from_cascade(start, depth=depth) for depth in start.exits}
    return Twins(cascade, {depth: train_and_run(twin, f"{depth} layers") for depth, twin in depths.items()})


def measure_exit(run: TracedRun, exit_index: int) -> ValuesByMeasure:
    """Each measure by question, of one exit over all candidates."""
    return measure_each([q for q, _ in run], {q.qid: t.exits[exit_index].scores for q, t in run})


def exit_ap(run: TracedRun, exit_index: int) -> float:
    """AP of one exit over all candidates."""
    return float(np.mean([*measure_exit(run, exit_index)["AP"].values()]))


def at_ratio(run: TracedRun, ratio: float) -> tuple[ValuesByMeasure, float]:
    """Measures and relative cost under one ratio at every exit, keeping at least one candidate."""
    run = _replay(run, ratio)
    return _measure(run), sum(t.flops for _, t in run) / sum(t.full_flops for _, t in run)


def _replay(run: TracedRun, ratio: float) -> TracedRun:
    return [(q, t.replay(DropSchedule.constant(ratio, exits=len(t.exits)))) for q, t in run]


def _measure(run: TracedRun) -> ValuesByMeasure:
    return measure_each([q for q, _ in run], {q.qid: t.scores() for q, t in run})
