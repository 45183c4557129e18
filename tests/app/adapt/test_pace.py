"""How far a retrain is and how long it still takes, by a clock that the test moves."""

import pytest

from app.adapt.pace import CANDIDATE_WEIGHT, STEP_WEIGHT, Pace, TrainingWatch, Work, describe_range, plan_stages
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
    assert pace.remaining is None  # of a tenth of 10


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
    hard = "looking for hard candidates, 3 of 12 questions"
    assert watch.follow_scoring(Progress(3, 12)) == ("negatives", 0.25, hard)
    assert watch.follow({"kind": "start", "steps": 4}) == ("training", 0.0, "training, step 0 of 4")
    step = {"kind": "step", "step": 2, "steps": 4}
    assert watch.follow(step) == ("training", 0.5, "training, step 2 of 4")
    assert watch.follow_dev(Progress(8, 16)) == ("training", 0.5, message)
    assert watch.follow(step | {"kind": "end"}) == ("graphs", 0.0, "preparing the engine")


def test_the_plan_counts_what_each_stage_reads_and_what_is_measured_already():
    def make(n):
        return tuple(Question(str(i), "?", (Candidate("a", "x", 1), Candidate("b", "y", 0))) for i in range(n))

    parts = Split(make(100), make(10), make(30))
    plan = plan_stages(parts, {"frozen": make(50)}, Work(20, 2, 0, ["frozen"]))
    assert plan["base held-out"] == plan["new held-out"] == pytest.approx(60 * CANDIDATE_WEIGHT)
    assert (plan["base frozen"], plan["new frozen"]) == (0.0, pytest.approx(100 * CANDIDATE_WEIGHT))
    assert plan["training"] > 20 * STEP_WEIGHT
    order = [
        "engine",
        "base held-out",
        "check",
        "negatives",
        "validation",
        "training",
        "graphs",
        "calibration",
        "new held-out",
    ]
    assert list(plan) == [*order, "base frozen", "new frozen", "saving"]


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (2, 4, "about 5 s"),
        (14, 31, "15 to 35 s"),
        (61, 89, "65 to 90 s"),
        (70, 130, "2 to 3 min"),
        (100, 110, "about 2 min"),
    ],
)
def test_a_range_is_rounded_to_what_one_holds_in_mind(low, high, words):
    assert describe_range(low, high) == words
