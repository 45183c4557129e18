"""Labels beside a chart, pushed apart so that none covers another."""

import math
from collections.abc import Sequence


def spread_labels(ranks: Sequence[float], *, height: float, low: float, high: float, gap: float = 18) -> list[float]:
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


def find_shifts(
    boxes: Sequence[tuple[float, float, float]], *, low: float = -math.inf, high: float = math.inf, gap: float = 15
) -> list[float]:
    """How many pixels to move each label up (negative) or down so that none covers another. `boxes`: left, right and
    height of its line. An earlier one is moved less; outside `low` to `high` only where nothing else is free."""
    places: list[tuple[float, float, float]] = []
    shifts = []
    for left, right, y in boxes:
        steps = sorted(range(-len(boxes), len(boxes) + 1), key=lambda k: (not low <= y + k * gap <= high, abs(k), k))
        free = (k * gap for k in steps if not any(_overlap((left, right, y + k * gap), other, gap) for other in places))
        shift = next(free, 0.0)
        places.append((left, right, y + shift))
        shifts.append(shift)
    return shifts


def _overlap(one: tuple[float, float, float], other: tuple[float, float, float], gap: float) -> bool:
    return one[0] < other[1] and other[0] < one[1] and abs(one[2] - other[2]) < gap
