"""Labels beside a chart, pushed apart so that none covers another."""

from __future__ import annotations

import math
from collections.abc import Sequence


def pushed_apart(ranks: Sequence[float], *, height: float, low: float, high: float, gap: float = 18) -> list[float]:
    """Where to write labels for these ranks on a log axis from `low` (top) to `high` (bottom), `height` pixels tall.

    Returns one rank-space position per input, in input order: never closer than `gap` pixels, inside the axis as long
    as they fit, and otherwise as near their own rank as pushing downwards and then upwards leaves them.
    """
    span = math.log(high / low)
    at = sorted(range(len(ranks)), key=lambda i: ranks[i])
    pixels, last = {}, -math.inf
    for i in at:
        last = max(math.log(ranks[i] / low) / span * height, last + gap)
        pixels[i] = last
    ceiling = height
    for i in reversed(at):  # what ran out at the bottom is pushed back up
        if pixels[i] <= ceiling:
            break
        pixels[i] = ceiling
        ceiling -= gap
    return [low * math.exp(pixels[i] / height * span) for i in range(len(ranks))]
