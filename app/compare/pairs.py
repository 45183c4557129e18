"""The paired tests between the rankers of a comparison, on any metric.

The job stores those of every metric. A comparison of an older program has those of AP alone: the others are tested when
they are asked for, on its values by question, and kept in memory, because a page is drawn again at every click.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from itertools import combinations

import numpy as np

from app.compare.sweeps import adjust_p_values, split_families
from as2core.metrics import (
    MEASURES,
    PairedTest,
    find_detectable_difference,
    find_effect_size,
    find_sample_size,
    paired_test,
)
from db.models import JsonObject

WANTED_DIFFERENCE = 0.02  # that comparisons are planned for
MAX_CACHED_FAMILIES = 16  # of a comparison and a metric each
Values = Mapping[str, Mapping[str, Mapping[str, float]]]  # ranker -> metric -> question id -> value


@dataclass(frozen=True, slots=True)
class PairedResult:
    """The paired test between two rankers; `test.difference` is the mean of a minus that of b. `holm`: its p for its
    family of `family_size` pairs: all of the rankers chosen, or all with a ratio of a sweep; `effect`: Cohen's d_z;
    `detectable`: the smallest difference that these questions would have shown in 80 of 100 cases; `sample_size`: how
    many questions a difference of `WANTED_DIFFERENCE` takes. None where not known."""

    a: str
    b: str
    metric: str
    test: PairedTest
    holm: float | None = None
    effect: float | None = None
    detectable: float | None = None
    sample_size: int | None = None
    family_size: int = 1


def compare_pairs(per_question: Values, metric: str, check: Callable[[], None] = lambda: None) -> list[JsonObject]:
    """A paired test for every two rankers that have values of the same questions, the better one first; as stored.
    `check` is called before each and may raise to stop."""
    values = {name: metrics[metric] for name, metrics in per_question.items() if metrics.get(metric)}
    records: list[JsonObject] = []
    for a, b in combinations(sorted(values, key=lambda name: -float(np.mean([*values[name].values()]))), 2):
        check()
        if values[a].keys() == values[b].keys():
            records.append({"a": a, "b": b, "metric": metric, **asdict(paired_test(values[a], values[b]))})
    return records


@dataclass(frozen=True, slots=True, eq=False)
class PairsByMetric(Mapping[str, tuple[PairedResult, ...]]):
    """Metric -> its tests, made when asked for; () where neither tests nor values of it are stored."""

    records: Sequence[JsonObject]
    per_question: Values

    def __getitem__(self, metric: str) -> tuple[PairedResult, ...]:
        records = tuple(r for r in self.records if r["metric"] == metric)
        values = {name: metrics[metric] for name, metrics in self.per_question.items() if metric in metrics}
        digest = hashlib.blake2b(repr((metric, records)).encode())
        for name, by_qid in values.items():
            digest.update(name.encode() + np.fromiter(by_qid.values(), dtype=np.float64).tobytes())
        return _read_pairs(_Family(digest.digest(), metric, records, values))

    def __iter__(self) -> Iterator[str]:
        return iter(MEASURES)

    def __len__(self) -> int:
        return len(MEASURES)


@dataclass(frozen=True, slots=True)
class _Family:
    """What the tests of a metric are made of. Two with the same digest are equal."""

    digest: bytes
    metric: str = field(compare=False)
    records: tuple[JsonObject, ...] = field(compare=False)
    values: Mapping[str, Mapping[str, float]] = field(compare=False)


@lru_cache(maxsize=MAX_CACHED_FAMILIES)
def _read_pairs(family: _Family) -> tuple[PairedResult, ...]:
    metric, pairs = family.metric, []
    records = family.records or compare_pairs({name: {metric: v} for name, v in family.values.items()}, metric)
    sides = [(str(r["a"]), str(r["b"])) for r in records]
    tests = [PairedTest.from_record(r) for r in records]
    holm_values, families = adjust_p_values(sides, [test.p for test in tests]), split_families(sides)
    sizes = Counter(families)
    for (a, b), test, holm, in_sweep in zip(sides, tests, holm_values, families, strict=True):
        differences = _subtract(family.values.get(a, {}), family.values.get(b, {}))
        pairs.append(
            PairedResult(
                a, b, metric, test, holm,
                effect=find_effect_size(differences),
                detectable=find_detectable_difference(differences),
                sample_size=find_sample_size(differences, WANTED_DIFFERENCE),
                family_size=sizes[in_sweep],
            )
        )  # fmt: skip
    return tuple(pairs)


def _subtract(a: Mapping[str, float], b: Mapping[str, float]) -> list[float]:
    return [a[qid] - b[qid] for qid in a if qid in b]
