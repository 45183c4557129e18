"""What a forward pass costs, counted from shapes (multiply and add are two operations).

A layer over a sequence of L tokens, width d, inner width f: projections 8Ld^2, attention 4L^2d, feed-forward 4Ldf.
Softmax, norms and activations are left out, as is usual. Padding is not counted: it is the engine's waste, not work.
"""

from __future__ import annotations

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
