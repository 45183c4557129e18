"""How many candidates leave at each exit (Cascade Transformer, section 4.3.2).

Of the k candidates alive at an exit, floor(ratio * k) are dropped. The last exit ranks and drops nothing.
Beyond the paper: one ratio per exit, and `keep`, a number of candidates below which nothing is dropped.
This class alone counts survivors.
"""

import math
from dataclasses import dataclass
from typing import Self

from as2core.errors import BadSetting


@dataclass(frozen=True, slots=True)
class DropSchedule:
    """`ratios`: the share dropped after each exit but the last, each in [0, 1)."""

    ratios: tuple[float, ...]
    keep: int = 1

    def __post_init__(self) -> None:
        for r in self.ratios:
            if not 0.0 <= r < 1.0:
                raise BadSetting(f"drop ratio {r} is outside [0, 1): give a share such as 0.3")
        if self.keep < 1:
            raise BadSetting(f"keep={self.keep}: at least one candidate has to stay")

    @classmethod
    def constant(cls, ratio: float, *, exits: int, keep: int = 1) -> Self:
        """The paper's schedule: one ratio for all `exits` (their number, the last included)."""
        return cls((float(ratio),) * (exits - 1), keep)

    @property
    def exits(self) -> int:
        return len(self.ratios) + 1

    def count_survivors(self, exit_index: int, alive: int) -> int:
        """How many of `alive` candidates stay after this exit (0-based)."""
        if exit_index >= len(self.ratios):
            return alive
        # the epsilon undoes binary fractions: 0.3 * 10 must floor to 3
        dropped = math.floor(self.ratios[exit_index] * alive + 1e-9)
        return max(alive - dropped, min(alive, self.keep))

    def survivors(self, candidates: int) -> tuple[int, ...]:
        """Candidates scored at each exit: 128 at ratio 0.3 gives (128, 90, 63, 45, 32)."""
        alive = [candidates]
        for i in range(len(self.ratios)):
            alive.append(self.count_survivors(i, alive[-1]))
        return tuple(alive)
