"""The Sequential Reranker: rankers in a row, each passing on the best of those it was given.

SR = R_N o ... o R_1, cheap rankers first (Matsubara et al., 2020, section 3.2; Soldaini and Moschitti, 2020, sections
3.2 and 4.2, where the R_i are independently trained encoders of growing depth). A stage keeps a fixed number k or a
share of those alive; the last one orders what is left. Every ranker can be a stage: it gets the survivors in their
original order, which listwise rankers need.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import ExitRecord, Trace
from as2core.errors import BadSetting
from as2core.rankers.base import CountsFlops, KeepsTrace, MadeOfRankers, Ranker, hides_encoder
from as2core.rankers.first_stage import run_stage
from as2core.rankers.specs import RERANK, BuiltPart, Entry
from as2core.types import Candidate


@dataclass(frozen=True, slots=True)
class Stage:
    """A ranker and what it keeps: a number of candidates (int), a share of those alive (float), or all (None).

    A share s drops floor((1 - s) k) of k, as the cascade's ratio 1 - s does. Raises BadSetting.
    """

    ranker: Ranker
    keep: int | float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.keep, int) and self.keep < 1:
            raise BadSetting(f"a stage that keeps {self.keep} leaves nothing: give at least 1")
        if isinstance(self.keep, float) and not 0.0 < self.keep <= 1.0:
            raise BadSetting(f"a stage cannot keep the share {self.keep}: give one above 0 and up to 1, such as 0.5")

    def count_survivors(self, alive: int) -> int:
        """How many of `alive` candidates it passes on."""
        if self.keep is None:
            return alive
        if isinstance(self.keep, int):
            return min(self.keep, alive)
        return DropSchedule((1.0 - self.keep,)).count_survivors(0, alive)


@dataclass(frozen=True, slots=True)
class SequentialTrace(Trace):
    """The account of one run, with a record a stage as a `CascadeTrace` has one an exit.

    `uncounted` names the stages that keep no account of FLOPs and count as free; their seconds are in their records.
    Where an encoder works in one of them the cost as a whole is not known.
    """

    exits: tuple[ExitRecord, ...]
    uncounted: tuple[str, ...]
    monolithic: Callable[[], int] = field(repr=False, compare=False)  # it tokenises every candidate

    @property
    def stages(self) -> tuple[ExitRecord, ...]:
        """The same as `exits`; a CascadeTrace may have a stage more."""
        return self.exits

    @property
    def full_flops(self) -> int:
        """The last stage's ranker over every candidate; 0 where nothing is to be compared: no encoder works in it, or
        `flops` leave one out. Worked out when asked: no ranking waits for it."""
        return self.monolithic()


class SequentialRanker(KeepsTrace, MadeOfRankers):
    """`stages` from the cheapest to the best. Raises BadSetting without any."""

    def __init__(self, stages: Sequence[Stage], *, name: str = "sequential") -> None:
        if not stages:
            raise BadSetting("a sequential ranker without stages ranks nothing: give it one or more")
        self.stages, self.name, self.rankers = tuple(stages), name, tuple(s.ranker for s in stages)

    def trace(self, question: str, candidates: Sequence[Candidate]) -> SequentialTrace:
        records = self._run(question, candidates)
        uncounted = tuple(r.name for r in self.rankers if not isinstance(r, CountsFlops))
        return SequentialTrace(records, uncounted, partial(self.full_flops, question, candidates))

    def full_flops(self, question: str, candidates: Sequence[Candidate]) -> int:
        """Of the last ranker alone over every candidate; 0 if it runs no encoder, or another's cost is not counted."""
        last = self.rankers[-1]
        if isinstance(last, CountsFlops) and not any(map(hides_encoder, self.rankers)):
            return last.full_flops(question, candidates)
        return 0

    def _run(self, question: str, candidates: Sequence[Candidate]) -> tuple[ExitRecord, ...]:
        alive, records = np.arange(len(candidates)), []
        for number, stage in enumerate(self.stages, 1):
            survivors = stage.count_survivors(len(alive))
            records.append(run_stage(number, stage.ranker, question, candidates, alive, survivors))
            alive = np.setdiff1d(alive, records[-1].dropped)
        return tuple(records)


def build(*, stages: str | list[BuiltPart] = "jaccard@100+cascade") -> SequentialRanker:
    assert not isinstance(stages, str)  # the catalog has built them
    return SequentialRanker([Stage(part.ranker, part.keep) for part in stages])


RANKER = Entry("sequential", "rankers in a row, each keeps its best", RERANK, build, nested="stages")
