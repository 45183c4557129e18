"""One answered question by two rankers side by side: the same candidates, and what moved between the two orders.

The candidates are those that the answer's first stage passed on: nothing is retrieved a second time, so every
difference is the rankers' own. Kendall's tau and the overlap of the first ten sum it up; the sentences that moved most
are looked for among the first of either order, because moves far down change nothing for a reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.ask.answer_rule import find_max_probability, rate_candidates
from app.ask.asking import AskView, list_training_notes
from app.ranking import scoring
from app.ranking.document_prior import weigh_documents
from app.versions import loading, registry
from app.versions.loading import LoadedVersion
from app.workbench.workbench import Workbench
from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace, ExitRecord
from as2core.rankers.base import CalibratesScores, KeepsTrace, Ranker, list_untrained

MAX_OVERLAP_RANK = 10  # the overlap counts the first so many of both
MAX_SHOWN_RANK = 20  # moves are looked for among the first so many of either
WORDS_ONLY = "bm25"  # needs no model


@dataclass(frozen=True, slots=True, eq=False)
class PairSide:
    """One ranker's answer. `view` is the question as this ranker answers it: its candidates are those that entered the
    encoder, its trace, without drops, this ranker's. `stages` are those of a ranker that drops by itself. `notes` are
    sentences for the reader."""

    name: str
    view: AskView
    stages: tuple[ExitRecord, ...]
    notes: tuple[str, ...]

    def replay(self, ratios: Sequence[float]) -> CascadeTrace:
        """The run under these drop ratios: one, or one for each exit but the last. The first of several counts where
        the cascade has another number of exits; other rankers drop nothing."""
        exits = len(self.view.trace.exits)
        several = tuple(ratios) if len(ratios) == exits - 1 else tuple(ratios[:1]) * (exits - 1)
        return self.view.trace.replay(DropSchedule(several))

    def list_cuts(self, run: CascadeTrace) -> list[ExitRecord]:
        """The stages that dropped candidates."""
        return [e for e in (self.stages or run.exits) if len(e.dropped)]


@dataclass(frozen=True, slots=True)
class Move:
    """A candidate's position, and its rank by the first and the second ranker, from 1."""

    position: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class RankMoves:
    """What differs between two orders of the same candidates. `shared` of the first `depth` are in both; `tau` is
    Kendall's, None with fewer than two candidates. `rise` and `fall` are the largest among the first
    `MAX_SHOWN_RANK` of either, None where nothing moved that way."""

    is_first_same: bool
    shared: int
    depth: int
    tau: float | None
    rise: Move | None
    fall: Move | None


def rank_side(wb: Workbench, view: AskView, name: str) -> PairSide:
    """Rank the candidates of an answered question with another version or ranker; nothing is stored. Raises
    UnknownRanker, BadSetting, DamagedModel."""
    ranker = loading.load_ranker(wb, name)
    candidates = tuple(view.candidates[i] for i in view.trace.entered.tolist())
    is_cascade = isinstance(ranker, KeepsTrace) and isinstance(ranker, CalibratesScores)
    own = replace(view, candidates=candidates, version=name)
    own, stages = _rank_cascade(own, ranker) if is_cascade else _score(own, ranker)
    return PairSide(name, own, stages, _list_notes(wb, view, name, ranker))


def _rank_cascade(view: AskView, ranker: Ranker) -> tuple[AskView, tuple[ExitRecord, ...]]:
    model = LoadedVersion(0, view.version, ranker)
    cascade = scoring.as_cascade(model)
    prior = weigh_documents(view.candidates)
    ranking = scoring.rank(model, view.expanded_question, scoring.as_candidates(view.candidates), prior=prior)
    probability, is_answer = rate_candidates(cascade, ranking.trace, view.candidates)
    is_calibrated = cascade.is_calibrated
    return replace(
        view, trace=ranking.trace, probability=probability, is_answer=is_answer, is_calibrated=is_calibrated,
        max_probability=find_max_probability(cascade),
    ), ()  # fmt: skip


def _score(view: AskView, ranker: Ranker) -> tuple[AskView, tuple[ExitRecord, ...]]:
    """By a ranker whose scores are no probabilities: they stand where those of the last exit would."""
    candidates = scoring.as_candidates(view.candidates)
    stages: tuple[ExitRecord, ...] = ()
    if isinstance(ranker, KeepsTrace):
        own = ranker.trace(view.expanded_question, candidates)
        scores, stages = own.scores(), own.stages
    else:
        scores = ranker.score(view.expanded_question, candidates)
    trace = scoring.trace_from_scores([(1, np.asarray(scores, dtype=np.float32))])
    nothing = np.zeros(len(scores), dtype=bool)
    return replace(view, trace=trace, probability=scores, is_answer=nothing, is_calibrated=False), stages


def _list_notes(wb: Workbench, view: AskView, name: str, ranker: Ranker) -> tuple[str, ...]:
    notes = []
    if parts := list_untrained(ranker):
        notes.append(f"{', '.join(parts)} has not been trained, its order may be chance.")
    return (*notes, *list_training_notes(wb, view.question, name))


def compare_orders(before: np.ndarray, after: np.ndarray) -> RankMoves:
    """`before` and `after`: ranks from 1 of the same candidates, without ties, int `(n,)`, n >= 1."""
    from scipy.stats import kendalltau

    depth = min(MAX_OVERLAP_RANK, len(before))
    high = np.flatnonzero(np.minimum(before, after) <= MAX_SHOWN_RANK)
    gains = (before - after)[high]
    best, worst = high[np.argmax(gains)], high[np.argmin(gains)]
    return RankMoves(
        is_first_same=bool(before.argmin() == after.argmin()),
        shared=int(((before <= depth) & (after <= depth)).sum()),
        depth=depth,
        tau=float(kendalltau(before, after).statistic) if len(before) > 1 else None,
        rise=_make_move(int(best), before, after) if gains.max() > 0 else None,
        fall=_make_move(int(worst), before, after) if gains.min() < 0 else None,
    )


def _make_move(position: int, before: np.ndarray, after: np.ndarray) -> Move:
    return Move(position, int(before[position]), int(after[position]))


def suggest_second(wb: Workbench, name: str) -> str:
    """What to set beside the answer of a cascade version: the newest version if it came after it; else its parent, the
    newest other version, or a ranker of another kind."""
    newest_first = [v for v in registry.list_versions(wb) if not v.problem and v.state != "rejected"]
    current = next((v for v in newest_first if v.name == name), None)
    others = [v for v in newest_first if v.name != name]
    if others and current is not None and others[0].id < current.id:
        others.sort(key=lambda v: v.name != current.parent)  # a stable sort: the parent comes first
    if others:
        return others[0].name
    generative = [v for v in registry.list_versions(wb, registry.GENERATIVE) if not v.problem]
    return generative[0].name if generative else WORDS_ONLY
