"""When a finding of a paper holds here: if the interval over questions and seeds lies where the finding says, and
excludes the other side. What the interval does not exclude is undecided, never a yes or a no by a bare `<`.

A finding is one or more differences between systems, each said to lie in a region: above 0, above a margin, within a
margin. It holds if every interval lies inside its region, does not hold if one lies wholly outside, and is undecided
otherwise. With several differences the intervals are simultaneous (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from as2core.experiments.uncertainty import LEVEL, Estimate, estimate_mean

HOLDS, UNDECIDED, FAILS, NOT_RUN = "holds", "undecided", "does not hold", "not run"
VERDICTS = (HOLDS, UNDECIDED, FAILS, NOT_RUN)

ValuesByMeasure = Mapping[str, Mapping[str, float]]  # measure -> qid -> value


@dataclass(frozen=True, slots=True)
class Row:
    """One finding: what the paper says, what came out here and how ours differs, one of VERDICTS, and why."""

    finding: str
    paper: str
    ours: str
    differs: str
    verdict: str
    why: str = ""


@dataclass(slots=True)
class Samples:
    """What every system reached: by its name and seed (None: nothing was drawn), each measure by question."""

    systems: dict[str, dict[int | None, ValuesByMeasure]] = field(default_factory=dict)

    def add(self, system: str, seed: int | None, values: ValuesByMeasure) -> None:
        self.systems.setdefault(system, {})[seed] = values

    def table(self, system: str, measure: str, seeds: Sequence[int | None]) -> np.ndarray:
        """`(seeds, questions)`, questions in one order for all systems; what was not drawn counts for every seed."""
        by_seed = self.systems[system]
        values = [by_seed[None if None in by_seed else seed][measure] for seed in seeds]
        qids = sorted(values[0])
        return np.array([[v[qid] for qid in qids] for v in values])

    def seeds(self, systems: Iterable[str]) -> list[int | None]:
        """Those that all these systems have; [None] where none of them was drawn, [] where one was not run."""
        each = [set(self.systems.get(name, ())) for name in systems]
        by_seed = [seeds for seeds in each if None not in seeds]
        if not all(each):
            return []
        return sorted(set.intersection(*by_seed), key=str) if by_seed else [None]


@dataclass(frozen=True, slots=True)
class Part:
    """A weighted sum of systems' means, and the region in which the finding says that it is; None: it has no end
    there."""

    weights: Mapping[str, float]
    low: float | None = None
    high: float | None = None
    measure: str = "AP"

    def estimate(self, samples: Samples, level: float) -> Estimate | None:
        """None where a system was not run."""
        if not (seeds := samples.seeds(self.weights)):
            return None
        tables = [w * samples.table(name, self.measure, seeds) for name, w in self.weights.items()]
        return estimate_mean(np.sum(tables, axis=0), level=level)

    def verdict(self, e: Estimate, *, is_drawn: bool) -> tuple[str, str]:
        """The verdict on one difference, and why. `is_drawn`: some system was trained from a seed."""
        low, high = (-math.inf if self.low is None else self.low), (math.inf if self.high is None else self.high)
        if is_drawn and e.seeds == 1:
            return UNDECIDED, "one seed says nothing about another training"
        if e.low is None or e.high is None:
            return UNDECIDED, "a single value has no interval"
        if low < e.low and e.high < high:
            return HOLDS, f"the interval lies {self._region()}"
        if e.high <= low or e.low >= high:
            return FAILS, f"the paper says {self._region()}, and the whole interval lies outside"
        bound = low if e.low <= low < e.high else high
        return UNDECIDED, f"the interval contains {bound:g}; {e.detectable:.3f} away from it would have been detected"

    def _region(self) -> str:
        if self.low is None or self.high is None:
            return f"above {self.low:g}" if self.high is None else f"below {self.high:g}"
        return f"between {self.low:g} and {self.high:g}"


def exceeds(a: str, b: str, by: float = 0.0, measure: str = "AP") -> Part:
    """a is better than b by more than this; with a negative number, worse by less."""
    return Part({a: 1.0, b: -1.0}, low=by, measure=measure)


def is_close(a: str, b: str, within: float, measure: str = "AP") -> Part:
    return Part({a: 1.0, b: -1.0}, low=-within, high=within, measure=measure)


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of a paper, its figures there, and the parts that it says; `differs`: what is special about ours.
    `missing`: why it is not run here, where it has no parts or there are no figures of one."""

    text: str
    paper: str
    parts: tuple[Part, ...] = ()
    differs: str = ""
    missing: str = ""

    def judge(self, samples: Samples, setting: str) -> Row:
        """The row of this finding; NOT_RUN where a system is missing."""
        if not self.parts:
            return Row(self.text, self.paper, NOT_RUN, "nothing of it is run", NOT_RUN, self.missing)
        differs = "; ".join(filter(None, [self.differs, setting]))
        level = 1 - (1 - LEVEL) / len(self.parts)
        estimates = [part.estimate(samples, level) for part in self.parts]
        missing = sorted({n for p in self.parts for n in p.weights if n not in samples.systems})
        pairs = [(p, e) for p, e in zip(self.parts, estimates, strict=True) if e is not None]
        if len(pairs) < len(self.parts):
            why = self.missing or f"no figures yet of {', '.join(missing)}"
            return Row(self.text, self.paper, NOT_RUN, differs, NOT_RUN, why)
        verdicts = [p.verdict(e, is_drawn=samples.seeds(p.weights) != [None]) for p, e in pairs]
        verdict, why = combine(verdicts)
        return Row(self.text, self.paper, "; ".join(_describe(p, e, samples) for p, e in pairs), differs, verdict, why)


def combine(verdicts: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """The verdict on parts that all have to hold, and the reasons of those that decide it."""
    labels = {v for v, _ in verdicts}
    verdict = next(v for v in (NOT_RUN, FAILS, UNDECIDED, HOLDS) if v in labels)
    reasons = dict.fromkeys(why for v, why in verdicts if v == verdict)
    return verdict, "; ".join(reasons)


def _describe(part: Part, e: Estimate, samples: Samples) -> str:
    """`Cosinet .740, WO+RR .657: +.083 (+.041 to +.125)`."""
    seeds = samples.seeds(part.weights)
    means = [f"{name} {shorten(samples.table(name, part.measure, seeds).mean())}" for name in part.weights]
    over = "" if seeds == [None] else f", {len(seeds)} seed{'s' * (len(seeds) > 1)}"
    return f"{part.measure} {', '.join(means)}: {format_estimate(e)}{over}"


def format_estimate(e: Estimate, *, sign: str = "+") -> str:
    """`+.083 (+.041 to +.125)`; without a sign for a mean that is no difference."""
    if e.low is None or e.high is None:
        return shorten(e.mean, sign)
    return f"{shorten(e.mean, sign)} ({shorten(e.low, sign)} to {shorten(e.high, sign)})"


def shorten(value: float, sign: str = "-") -> str:
    """Three digits without the leading zero: `.713`."""
    return f"{value:{sign}.3f}".replace("0.", ".", 1)
