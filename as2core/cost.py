"""What a forward pass costs, counted from shapes (multiply and add are two operations).

A layer over a sequence of L tokens, width d, inner width f: projections 8Ld^2, attention 4L^2d, feed-forward 4Ldf.
Softmax, norms and activations are left out, as is usual. Padding is not counted: it is the engine's waste, not work.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class EncoderShape:
    """The sizes that decide the cost: width d, inner width f, number of layers."""

    hidden: int
    inner: int
    layers: int


def layer_flops(lengths: np.ndarray, shape: EncoderShape) -> int:
    """FLOPs of one encoder layer over sequences of these lengths (tokens), int `(n,)`."""
    n = np.asarray(lengths, dtype=np.int64)
    linear = int(n.sum()) * (8 * shape.hidden**2 + 4 * shape.hidden * shape.inner)
    return linear + 4 * shape.hidden * int((n * n).sum())


def head_flops(candidates: int, shape: EncoderShape) -> int:
    """FLOPs of one exit's classifier: two hidden layers and an output unit."""
    return candidates * (4 * shape.hidden**2 + 2 * shape.hidden)


def cascade_cost(layers: Sequence[int], alive: Sequence[float]) -> float:
    """A cascade's cost over the monolithic model's, by layers walked (Soldaini and Moschitti, 2020, Table 3).

    `layers` are the exits' depths, `alive` how many candidates (or which share of them) each exit scores; all of one
    length, classifiers aside. Ratio 0.3 gives 0.63.
    """
    steps = np.diff([0, *layers])
    return float(steps @ np.asarray(alive, dtype=np.float64)) / (layers[-1] * alive[0])


def sequential_cost(layers: Sequence[int], alive: Sequence[float]) -> float:
    """The same for independent models of these depths in a row: each starts again at the embeddings."""
    return float(np.asarray(layers) @ np.asarray(alive, dtype=np.float64)) / (layers[-1] * alive[0])


def average_batch(layers: Sequence[int], alive: Sequence[float]) -> float:
    """How many candidates a cascade holds on average, by layers (section 4.3.2): memory is planned by it, so that
    128 candidates fit where a monolithic model fits 84."""
    return cascade_cost(layers, alive) * alive[0]


def pareto(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Which (cost, value) points are on the front: no other is at most as dear and at least as good, and better in
    one of the two."""
    front, best = [False] * len(points), -np.inf
    by_cost = sorted(range(len(points)), key=lambda i: (points[i][0], -points[i][1]))
    level = None
    for i in by_cost:
        if points[i][1] > best or points[i] == level:
            front[i], best, level = True, points[i][1], points[i]
    return front
