"""A cascade and its twins: for each of its exits a monolithic model of that depth, trained on the same questions, from
the same start, for as long (Soldaini and Moschitti, 2020, section 5.4). In a row they make the sequential ranker.

The cascade learns all exits at once here, where the paper draws one for a mini-batch: so each of its classifiers sees
as many updates as its twin. Every model scores every candidate once; all drop ratios are replays of these scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace, ExitRecord
from as2core.cascade.tune import trace_all
from as2core.cost import head_flops, layer_flops
from as2core.experiments.courses import ALL_PAIRS, Runner, Target, untuned
from as2core.metrics import measure_mean
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.cross_encoder import CrossEncoderRanker
from as2core.rankers.sequential import SequentialRanker, Stage
from as2core.types import Candidate, Question

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
        keep = [1.0 - ratio] * (len(self.monolithic) - 1) + [None]
        rankers = [RecordedRanker(f"{depth} layers", run) for depth, run in self.monolithic.items()]
        ranker = SequentialRanker([Stage(r, k) for r, k in zip(rankers, keep, strict=True)])
        questions = [q for q, _ in self.cascade]
        runs = {
            q.qid: ranker.trace(q.qid, [Candidate(str(i), "") for i in range(len(q.candidates))]) for q in questions
        }
        ap = measure_mean(questions, {qid: t.scores() for qid, t in runs.items()}, ("AP",))["AP"]
        full = sum(t.full_flops for _, t in self.monolithic[max(self.monolithic)])
        return ap, sum(t.flops for t in runs.values()) / full


class RecordedRanker:
    """A monolithic model that has scored all candidates, as a ranker that looks its scores up: a question is its qid, a
    candidate's id its place."""

    def __init__(self, name: str, run: TracedRun) -> None:
        self.name, self._traces = name, {q.qid: t for q, t in run}

    def trace(self, question: str, candidates: Sequence[Candidate]) -> CascadeTrace:
        whole, rows = self._traces[question], np.array([int(c.id) for c in candidates], dtype=int)
        lengths, last = whole.lengths[rows], whole.exits[0]
        flops = last.layer * layer_flops(lengths, whole.shape) + head_flops(len(rows), whole.shape)
        alive, dropped = np.arange(len(rows)), np.array([], dtype=int)
        record = ExitRecord(last.layer, alive, last.scores[rows], dropped, 0.0, int(lengths.sum()), flops)
        return CascadeTrace(lengths, (record,), whole.schedule, whole.shape)

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        return self.trace(question, candidates).scores()


def train_twins(target: Target, runner: Runner, *, epochs: int, seed: int) -> Twins:
    """Six trainings to their end, none of them selected by the dev questions, and a run of each over these: STEPS
    steps of the runner."""
    start = untuned(CascadeRanker, seed=seed)
    settings = replace(SETTINGS, epochs=epochs, seed=seed)

    def train_and_run(ranker: CascadeRanker, what: str) -> TracedRun:
        trained = runner.train(f"training {what}", ranker, target.train, [], settings).ranker
        return trace_all(trained, target.dev, runner.step(f"running {what}"))

    cascade = train_and_run(start, "the cascade")
    depths = {depth: CrossEncoderRanker.from_cascade(start, depth=depth) for depth in start.exits}
    return Twins(cascade, {depth: train_and_run(twin, f"{depth} layers") for depth, twin in depths.items()})


def exit_ap(run: TracedRun, exit_index: int) -> float:
    """AP of one exit over all candidates."""
    return measure_mean([q for q, _ in run], {q.qid: t.exits[exit_index].scores for q, t in run}, ("AP",))["AP"]


def at_ratio(run: TracedRun, ratio: float, *names: str) -> tuple[dict[str, float], float]:
    """Measures (AP by default) and relative cost under one ratio at every exit, keeping at least one candidate."""
    runs = {q.qid: t.replay(DropSchedule.constant(ratio, exits=len(t.exits))) for q, t in run}
    values = measure_mean([q for q, _ in run], {qid: t.scores() for qid, t in runs.items()}, names or ("AP",))
    return values, sum(t.flops for t in runs.values()) / sum(t.full_flops for t in runs.values())
