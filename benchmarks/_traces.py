"""Runs of a cascade over questions, and what they would have been after another first stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace, ExitRecord
from as2core.metrics import measure_mean
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.first_stage import with_first
from as2core.types import Candidate, Question


def run_complete(ranker: CascadeRanker, questions: Sequence[Question]) -> list[CascadeTrace]:
    """Without a drop, so that they can be replayed with any."""
    return run_all(ranker, questions, DropSchedule.constant(0.0, exits=len(ranker.exits)))


def run_all(ranker: CascadeRanker, questions: Sequence[Question], schedule: DropSchedule) -> list[CascadeTrace]:
    return [ranker.trace(q.text, q.candidates, schedule) for q in questions]


def measure_ap(questions: Sequence[Question], traces: Sequence[CascadeTrace]) -> float:
    """In points."""
    scores = {q.qid: t.scores() for q, t in zip(questions, traces, strict=True)}
    return 100 * measure_mean(questions, scores, ("AP",))["AP"]


def restrict(trace: CascadeTrace, cut: ExitRecord, candidates: Sequence[Candidate]) -> CascadeTrace:
    """The complete trace as if the first stage had let only its choice in."""
    entered = np.setdiff1d(cut.alive, cut.dropped)
    everyone, again = np.arange(len(entered)), np.flatnonzero(np.isin(entered, trace.exits[-1].again))
    exits = tuple(replace(e, alive=everyone, scores=e.scores[entered], again=everyone[:0]) for e in trace.exits)
    exits = (*exits[:-1], replace(exits[-1], again=again))
    return with_first(replace(trace, lengths=trace.lengths[entered], exits=exits), cut, candidates)
