"""A sweep: one cascade at several drop ratios. What its rankers are called, and how their pairs are tested."""

import re
from collections import Counter
from collections.abc import Collection, Sequence

from as2core.metrics import adjust_by_holm

SWEEP_RATIOS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)  # of the candidates, dropped at every exit


def make_spec(cascade: str, ratio: float) -> str:
    """A cascade at one ratio of the sweep."""
    return f"{cascade}:drop_ratio={ratio:g}"


def parse_ratio(ranker: str) -> tuple[str, float] | None:
    """The cascade and the ratio of a sweep's ranker; None for any other."""
    match = re.fullmatch(r"(.+):drop_ratio=((?:\d*\.)?\d+)", ranker)
    return (match[1], float(match[2])) if match else None


def find_sweep_rankers(rankers: Collection[str]) -> frozenset[str]:
    """Those that belong to a sweep; a cascade at a single ratio is none."""
    cascades = {ranker: ratio[0] for ranker in rankers if (ratio := parse_ratio(ranker))}
    counts = Counter(cascades.values())
    return frozenset(ranker for ranker, cascade in cascades.items() if counts[cascade] > 1)


def split_families(pairs: Sequence[tuple[str, str]]) -> list[bool]:
    """Whether each pair is of a sweep's family. A sweep's ratios are one model many times, so their pairs are a family
    apart and do not count against those of the rankers that somebody chose to compare."""
    in_sweeps = find_sweep_rankers([*dict.fromkeys(name for pair in pairs for name in pair)])
    return [bool(in_sweeps.intersection(pair)) for pair in pairs]


def adjust_p_values(pairs: Sequence[tuple[str, str]], p_values: Sequence[float]) -> list[float]:
    """Each pair's p by Holm's method, in its own family."""
    families = split_families(pairs)
    p_values_of = {
        family: iter(adjust_by_holm([p for p, own in zip(p_values, families, strict=True) if own is family]))
        for family in (False, True)
    }
    return [next(p_values_of[family]) for family in families]
