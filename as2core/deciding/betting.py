"""A confidence interval that holds at every look: a person may ask after each label and stop when the answer pleases.

Each possible mean m is tested by betting against it (Waudby-Smith and Ramdas, "Estimating means of bounded random
variables by betting", JRSS B 2024). A gambler starts with 1 and, before each draw, stakes a part of the fortune on the
estimate being above m, such that the fortune stays positive whatever comes. If the mean is m or less, the fortune is a
supermartingale: the chance that it ever reaches 1/alpha is at most alpha (Ville, 1939). So m is excluded when it has
reached 2/alpha; the same with bets below m. No normal approximation, no number of looks to plan.

The stake is not tuned: the fortune is divided among gamblers who stake different parts, and their mean counts. The
bounds of an estimate differ from draw to draw (`draws`), and so do the stakes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

STAKES = np.array([0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 0.95])  # of what could be lost
TINY = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Bets:
    """Log fortunes `(gamblers, means)` of those who bet above each of `means`, and below it."""

    means: np.ndarray
    above: np.ndarray
    below: np.ndarray

    @classmethod
    def start(cls, means: np.ndarray) -> Bets:
        """Before the first estimate, with `means` `(means,)` in any order."""
        fortunes = np.zeros((len(STAKES), len(means)))
        return cls(np.sort(means), fortunes, fortunes)

    def see(self, estimate: float, low: float, high: float) -> Bets:
        """After an estimate that had to lie between `low` and `high`."""
        return Bets(
            self.means,
            self.above + _log_gain(estimate - self.means, self.means - low),
            self.below + _log_gain(self.means - estimate, high - self.means),
        )

    @property
    def log_above(self) -> np.ndarray:
        """How strongly the data speak for a mean above each of `means`: the log of the gamblers' mean fortune,
        `(means,)`."""
        return _log_mean(self.above)

    @property
    def log_below(self) -> np.ndarray:
        """For a mean below each of them."""
        return _log_mean(self.below)

    def interval(self, level: float) -> tuple[float, float]:
        """Between the means that are not excluded, to the step of `means`; both ends are rounded outwards."""
        limit = np.log(2 / (1 - level))
        is_open = np.flatnonzero((self.log_above < limit) & (self.log_below < limit))
        if not len(is_open):  # between two of them
            crossing = int(np.argmax(self.log_above < limit)) if (self.log_above < limit).any() else len(self.means) - 1
            is_open = np.array([crossing])
        first, last = max(is_open[0] - 1, 0), min(is_open[-1] + 1, len(self.means) - 1)
        return float(self.means[first]), float(self.means[last])


def _log_gain(gain: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Of what is won, and of the most that could be lost, by mean: `(gamblers, means)`. Where nothing could be lost the
    mean is impossible, and any gain shows it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(loss > TINY, np.maximum(gain / loss, -1.0), np.where(gain > TINY, np.inf, 0.0))
    return np.log1p(STAKES[:, None] * ratio)


def _log_mean(fortunes: np.ndarray) -> np.ndarray:
    top = fortunes.max(0)
    with np.errstate(invalid="ignore"):
        spread = np.exp(np.where(np.isinf(top), 0.0, fortunes - top))
    return top + np.log(spread.mean(0))
