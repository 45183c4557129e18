"""The cascade chart: one line a candidate, its rank at every exit, ending where it was dropped.

x: retrieval, then the exits, each with how many candidates entered and stayed. y: rank, downwards on a log axis, so a
constant drop ratio is a straight edge. Pale band: remaining. Bar: the cut. Grey lines end in a tick where the candidate
was dropped. Green diamond: correct and returned; blue: returned; orange dashes with a cross: a correct answer dropped.

The last exit drops nothing and has no bar: candidates that are not among the answers shown end there with a tick. At
most `MAX_LINES` grey lines are drawn, because 1,300 block a browser for three seconds; the ticks are drawn for all.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from app.ui.charts import cascade_marks as marks
from app.ui.charts.cascade_marks import DROPPED, LOST, RETURNED, RIGHT
from app.ui.charts.labels import spread_labels
from app.ui.text import count, shorten
from as2core.cascade.trace import CascadeTrace

if TYPE_CHECKING:
    from as2core.rankers.sequential import SequentialTrace

MAX_LINES = 300
Place = Callable[[list[int]], list[float]]
TYPES = {  # of the columns; the others are float
    **dict.fromkeys(("cand", "x"), pa.int32()),
    **dict.fromkeys(("kind", "text", "fate", "name", "flow", "narrow", "label"), pa.string()),
}


class Stop(NamedTuple):
    """A candidate at a column of the picture: 0 is retrieval, exits count from 1. `stays`: it isn't cut there."""

    cand: int
    x: int
    rank: int
    stays: bool


class Cut(NamedTuple):
    """An exit: its column and title ("layer 4"), how many entered and stayed, and at the last how many are shown."""

    x: int
    title: str
    entered: int
    kept: int
    shown: int | None = None

    @property
    def drops(self) -> bool:
        return self.kept < self.entered

    @property
    def flow(self) -> tuple[str, str]:
        """In two parts: `25`, `→ 18`; at the last exit, if it scored more than are shown: `best 5`, `of 25`."""
        if self.shown is not None and self.shown < self.kept:
            return f"best {self.shown:,}", f"of {self.kept:,}"
        return f"{self.entered:,}", f"→ {self.kept:,}"


@dataclass(frozen=True, slots=True)
class Picture:
    """What is drawn; `kinds` (of cascade_marks.KINDS), `texts` and `fates` by candidate."""

    stops: tuple[Stop, ...]
    cuts: tuple[Cut, ...]
    kinds: tuple[str, ...]
    texts: tuple[str, ...]
    fates: tuple[str, ...]

    @property
    def lost(self) -> int:
        return self.kinds.count(LOST)


def make_picture(
    trace: "CascadeTrace | SequentialTrace",
    *,
    texts: Sequence[str],
    retrieval_ranks: Sequence[int],
    correct: Collection[int] = (),
    returned: int = 5,
) -> Picture:
    """Turn a run into ranks: `correct` are candidate positions, the last exit's best `returned` count as returned."""
    stops = [Stop(c, 0, int(rank), True) for c, rank in enumerate(retrieval_ranks)]
    cuts, fates = [], [""] * trace.candidates
    for x, e in enumerate(trace.stages, start=1):
        best_first = e.alive[np.argsort(-e.scores.astype(np.float64), kind="stable")].tolist()
        last = x == len(trace.stages)
        kept = min(returned, len(best_first)) if last else e.survivors
        cuts.append(Cut(x, e.title, len(best_first), e.survivors, kept if last else None))
        for rank, c in enumerate(best_first, start=1):
            stops.append(Stop(c, x, rank, rank <= kept))
            gone = f"rank {rank} at the end" if last else f"dropped after {e.title}"
            fates[c] = f"returned, rank {rank}" if rank <= kept else gone
    dropped = {s.cand for s in stops if not s.stays}
    kinds = tuple(_kind(c in correct, c in dropped) for c in range(trace.candidates))
    return Picture(tuple(stops), tuple(cuts), kinds, tuple(shorten(t, 110) for t in texts), tuple(fates))


def _kind(correct: bool, dropped: bool) -> str:
    if correct:
        return LOST if dropped else RIGHT
    return DROPPED if dropped else RETURNED


def describe_picture(p: Picture) -> str:
    """The chart in words, for screen readers."""
    steps = "; ".join(f"{c.title}: {' '.join(c.flow).replace('→', 'to')}" for c in p.cuts)
    lost = f" Dropped or not shown: {count(p.lost, 'correct answer')}." if p.lost else ""
    return f"Rank of {count(len(p.kinds), 'candidate')} at each exit. {steps}.{lost} The table below shows the same."


def cascade_chart(p: Picture, *, chosen: int | None = None, seed: int = 0) -> dict[str, object]:
    """A Vega-Lite spec for `st.vega_lite_chart(None, spec, on_select=..., selection_mode="pick")`.

    The point selection `pick` has the candidate's position as `cand`; `chosen` is drawn over the others in violet.
    Everything that a replay changes is in the spec's data sets, so the browser updates the existing drawing.
    """
    candidates, exits = len(p.kinds), len(p.cuts)
    dropped = [c for c, kind in enumerate(p.kinds) if kind == DROPPED]
    if len(dropped) > MAX_LINES:
        dropped = np.random.default_rng(seed).choice(dropped, MAX_LINES, replace=False).tolist()
    drawn = set(dropped)
    grey = [s for s in p.stops if s.cand in drawn]
    highlighted = [s for s in p.stops if p.kinds[s.cand] != DROPPED]
    height = marks.HEIGHT_PIXELS - marks.FOOT_PIXELS
    place = partial(spread_labels, height=height, low=marks.MIN_RANK, high=marks.max_rank(candidates))
    spec = dict(marks.make_template(tuple(c.title for c in p.cuts), candidates, candidates > MAX_LINES))
    spec["datasets"] = {
        "edge": _edge(p.cuts, candidates),
        "cuts": _table(x=[c.x for c in p.cuts if c.drops], rank=[c.kept + 0.5 for c in p.cuts if c.drops]),
        "feet": _feet(p.cuts),
        "grey": _stops(p, grey),
        "ends": _stops(p, (s for s in p.stops if not s.stays and p.kinds[s.cand] == DROPPED)),
        "highlighted": _stops(p, highlighted),
        "points": _stops(p, (s for s in highlighted if s.stays)),
        "lost": _lost(p, highlighted, exits, place),
        "labels": _labels(p, highlighted, exits, place),
        "chosen": _stops(p, (s for s in p.stops if s.cand == chosen)),
        "targets": _targets(p, [*grey, *highlighted]),
    }
    return spec


def _table(**columns: list) -> pa.Table:
    """Arrow, not pandas: eleven small data frames take a tenth of a second in every replay."""
    return pa.table({name: pa.array(values, TYPES.get(name, pa.float64())) for name, values in columns.items()})


def _stops(p: Picture, stops: Iterable[Stop], **more: list) -> pa.Table:
    stops = list(stops)
    columns = {"cand": [s.cand for s in stops], "x": [s.x for s in stops], "rank": [s.rank for s in stops]}
    return _table(**columns, kind=[p.kinds[s.cand] for s in stops], **more)


def _targets(p: Picture, stops: list[Stop]) -> pa.Table:
    """What the mouse points at, with the tooltip's texts."""
    return _stops(p, stops, text=[p.texts[s.cand] for s in stops], fate=[p.fates[s.cand] for s in stops])


def _edge(cuts: Sequence[Cut], candidates: int) -> pa.Table:
    """The lower edge of the remaining candidates; never below the last one."""
    ranks = [float(candidates), *(min(c.kept + 0.5, float(candidates)) for c in cuts)]
    return _table(x=[0, *(c.x for c in cuts)], rank=ranks, top=[1.0] * len(ranks))


def _feet(cuts: Sequence[Cut]) -> pa.Table:
    """The texts under each column: its name, and its flow in one line and in two."""
    return _table(
        x=[0, *(c.x for c in cuts)],
        name=["retrieved", *(c.title for c in cuts)],
        flow=["", *(" ".join(c.flow) for c in cuts)],
        narrow=["", *("\n".join(c.flow) for c in cuts)],
    )


def _lost(p: Picture, highlighted: list[Stop], exits: int, place: Place) -> pa.Table:
    """Where correct answers were dropped; at the last exit: scored, but not among those returned."""
    ends = sorted(s for s in highlighted if p.kinds[s.cand] == LOST and not s.stays)
    label = [
        f"correct, but rank {s.rank}" if s.x == exits else f"correct answer dropped here, rank {s.rank}" for s in ends
    ]
    y: dict[int, float] = {}
    for x in {s.x for s in ends}:
        here = [s for s in ends if s.x == x]
        y |= dict(zip((s.cand for s in here), place([s.rank for s in here]), strict=True))
    return _stops(p, ends, y=[y[s.cand] for s in ends], label=label)


def _labels(p: Picture, highlighted: list[Stop], exits: int, place: Place) -> pa.Table:
    """The returned sentences, with the ends of the leader line from the mark to the label."""
    ends = [s for s in highlighted if s.x == exits and s.stays]
    label = [("✓ " if p.kinds[s.cand] == RIGHT else "") + shorten(p.texts[s.cand], 70) for s in ends]
    lead = {"from": [exits + 0.12] * len(ends), "to": [exits + 0.34] * len(ends)}
    return _stops(p, ends, y=place([s.rank for s in ends]), label=label, **lead)
