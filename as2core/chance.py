"""What a random order of the candidates is expected to reach: the row "chance" beside measured rankers.

In closed form, for n candidates of which r are correct. A candidate at place k is correct with probability r/n; of the
k - 1 before it (k - 1)(r - 1)/(n - 1) are then expected to be correct; and the first correct one stands at place k with
probability C(n - k, r - 1) / C(n, r).
"""

from __future__ import annotations

from collections.abc import Iterable
from math import comb, log2
from statistics import fmean

from as2core.metrics import MEASURES
from as2core.types import Question

MAX_CHANCE = 0.3  # of a correct candidate to be first in a random order: above, a list says little


def expect_by_chance(question: Question) -> dict[str, float]:
    """Each of `MEASURES`; 0 without a correct candidate. Grades are read as correct or not."""
    n, r = len(question.candidates), question.positives
    if not r:
        return dict.fromkeys(MEASURES, 0.0)
    places = range(1, n + 1)
    precision = [(1 + (k - 1) * (r - 1) / max(1, n - 1)) / k for k in places]  # at a place that is correct
    first = [comb(n - k, r - 1) / comb(n, r) for k in places]
    discount = [1 / log2(k + 1) for k in places[:10]]
    values = {
        "AP": sum(precision) / n,
        "RR": sum(p / k for p, k in zip(first, places, strict=True)),
        "P@1": r / n,
        "nDCG@10": r / n * sum(discount) / sum(discount[:r]),
    }
    return {name: values[name] for name in MEASURES}


def describe_short_lists(sizes: Iterable[tuple[int, int]]) -> str:
    """That lists are so short that any ranker looks good; "" where they are not. `sizes`: a question's candidates, and
    how many of them are correct."""
    lists = [(n, r) for n, r in sizes if n]
    chance = fmean(r / n for n, r in lists) if lists else 0.0
    if chance <= MAX_CHANCE:
        return ""
    length = fmean(n for n, _ in lists)
    return (
        f"There are only {length:.1f} candidates a question: even a random order puts a correct one first for "
        f"{100 * chance:.0f} % of the questions, so all figures are too high."
    )
