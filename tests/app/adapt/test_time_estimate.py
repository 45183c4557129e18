"""How far a retrain is and how long it still takes, by a clock that the test moves."""

import pytest

from app.adapt.progress.time_estimate import (
    CANDIDATE_WEIGHT,
    COMPLETE_WEIGHT,
    STEP_WEIGHT,
    TORCH_CANDIDATE_WEIGHT,
    Pace,
    TrainingWatch,
    Work,
    plan_stages,
    weigh_judges,
)
from app.adapt.splitting import Split
from as2core.types import Candidate, Progress, Question


class Clock:
    seconds = 0.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def clock():
    return Clock()


def run(pace, clock, stage, seconds, *, to=1.0):
    """A stage that takes so long from its start to this share."""
    pace.advance(stage, 0.0)
    clock.seconds += seconds
    pace.advance(stage, to)


def test_nothing_is_said_of_the_time_before_some_was_measured(clock):
    pace = Pace({"a": 10, "b": 30}, clock)
    assert pace.remaining is None
    run(pace, clock, "a", 1.0, to=0.1)
    assert pace.remaining is None  # of a tenth of 10, which is less than MIN_WEIGHT


def test_what_is_left_takes_as_long_as_what_was_done(clock):
    pace = Pace({"a": 10, "b": 30}, clock)
    run(pace, clock, "a", 20)  # a machine half as fast: 60 s are left
    assert pace.share == pytest.approx(10 / 40)
    low, high = pace.remaining
    assert (low, high) == pytest.approx((60 * 0.85, 60 * 1.15))


def test_the_range_spans_the_fastest_and_the_slowest_stage_so_far(clock):
    pace = Pace({"a": 10, "b": 10, "c": 10}, clock)
    run(pace, clock, "a", 10)
    run(pace, clock, "b", 40)
    assert pace.remaining == pytest.approx((10 * 0.85, 40 * 1.15))


def test_a_stage_that_is_measured_goes_by_its_own_pace(clock):
    pace = Pace({"a": 10, "b": 10}, clock)
    run(pace, clock, "a", 10)
    run(pace, clock, "b", 20, to=0.5)
    assert pace.remaining == pytest.approx((20 * 0.85, 20 * 1.15))


def test_a_stage_that_was_not_planned_changes_neither_share_nor_pace(clock):
    pace = Pace({"a": 10, "b": 10}, clock)
    run(pace, clock, "a", 10)
    before = pace.share, pace.remaining
    run(pace, clock, "judges", 500)
    assert (pace.share, pace.remaining) == before


def test_a_stage_that_is_known_of_later_comes_next_and_the_share_does_not_fall(clock):
    pace = Pace({"check": 10, "training": 10}, clock)
    run(pace, clock, "check", 10)
    pace.plan("judges", 20)
    pace.plan("judges", 99)  # the second of them
    assert pace.share == pytest.approx(10 / 20)
    assert pace.remaining == pytest.approx((30 * 0.85, 30 * 1.15))
    run(pace, clock, "judges", 20)
    assert pace.share == pytest.approx(30 / 40)
    pace.advance("training", 0.0)
    assert pace.remaining == pytest.approx((10 * 0.85, 10 * 1.15))


def test_a_stage_weighs_less_where_a_part_of_it_need_not_be_done_and_only_before_it_begins(clock):
    pace = Pace({"a": 10, "b": 30}, clock)
    run(pace, clock, "a", 10)
    pace.weigh("b", 40)
    pace.weigh("a", 1)
    pace.weigh("never planned", 1)
    assert pace.remaining == pytest.approx((30 * 0.85, 30 * 1.15))
    pace.weigh("b", 5)
    assert pace.remaining == pytest.approx((5 * 0.85, 5 * 1.15))


def test_what_an_earlier_attempt_did_is_done_and_not_measured(clock):
    pace = Pace({"training": 100}, clock)
    pace.advance("training", 0.0)
    pace.resume("training", 0.5)
    clock.seconds += 50
    pace.advance("training", 0.75)  # 25 weighted seconds took 50
    assert pace.remaining == pytest.approx((50 * 0.85, 50 * 1.15))


def test_training_that_stops_early_leaves_only_the_stages_behind_it(clock):
    pace = Pace({"training": 100, "new": 10}, clock)
    watch = TrainingWatch(pace)
    for event in ({"kind": "start", "steps": 10}, {"kind": "step", "step": 1, "steps": 10}):
        pace.advance(*watch.follow(event)[:2])
        clock.seconds += 10
    pace.advance(*watch.follow({"kind": "end", "step": 1, "steps": 10})[:2])
    assert pace.share == pytest.approx(10 / 20)
    assert pace.remaining == pytest.approx((20 * 0.85, 20 * 1.15))  # 20 s for a tenth of 100


def test_the_training_s_events_say_the_step_and_the_evaluations_between_them(clock):
    watch = TrainingWatch(Pace({"validation": 1, "training": 10}, clock))
    message = "scoring the validation questions, 8 of 16"
    assert watch.follow_dev(Progress(8, 16)) == ("validation", 0.5, message)
    reading = "preparing the training questions, 3 of 12"
    assert watch.follow_scoring(Progress(3, 12)) == ("preparation", 0.25, reading)
    assert watch.follow({"kind": "start", "steps": 4}) == ("training", 0.0, "training, step 0 of 4")
    step = {"kind": "step", "step": 2, "steps": 4}
    assert watch.follow(step) == ("training", 0.5, "training, step 2 of 4")
    assert watch.follow_dev(Progress(8, 16)) == ("training", 0.5, message)
    assert watch.follow(step | {"kind": "end"}) == ("graphs", 0.0, "preparing the engine")


def test_the_means_that_are_scored_after_the_last_step_are_a_stage_of_their_own(clock):
    pace = Pace({"validation": 5, "training": 100, "mean": 10, "graphs": 5}, clock)
    watch = TrainingWatch(pace)
    watch.follow({"kind": "start", "steps": 10})
    pace.advance(*watch.follow({"kind": "step", "step": 5, "steps": 10})[:2])
    choosing = "choosing how much of what was learnt to take over"
    assert watch.follow_mixing(Progress(0, 2)) == ("mean", 0.0, choosing)
    assert watch.follow_dev(Progress(8, 16)) == ("mean", 0.25, "scoring the validation questions, 8 of 16")
    assert watch.follow_mixing(Progress(1, 2)) == ("mean", 0.5, choosing)
    assert watch.follow_dev(Progress(0, 16))[:2] == ("mean", 0.5)
    pace.advance(*watch.follow({"kind": "end", "step": 5, "steps": 10})[:2])
    assert pace.share == pytest.approx((5 + 50 + 10) / (5 + 50 + 10 + 5))  # half of the training is left out


def test_the_plan_counts_what_each_stage_reads_and_what_is_measured_already():
    def make(n):
        return tuple(Question(str(i), "?", (Candidate("a", "x", 1), Candidate("b", "y", 0))) for i in range(n))

    parts = Split(make(100), make(10), make(30))
    work = Work(20, evaluations=3, mean_evaluations=2, judge_questions=make(80), measured_sets=["frozen"],
                anchor_questions=make(5), anchors=7, copies=3, copy_steps=40, judged_questions=make(90))  # fmt: skip
    plan = plan_stages(parts, {"frozen": make(50)}, work)
    assert plan["base held-out"] == plan["new held-out"] == pytest.approx(60 * COMPLETE_WEIGHT)
    assert (plan["base frozen"], plan["new frozen"]) == (0.0, pytest.approx(100 * CANDIDATE_WEIGHT))
    assert (plan["check"], plan["calibration"]) == (pytest.approx(160 * COMPLETE_WEIGHT), 0.0)
    assert plan["preparation"] == pytest.approx(10 * COMPLETE_WEIGHT + 7 * TORCH_CANDIDATE_WEIGHT)
    validation = 20 * TORCH_CANDIDATE_WEIGHT
    assert plan["validation"] == pytest.approx(validation)
    assert plan["training"] == pytest.approx(20 * STEP_WEIGHT + 3 * validation)
    assert plan["mean"] == pytest.approx(2 * validation)
    assert plan["base folds"] == pytest.approx(180 * COMPLETE_WEIGHT)
    training = 3 * (1 + 3 + 2) * validation + 40 * STEP_WEIGHT  # each copy is validated as the version is
    assert plan["folds"] == pytest.approx(training + 180 * TORCH_CANDIDATE_WEIGHT)
    order = [
        "engine",
        "base held-out",
        "check",
        "preparation",
        "validation",
        "training",
        "mean",
        "graphs",
        "calibration",
        "new held-out",
        "base folds",
        "folds",
    ]
    assert list(plan) == [*order, "base frozen", "new frozen", "saving"]


def test_two_judges_are_trained_and_all_questions_are_scored_by_one_of_them():
    pairs = tuple(Question(str(i), "?", (Candidate("a", "x", 1), Candidate("b", "y", 0))) for i in range(50))
    more = weigh_judges(pairs, 12) - weigh_judges((), 2)
    assert more == pytest.approx(20 * STEP_WEIGHT + 100 * COMPLETE_WEIGHT)
