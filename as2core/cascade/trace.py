"""The record of one cascade run: who was scored and dropped at each exit, and what it cost.

A trace made without dropping holds every candidate's score at every exit, so it can be replayed under any schedule
without running the model: `trace.replay(DropSchedule.constant(0.4, exits=5))`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Self

import numpy as np

from as2core.cascade.schedule import DropSchedule
from as2core.cost import EncoderShape, head_flops, layer_flops
from as2core.errors import BadSetting
from as2core.metrics import order


@dataclass(frozen=True, slots=True)
class ExitRecord:
    """One exit. `alive` and `dropped` are candidate positions; `scores` are logits, aligned with `alive`. `is_counted`:
    whether `flops` are all that an encoder spent in it.

    `again` are positions whose pairs went through the whole encoder a second time, in float32 (`engine.rescore_best`).
    """

    layer: int
    alive: np.ndarray  # int (a,)
    scores: np.ndarray  # float32 (a,)
    dropped: np.ndarray  # int (d,), a subset of alive
    seconds: float  # the segment's time up to this exit; in a replay, scaled by its share of FLOPs
    tokens: int
    flops: int
    name: str = ""  # of a stage that is no layer of the encoder
    again: np.ndarray = field(default_factory=lambda: np.zeros(0, int))  # int (s,), a subset of alive
    is_counted: bool = True

    @property
    def title(self) -> str:
        return self.name or f"layer {self.layer}"

    @property
    def survivors(self) -> int:
        return len(self.alive) - len(self.dropped)


class Trace(ABC):
    """The account of one run: a record for each of its `stages`. Every candidate enters the first of them."""

    __slots__ = ()

    @property
    @abstractmethod
    def stages(self) -> tuple[ExitRecord, ...]: ...

    @property
    @abstractmethod
    def full_flops(self) -> int:
        """The FLOPs of every candidate through the whole encoder; 0 where that is not known."""

    @property
    def candidates(self) -> int:
        return len(self.stages[0].alive)

    @property
    def flops(self) -> int:
        return sum(e.flops for e in self.stages)

    @property
    def relative_cost(self) -> float:
        """FLOPs of this run over the full ones, below 1 where it saved; NaN where the full ones are not known."""
        if not self.candidates:
            return 1.0
        full = self.full_flops
        return self.flops / full if full else float("nan")

    @property
    def seconds(self) -> float:
        return sum(e.seconds for e in self.stages)

    def scores(self) -> np.ndarray:
        """One score a candidate, float32 `(n,)`: whoever reached a later stage stands above those dropped before it,
        and within a stage its own scores decide; see `block_scores`."""
        return block_scores(self.candidates, self.stages)

    def ranking(self) -> np.ndarray:
        """All candidates, best first. int `(n,)`."""
        return order(self.scores())

    def dropped_at(self) -> np.ndarray:
        """The index in `stages` of the one that dropped each candidate, -1 if it stayed to the end. int `(n,)`."""
        out = np.full(self.candidates, -1)
        for i, e in enumerate(self.stages):
            out[e.dropped] = i
        return out


@dataclass(frozen=True, slots=True)
class CascadeTrace(Trace):
    """A whole run over `n` candidates. `lengths` are tokens per (question, candidate) pair, int `(n,)`.

    `first` is a cheap ranker's cut before the encoder, if there was one. Pairs that it dropped were never tokenised:
    their lengths are estimated from their characters.
    """

    lengths: np.ndarray
    exits: tuple[ExitRecord, ...]
    schedule: DropSchedule
    shape: EncoderShape
    replayed: bool = False
    first: ExitRecord | None = None

    def latest_logits(self) -> np.ndarray:
        """Each candidate's logit at the last exit that it reached, float64 `(n,)`; -inf for those that the first stage
        dropped. Of a complete trace, those of the last exit."""
        out = np.full(self.candidates, -np.inf)
        for e in self.exits:
            out[e.alive] = e.scores
        return out

    @property
    def stages(self) -> tuple[ExitRecord, ...]:
        """All that dropped or ranked: the exits, and the cheap stage before them if there was one."""
        return self.exits if self.first is None else (self.first, *self.exits)

    @property
    def entered(self) -> np.ndarray:
        """Who got into the encoder. int `(m,)`."""
        everyone = np.arange(self.candidates)
        return everyone if self.first is None else np.setdiff1d(everyone, self.first.dropped)

    @property
    def complete(self) -> bool:
        """Whether every exit scored everyone who entered, so that any schedule can be replayed."""
        return all(len(e.alive) == len(self.entered) for e in self.exits)

    @property
    def full_flops(self) -> int:
        """What the monolithic model of the same depth costs: every candidate through every layer, one classifier. 0,
        as not to be compared with, where an encoder's FLOPs in the first stage are not counted."""
        if self.first is not None and not self.first.is_counted:
            return 0
        return self.exits[-1].layer * layer_flops(self.lengths, self.shape) + head_flops(self.candidates, self.shape)

    @property
    def cascade_cost(self) -> float:
        """FLOPs of the exits over those of the monolithic model for the candidates that entered the encoder: what the
        drops saved, the first stage apart. Without a first stage it is `relative_cost`."""
        lengths = self.lengths[self.entered]
        full = self.exits[-1].layer * layer_flops(lengths, self.shape) + head_flops(len(lengths), self.shape)
        return sum(e.flops for e in self.exits) / full if full else 1.0

    def replay(self, schedule: DropSchedule) -> Self:
        """The same run under another schedule, from the scores at hand; seconds are estimates by share of FLOPs.

        Raises BadSetting if this trace dropped candidates itself, or the schedule has another number of exits.
        """
        if not self.complete:
            raise BadSetting("this trace dropped candidates; make one with drop ratio 0 to replay it")
        if schedule.exits != len(self.exits):
            raise BadSetting(f"the schedule has {schedule.exits} exits, the cascade {len(self.exits)}")
        alive = self.entered
        exits, below = [], 0
        for i, e in enumerate(self.exits):
            scores = np.empty(self.candidates, dtype=np.float32)
            scores[e.alive] = e.scores
            again = np.intersect1d(e.again, alive)
            flops = exit_flops(below, e.layer, self.lengths[alive], self.lengths[again], self.shape)
            dropped = select_dropped(alive, scores[alive], schedule.count_survivors(i, len(alive)))
            seconds, tokens = e.seconds * flops / e.flops if e.flops else 0.0, int(self.lengths[alive].sum())
            exits.append(ExitRecord(e.layer, alive, scores[alive], dropped, seconds, tokens, flops, again=again))
            alive, below = np.setdiff1d(alive, dropped), e.layer
        return replace(self, exits=tuple(exits), schedule=schedule, replayed=True)


def exit_flops(below: int, layer: int, lengths: np.ndarray, again: np.ndarray, shape: EncoderShape) -> int:
    """A stretch from one layer to another and its classifier over pairs of these lengths; and all layers up to there
    once more for those looked at `again` (lengths, too)."""
    stretch = (layer - below) * layer_flops(lengths, shape) + head_flops(len(lengths), shape)
    return stretch + layer * layer_flops(again, shape) + head_flops(len(again), shape)


def block_scores(candidates: int, exits: Sequence[ExitRecord]) -> np.ndarray:
    """One score a candidate, float32 `(n,)`: the last exit's for those it scored, and for the dropped their scores
    at the exit that dropped them, moved down as a block so that everyone dropped earlier stands below. Scores that
    differ still do so there: what float32 would make a tie goes down by its smallest step."""
    out = np.zeros(candidates, dtype=np.float32)
    if not candidates:
        return out
    last = exits[-1]
    out[last.alive] = last.scores
    floor = float(last.scores.min())
    for e in reversed(exits[:-1]):
        if not len(e.dropped):
            continue
        at = dict(zip(e.alive.tolist(), e.scores.tolist(), strict=True))
        block = np.array([at[i] for i in e.dropped.tolist()], dtype=np.float64)
        below = float(np.nextafter(np.float32(floor), np.float32(-np.inf)))  # where one less would be a tie
        out[e.dropped] = _lower(block, min(floor - 1.0, below, float(block.max())))
        floor = float(out[e.dropped].min())
    return out


def _lower(scores: np.ndarray, top: float) -> np.ndarray:
    """The scores moved so that the best is `top`, float32, in the same order and with the same ties."""
    places = order(scores)
    moved = (scores - scores.max() + top).astype(np.float32)
    for above, below in pairwise(places.tolist()):
        if scores[below] == scores[above]:
            moved[below] = moved[above]
        elif moved[below] >= moved[above]:
            moved[below] = np.nextafter(moved[above], np.float32(-np.inf))
    return moved


def select_dropped(alive: np.ndarray, scores: np.ndarray, survivors: int) -> np.ndarray:
    """The positions of `alive` that leave when the best `survivors` stay; ties favour the earlier one. int `(d,)`."""
    return np.sort(alive[order(scores)[survivors:]])
