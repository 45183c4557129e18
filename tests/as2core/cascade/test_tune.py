"""Tuning against replaying every schedule one by one, with the measures of ir_measures."""

import dataclasses
import itertools

import numpy as np
import pytest

from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace, ExitRecord
from as2core.cascade.tune import RATIOS, try_schedules
from as2core.cost import EncoderShape, head_flops, layer_flops
from as2core.errors import BadSetting
from as2core.metrics import measure_mean
from as2core.types import Candidate, Question

SHAPE = EncoderShape(hidden=8, inner=16, layers=6)


def make_trace(n, *, seed, layers=(2, 4, 6), positives=2):
    """A question with random scores that get better with depth."""
    rng = np.random.default_rng(seed)
    labels = np.zeros(n, dtype=int)
    labels[rng.choice(n, positives, replace=False)] = 1
    lengths = rng.integers(4, 40, n)
    records = []
    for below, layer in zip((0, *layers), layers, strict=False):
        scores = np.round(labels * layer * 0.3 + rng.normal(size=n), 1).astype(np.float32)  # rounded: there are ties
        flops = (layer - below) * layer_flops(lengths, SHAPE) + head_flops(n, SHAPE)
        records.append(ExitRecord(layer, np.arange(n), scores, np.array([], dtype=int), 0.1, int(lengths.sum()), flops))
    candidates = tuple(Candidate(str(i), f"text {i}", int(y)) for i, y in enumerate(labels))
    trace = CascadeTrace(lengths, tuple(records), DropSchedule.constant(0.0, exits=len(layers)), SHAPE)
    return Question(str(seed), "q", candidates), trace


SOME = [make_trace(n, seed=n) for n in (3, 10, 17, 30)]


@pytest.mark.parametrize("measure", ["AP", "RR", "P@1"])
def test_every_schedule_of_the_grid_is_its_replay(measure):
    tuning = try_schedules(SOME, ratios=(0.1, 0.3, 0.6), measure=measure, keep=2)
    assert [p.ratios for p in tuning.points] == [(0.0, 0.0), *itertools.product((0.1, 0.3, 0.6), repeat=2)]
    for point in tuning.points:
        runs = {q.qid: t.replay(DropSchedule(point.ratios, 2)) for q, t in SOME}
        scores = {qid: run.scores() for qid, run in runs.items()}
        assert point.value == pytest.approx(measure_mean([q for q, _ in SOME], scores, (measure,))[measure])
        spent, full = sum(r.flops for r in runs.values()), sum(r.full_flops for r in runs.values())
        assert point.cost == pytest.approx(spent / full)


def test_rescoring_the_best_is_in_every_schedule_s_cost_that_they_survive():
    question, trace = make_trace(9, seed=9)
    last = trace.exits[-1]
    again = np.argsort(-last.scores)[:2]
    trace = dataclasses.replace(trace, exits=(*trace.exits[:-1], dataclasses.replace(last, again=again)))
    for point in try_schedules([(question, trace)], ratios=(0.2, 0.8)).points:
        run = trace.replay(DropSchedule(point.ratios))
        assert run.exits[-1].again.tolist() == sorted(set(again.tolist()) & set(run.exits[-1].alive.tolist()))
        assert point.cost == pytest.approx(run.flops / run.full_flops)


def test_the_papers_grid_has_1296_schedules_besides_dropping_nobody():
    tuning = try_schedules([make_trace(20, seed=1, layers=(2, 3, 4, 5, 6))])
    assert len(RATIOS) ** 4 == 1296 and len(tuning.points) == 1297
    assert tuning.full == tuning.points[0] and tuning.full.ratios == (0.0,) * 4


def test_the_best_schedule_is_the_cheapest_within_the_bound():
    tuning = try_schedules(SOME)
    for bound in (0.0, 0.02, 0.1, 1.0):
        best = tuning.best(bound)
        assert best.value >= tuning.full.value - bound - 1e-9
        assert not [p for p in tuning.points if p.value >= tuning.full.value - bound and p.cost < best.cost]
    assert tuning.best(1.0).cost == min(p.cost for p in tuning.points)


def test_the_front_rises_in_cost_and_value():
    front = try_schedules(SOME).front
    assert all(a.cost < b.cost and a.value < b.value for a, b in itertools.pairwise(front))
    assert front[-1].value == max(p.value for p in try_schedules(SOME).points)


def test_what_a_cheap_ranker_kept_away_keeps_its_place_and_its_cost_under_every_schedule():
    question, trace = make_trace(12, seed=12, positives=4)
    cheap = np.random.default_rng(0).normal(size=12).astype(np.float32)
    gone = np.sort(np.argsort(cheap)[:5])
    first = ExitRecord(0, np.arange(12), cheap, gone, 0.0, 0, 50_000, "wo")
    entered = np.setdiff1d(np.arange(12), gone)
    exits = tuple(dataclasses.replace(e, alive=entered, scores=e.scores[entered]) for e in trace.exits)
    trace = dataclasses.replace(trace, exits=exits, first=first)
    for point in try_schedules([(question, trace)], ratios=(0.2, 0.5)).points:
        run = trace.replay(DropSchedule(point.ratios))
        assert point.value == pytest.approx(measure_mean([question], {question.qid: run.scores()}, ("AP",))["AP"])
        assert point.cost == pytest.approx(run.flops / run.full_flops)  # the cheap ranker's work is part of it


def test_questions_without_a_correct_candidate_are_left_out():
    question, trace = make_trace(5, seed=5, positives=0)
    assert try_schedules([*SOME, (question, trace)], ratios=(0.5,)) == try_schedules(SOME, ratios=(0.5,))
    with pytest.raises(BadSetting, match="nothing to tune by"):
        try_schedules([(question, trace)])


def test_a_trace_that_dropped_and_a_measure_nobody_knows_are_refused():
    question, trace = SOME[2]
    with pytest.raises(BadSetting, match="drop ratio 0"):
        try_schedules([(question, trace.replay(DropSchedule.constant(0.5, exits=3)))])
    with pytest.raises(BadSetting, match="AP, RR, P@1"):
        try_schedules(SOME, measure="luck")
