"""A cascade and its twins: for each of its exits a monolithic model of that depth, trained on the same questions, from
the same start, for as long (Soldaini and Moschitti, 2020, section 5.4). In a row they make the sequential ranker.

The cascade learns all exits at once here, where the paper draws one a mini-batch: so each of its classifiers sees as
many updates as its twin. Every model scores every candidate once; all drop ratios are then replays of what it said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace, ExitRecord
from as2core.cascade.tune import traces
from as2core.cost import head_flops, layer_flops
from as2core.experiments.base import learning
from as2core.experiments.courses import WHOLE, untuned
from as2core.metrics import measures
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.cross_encoder import CrossEncoderRanker
from as2core.rankers.sequential import SequentialRanker, Stage
from as2core.training.fine_tune import fine_tune
from as2core.types import Candidate, OnProgress, Question

Traced = list[tuple[Question, CascadeTrace]]
SETTINGS = replace(WHOLE, learning_rate=5e-5, positives=2, negatives=6, exit_draw="all")


@dataclass(frozen=True, slots=True)
class Twins:
    """Complete traces on dev questions: of the cascade, and of the monolithic model of each depth."""

    cascade: Traced
    monolithic: dict[int, Traced]

    def exits(self) -> list[float]:
        """AP of the cascade's exits, without dropping."""
        return [exit_ap(self.cascade, i) for i in range(len(self.monolithic))]

    def depths(self) -> list[float]:
        """AP of the monolithic models."""
        return [exit_ap(made, 0) for made in self.monolithic.values()]

    def sequential(self, ratio: float) -> tuple[float, float]:
        """AP and relative cost of the monolithic models in a row, each dropping `ratio` of those alive."""
        keep = [1.0 - ratio] * (len(self.monolithic) - 1) + [None]
        recorded = [Recorded(f"{depth} layers", made) for depth, made in self.monolithic.items()]
        ranker = SequentialRanker([Stage(r, k) for r, k in zip(recorded, keep, strict=True)])
        questions = [q for q, _ in self.cascade]
        runs = {
            q.qid: ranker.trace(q.qid, [Candidate(str(i), "") for i in range(len(q.candidates))]) for q in questions
        }
        ap = measures(questions, {qid: t.scores() for qid, t in runs.items()}, ("AP",))["AP"]
        full = sum(t.full_flops for _, t in self.monolithic[max(self.monolithic)])
        return ap, sum(t.flops for t in runs.values()) / full


class Recorded:
    """A monolithic model that was run once on everyone, as a ranker that reads its record: a question is its qid, a
    candidate's id its place."""

    def __init__(self, name: str, made: Traced) -> None:
        self.name, self._made = name, {q.qid: t for q, t in made}

    def trace(self, question: str, candidates: Sequence[Candidate]) -> CascadeTrace:
        whole, rows = self._made[question], np.array([int(c.id) for c in candidates], dtype=int)
        lengths, only = whole.lengths[rows], whole.exits[0]
        flops = only.layer * layer_flops(lengths, whole.shape) + head_flops(len(rows), whole.shape)
        everyone, nobody = np.arange(len(rows)), np.array([], dtype=int)
        record = ExitRecord(only.layer, everyone, only.scores[rows], nobody, 0.0, int(lengths.sum()), flops)
        return CascadeTrace(lengths, (record,), whole.schedule, whole.shape)

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        return self.trace(question, candidates).scores()


def train_twins(
    train: Sequence[Question],
    dev: Sequence[Question],
    *,
    epochs: int,
    seed: int,
    workdir: Path,
    step: Callable[[str], OnProgress],
) -> Twins:
    """Six trainings to their end, none of them chosen by the dev questions, and a run of each over these.

    `step(what)` begins the next of 12 steps and gives its progress callback.
    """
    start = untuned(CascadeRanker, seed=seed)

    def learnt(ranker: CascadeRanker, what: str) -> CascadeRanker:
        tell = step(f"training {what}")
        settings = replace(SETTINGS, epochs=epochs, seed=seed)
        folder = workdir / f"{seed}-{what.replace(' ', '-')}"

        return fine_tune(ranker, train, [], settings, workdir=folder, on_event=learning(tell)).ranker

    cascade = traces(learnt(start, "the cascade"), dev, step("running the cascade"))
    monolithic = {}
    for depth in start.exits:
        twin = learnt(CrossEncoderRanker.from_cascade(start, depth=depth), f"{depth} layers")
        monolithic[depth] = traces(twin, dev, step(f"running {depth} layers"))
    return Twins(cascade, monolithic)


def exit_ap(made: Traced, exit_index: int) -> float:
    """AP of one exit over everyone."""
    scores = {q.qid: t.exits[exit_index].scores for q, t in made}
    return measures([q for q, _ in made], scores, ("AP",))["AP"]


def at_ratio(made: Traced, ratio: float, *names: str) -> tuple[dict[str, float], float]:
    """Measures (AP if none is named) and relative cost under one ratio at every exit, keeping at least one."""
    runs = {q.qid: t.replay(DropSchedule.constant(ratio, exits=len(t.exits))) for q, t in made}
    found = measures([q for q, _ in made], {qid: t.scores() for qid, t in runs.items()}, names or ("AP",))
    return found, sum(t.flops for t in runs.values()) / sum(t.full_flops for t in runs.values())
