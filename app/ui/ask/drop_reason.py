"""Why a candidate was dropped, and how close it was, at every stage."""

from dataclasses import dataclass

from app.ui.ask.drops import MAX_PERCENT
from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace
from as2core.metrics import order


@dataclass(frozen=True, slots=True)
class Standing:
    """A candidate at a stage that it reached. `survivors` is the last rank that stays, `cut` the score there."""

    title: str
    rank: int
    candidates: int
    survivors: int
    score: float
    cut: float

    @property
    def stays(self) -> bool:
        return self.rank <= self.survivors


def list_standings(run: CascadeTrace, position: int) -> list[Standing]:
    """One for every stage that the candidate reached."""
    standings = []
    for stage in run.stages:
        best_first = order(stage.scores)
        places = stage.alive[best_first].tolist()
        if position not in places:
            break
        rank, scores = places.index(position) + 1, stage.scores[best_first]
        cut = float(scores[stage.survivors - 1])
        standings.append(Standing(stage.title, rank, len(places), stage.survivors, float(scores[rank - 1]), cut))
    return standings


def find_survival_percent(full: CascadeTrace, position: int, below: int) -> int | None:
    """The largest share under `below`, in whole per cents and the same at every exit, with which the candidate reaches
    the end. None if the first stage dropped it. `full` dropped nothing in the encoder."""
    if position not in full.entered:
        return None
    for percent in range(min(below, MAX_PERCENT + 1) - 1, 0, -1):
        run = full.replay(DropSchedule.constant(percent / 100, exits=len(full.exits)))
        if position in run.exits[-1].alive:
            return percent
    return 0


def describe_drop(full: CascadeTrace, run: CascadeTrace, position: int) -> str:
    """`Dropped after layer 3: rank 52, the best 49 stay. It would survive at 20 %.`, or where it ended."""
    last = list_standings(run, position)[-1]
    if last.stays:
        return f"Stayed to the end: rank {last.rank:,} of {last.candidates:,}."
    if run.first is not None and position in run.first.dropped:
        return (
            f"Dropped by the {last.title}: rank {last.rank:,}, the best {last.survivors:,} stay. The cascade never "
            "read it, so the share dropped at each exit does not matter."
        )
    ratios = run.schedule.ratios
    percent = find_survival_percent(full, position, round(max(ratios) * 100))
    everywhere = "" if len(set(ratios)) == 1 else " at every exit"
    end = f"at {percent} %{everywhere}" if percent else "only if nothing were dropped"
    return f"Dropped after {last.title}: rank {last.rank:,}, the best {last.survivors:,} stay. It would survive {end}."
