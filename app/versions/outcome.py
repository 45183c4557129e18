"""Is a version better than the one it was made from? The one rule for the card, the form, the list, the notice,
promotions, automatic retraining and the commands.

The paired test of their average precision on the held-out questions decides, by the rule of `find_outcome`; what was
forgotten on the frozen benchmarks speaks against it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError

from app.versions.benchmarks import FROZEN, TITLES
from as2core.evaluation.rankers import Outcome, find_outcome
from as2core.metrics import PairedTest

MAX_FORGOTTEN_POINTS = 2.0  # of AP on a frozen benchmark; automatic retraining rejects a version that loses more
MIN_FULL_AP = 0.9995  # what three digits show as 1.000
COMPARISON_KEYS = ("paired", "frozen", "frozen_others")  # of a card, and of a version's stored metrics


@dataclass(frozen=True, slots=True)
class Change:
    """AP on the compared `questions`, `before` (the parent) and `after` (the version). Where no paired test is known,
    `outcome` is UNCLEAR and `questions` 0. `losses`: frozen benchmark -> points of AP lost, where that is more than
    MAX_FORGOTTEN_POINTS."""

    before: float
    after: float
    outcome: Outcome = Outcome.UNCLEAR
    losses: Mapping[str, float] = field(default_factory=dict)
    questions: int = 0

    @property
    def headline(self) -> str:
        """`No clear difference on 9 questions`"""
        return self._add_questions(self.outcome.capitalize())

    @property
    def is_clear_gain(self) -> bool:
        """Better, and nothing of note forgotten."""
        return self.outcome is Outcome.BETTER and not self.losses

    @property
    def is_full_before(self) -> bool:
        """Whether nothing was left to gain on these questions."""
        return self.before > MIN_FULL_AP

    @property
    def is_full_after(self) -> bool:
        return self.after > MIN_FULL_AP

    @property
    def is_worse(self) -> bool:
        return self.outcome is Outcome.WORSE

    @property
    def objection(self) -> str:
        """Why it is never promoted automatically; "" if nothing speaks against it."""
        reasons = [f"AP fell by {n:.1f} points on the frozen benchmark {name}" for name, n in self.losses.items()]
        if self.is_worse:
            reasons.insert(0, f"{self._add_questions('worse')} (AP {self.before:.3f} → {self.after:.3f})")
        return "; ".join(reasons)

    def _add_questions(self, outcome: str) -> str:
        if not self.questions:
            return outcome
        return f"{outcome} on {self.questions:,} question{'' if self.questions == 1 else 's'}"


def count_lost_points(before: float, after: float) -> float:
    """Of AP; below 0 where it rose."""
    return 100 * (before - after)


def is_forgetting(points: float) -> bool:
    """Whether to lose so many points of AP on a frozen benchmark counts as forgetting."""
    return points > MAX_FORGOTTEN_POINTS


def find_change(
    before: float, after: float, test: PairedTest | None, benchmarks: Mapping[str, tuple[float, float]]
) -> Change:
    """`benchmarks`: frozen benchmark -> AP before and after."""
    falls = {TITLES.get(name, name): count_lost_points(*sides) for name, sides in benchmarks.items()}
    losses = {name: points for name, points in falls.items() if is_forgetting(points)}
    if test is None:
        return Change(before, after, losses=losses)
    return Change(before, after, find_outcome(test), losses, test.questions)


def compare_with_parent(record: Mapping[str, object]) -> Change | None:
    """From a version's stored metrics: "AP", "before AP", and COMPARISON_KEYS as its card has them. None for one
    without a parent's figures, such as a shipped one."""
    before, after = record.get("before AP"), record.get("AP")
    if not isinstance(before, int | float) or not isinstance(after, int | float):
        return None
    sides = {FROZEN: record.get("frozen"), **_as_dict(record.get("frozen_others"))}
    values = {name: (_read_ap(pair, "before"), _read_ap(pair, "after")) for name, pair in sides.items()}
    benchmarks = {name: (b, a) for name, (b, a) in values.items() if b is not None and a is not None}
    return find_change(before, after, _read_test(record.get("paired")), benchmarks)


def _read_test(record: object) -> PairedTest | None:
    """None for one that is missing, or that another program wrote otherwise."""
    try:
        return _TEST.validate_python(record)
    except ValidationError:
        return None


def _read_ap(pair: object, side: str) -> float | None:
    value = _as_dict(_as_dict(pair).get(side)).get("AP")
    return float(value) if isinstance(value, int | float) else None


def _as_dict(record: object) -> Mapping[str, object]:
    return record if isinstance(record, Mapping) else {}


_TEST = TypeAdapter(PairedTest)
