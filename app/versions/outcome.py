"""Is a version better than the one it was made from? The one rule for the card, the notice, promotions and the command.

Average precision on the held-out questions decides. The paired randomisation test says whether a change is more than
chance; see docs/decisions/0026-one-rule-for-better.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from as2core.metrics import PairedTest

SIGNIFICANCE = 0.05
MIN_CHANGED_QUESTIONS = 6  # fewer cannot be significant: six of six have p = 2 / 2**6 = 0.03


class Outcome(StrEnum):
    BETTER = "better"
    UNCLEAR = "unclear"
    WORSE = "worse"


@dataclass(frozen=True, slots=True)
class Change:
    """AP on the held-out questions, `before` (the parent) and `after` (the version). `outcome` is UNCLEAR where the
    paired test finds no significant difference, or is not known."""

    before: float
    after: float
    outcome: Outcome = Outcome.UNCLEAR

    @property
    def is_gain(self) -> bool:
        return self.after > self.before

    @property
    def is_loss(self) -> bool:
        """Such a version is promoted only with a reason."""
        return self.after < self.before


def find_outcome(test: PairedTest) -> Outcome:
    changes = test.wins + test.losses
    if changes < MIN_CHANGED_QUESTIONS or test.p >= SIGNIFICANCE:
        return Outcome.UNCLEAR
    return Outcome.BETTER if test.difference > 0 else Outcome.WORSE


def compare_with_parent(metrics: Mapping[str, float], test: PairedTest | None = None) -> Change | None:
    """From a version's stored `metrics` ("AP" and "before AP"); None for one without a parent's figures, such as a
    shipped one."""
    if "AP" not in metrics or "before AP" not in metrics:
        return None
    outcome = find_outcome(test) if test is not None else Outcome.UNCLEAR
    return Change(metrics["before AP"], metrics["AP"], outcome)
