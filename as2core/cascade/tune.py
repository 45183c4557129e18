"""The best drop ratio for every exit, found by replaying traces: no model is run (Cascade Transformer, section 5.5).

The paper tries {0.1 ... 0.6} at each of the four exits that drop, 1,296 schedules, and looks at accuracy against cost.
Schedules share their beginnings, so a question's survivors after the first exits are worked out once for all schedules
that begin alike. Beyond the paper: the front of what nothing cheaper and better beats, and the cheapest schedule that
loses no more than a bound. Costs count tokens, classifiers and a cheap first ranker, as `CascadeTrace` does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Protocol

import numpy as np

from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace
from as2core.cost import head_flops, layer_flops, pareto
from as2core.errors import BadSetting
from as2core.metrics import order
from as2core.types import Candidate, OnProgress, Progress, Question

RATIOS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
# of the places (from 1, ascending) at which a question's correct candidates stand
TUNING_MEASURES: dict[str, Callable[[np.ndarray], float]] = {
    "AP": lambda places: float(np.mean(np.arange(1, len(places) + 1) / places)),
    "RR": lambda places: 1.0 / places[0],
    "P@1": lambda places: float(places[0] == 1),
}


@dataclass(frozen=True, slots=True)
class Point:
    """A schedule, the measure's mean under it, and its FLOPs over the monolithic model's."""

    ratios: tuple[float, ...]
    value: float
    cost: float


@dataclass(frozen=True, slots=True)
class Tuning:
    """`full` drops nobody; `points` are all schedules tried, `full` among them."""

    measure: str
    questions: int
    full: Point
    points: tuple[Point, ...]

    @property
    def front(self) -> tuple[Point, ...]:
        """What nothing both cheaper and better beats, from the cheapest on."""
        on = pareto([(p.cost, p.value) for p in self.points])
        return tuple(sorted((p for p, o in zip(self.points, on, strict=True) if o), key=lambda p: p.cost))

    def best(self, max_loss: float) -> Point:
        """The cheapest schedule whose value is at most `max_loss` below that of dropping nobody."""
        allowed = [p for p in self.points if p.value >= self.full.value - max_loss - 1e-12]
        return min(allowed, key=lambda p: (p.cost, -p.value))


class Traceable(Protocol):
    """A cascade that keeps a trace."""

    exits: tuple[int, ...]

    def trace(
        self, question: str, candidates: Sequence[Candidate], schedule: DropSchedule | None = None
    ) -> CascadeTrace: ...


def trace_all(
    cascade: Traceable, questions: Sequence[Question], on_progress: OnProgress | None = None
) -> list[tuple[Question, CascadeTrace]]:
    """Each question with its complete trace: the only step that runs the model."""
    complete = DropSchedule.constant(0.0, exits=len(cascade.exits))
    out = []
    for done, q in enumerate(questions):
        if on_progress:
            on_progress(Progress(done, len(questions), "tracing"))
        out.append((q, cascade.trace(q.text, q.candidates, complete)))
    return out


def try_schedules(
    traces: Sequence[tuple[Question, CascadeTrace]],
    *,
    ratios: Sequence[float] = RATIOS,
    measure: str = "AP",
    keep: int = 1,
    on_progress: OnProgress | None = None,
) -> Tuning:
    """Every combination of `ratios` over the exits that drop, on labelled questions with their complete traces.

    Questions without a correct candidate say nothing and are left out. Raises BadSetting when none is left, for a
    trace that dropped candidates itself, and for an unknown measure.
    """
    if measure not in TUNING_MEASURES:
        raise BadSetting(f"no measure {measure!r} to tune by; known: {', '.join(TUNING_MEASURES)}")
    usable = [(q, t) for q, t in traces if q.positives]
    if not usable:
        raise BadSetting("no question has a candidate labelled correct: there is nothing to tune by")
    if any(not t.complete or len(t.exits) != len(usable[0][1].exits) for _, t in usable):
        raise BadSetting("tuning needs traces of one cascade that dropped nothing: make them with drop ratio 0")
    if uncounted := {t.first.name for _, t in usable if t.first and not t.first.is_counted}:
        raise BadSetting(
            f"first={', '.join(uncounted)}: its FLOPs are not counted, and tuning weighs FLOPs: leave it out"
        )
    dropping = len(usable[0][1].exits) - 1
    full = (0.0,) * dropping
    schedules = list(dict.fromkeys([full, *product(ratios, repeat=dropping)]))
    values, flops = np.zeros(len(schedules)), np.zeros(len(schedules))
    full_flops = 0
    for done, (question, trace) in enumerate(usable):
        if on_progress:
            on_progress(Progress(done, len(usable), "replaying"))
        results = _replay_all(question, trace, (0.0,), keep, TUNING_MEASURES[measure])
        results |= _replay_all(question, trace, ratios, keep, TUNING_MEASURES[measure])
        values += [results[s][0] for s in schedules]
        flops += [results[s][1] for s in schedules]
        full_flops += trace.full_flops
    points = tuple(
        Point(s, float(v), float(c))
        for s, v, c in zip(schedules, values / len(usable), flops / full_flops, strict=True)
    )
    return Tuning(measure, len(usable), points[0], points)


def _replay_all(
    question: Question, trace: CascadeTrace, ratios: Sequence[float], keep: int, value: Callable[[np.ndarray], float]
) -> dict[tuple[float, ...], tuple[float, float]]:
    """Value and FLOPs of one question under every schedule, by its ratios."""
    correct = np.array([c.label == 1 for c in question.candidates])
    depths = np.diff([0, *(e.layer for e in trace.exits)])
    a_layer = np.array([layer_flops(trace.lengths[i : i + 1], trace.shape) for i in range(trace.candidates)])
    a_head = head_flops(1, trace.shape)
    again, rescoring = trace.exits[-1].again, np.zeros(trace.candidates)  # the second scoring of some at the last exit
    rescoring[again] = trace.exits[-1].layer * a_layer[again] + a_head
    cuts = [(ratio, DropSchedule((ratio,), keep)) for ratio in ratios]
    scores = np.full((len(trace.exits), trace.candidates), np.nan)
    for row, e in zip(scores, trace.exits, strict=True):
        row[e.alive] = e.scores
    results: dict[tuple[float, ...], tuple[float, float]] = {}

    def descend(number: int, alive: np.ndarray, below: tuple[int, ...], cost: float, path: tuple[float, ...]) -> None:
        # alive: positions, ascending; below: the final places of the correct candidates dropped so far
        best_first = alive[order(scores[number, alive])]
        cost += float(depths[number] * a_layer[alive].sum()) + len(alive) * a_head
        if number == len(trace.exits) - 1:
            cost += float(rescoring[alive].sum())
            places = [*(np.flatnonzero(correct[best_first]) + 1).tolist(), *below]
            results[path] = value(np.sort(places)), cost
            return
        for ratio, cut in cuts:
            survivors = cut.count_survivors(0, len(alive))
            lower = (survivors + np.flatnonzero(correct[best_first[survivors:]]) + 1).tolist()
            descend(number + 1, np.sort(best_first[:survivors]), (*below, *lower), cost, (*path, ratio))

    # the first stage's cost, and the places of those it dropped, are the same under every schedule
    n = len(trace.entered)
    outside = (np.flatnonzero(correct[trace.ranking()[n:]]) + n + 1).tolist()
    descend(0, trace.entered, tuple(outside), float(trace.first.flops) if trace.first else 0.0, ())
    return results
