"""Seconds in turns, with a clock that the rankers themselves move."""

import numpy as np
import pytest

from app.compare import timing
from as2core.types import Candidate, Question

QUESTIONS = [Question(f"q{i}", f"question {i}?", (Candidate(f"c{i}", "text", 1),)) for i in range(4)]


class Slow:
    """Takes `seconds` on the clock, and writes down its turn."""

    def __init__(self, name, seconds, world):
        self.name, self.seconds, self.world = name, seconds, world

    def score(self, question, candidates):
        self.world["now"] += self.seconds(len(self.world["turns"]))
        self.world["turns"].append((self.name, question))
        return np.zeros(len(candidates))


@pytest.fixture
def world():
    return {"now": 0.0, "turns": []}


def test_each_ranker_has_the_median_of_its_own_seconds_and_the_first_run_does_not_count(world):
    rankers = {
        "slow": Slow("slow", lambda turn: 9.0 if turn < 2 else 0.5, world),
        "fast": Slow("fast", lambda turn: 9.0 if turn < 2 else 0.25, world),
    }
    assert timing.time_in_turns(rankers, QUESTIONS, clock=lambda: world["now"]) == {"slow": 0.5, "fast": 0.25}


def test_every_ranker_has_its_turn_on_a_question_before_the_next_and_none_is_always_first(world):
    rankers = {name: Slow(name, lambda turn: 1.0, world) for name in ("a", "b", "c")}
    timing.time_in_turns(rankers, QUESTIONS, clock=lambda: world["now"])
    turns = world["turns"][3:]
    groups = [turns[i : i + 3] for i in range(0, len(turns), 3)]
    assert len(groups) == timing.ROUNDS * len(QUESTIONS)
    for group in groups:
        assert {name for name, _ in group} == {"a", "b", "c"}
        assert len({question for _, question in group}) == 1
    assert {group[0][0] for group in groups} == {"a", "b", "c"}


def test_too_many_rankers_are_not_timed(world):
    names = [str(i) for i in range(timing.MAX_TIMED_RANKERS + 1)]
    rankers = {name: Slow(name, lambda turn: 1.0, world) for name in names}
    assert timing.time_in_turns(rankers, QUESTIONS) == {}
    assert world["turns"] == []


def test_it_stops_between_two_runs(world):
    def stop():
        if len(world["turns"]) == 5:
            raise KeyboardInterrupt

    rankers = {name: Slow(name, lambda turn: 1.0, world) for name in ("a", "b")}
    with pytest.raises(KeyboardInterrupt):
        timing.time_in_turns(rankers, QUESTIONS, check=stop)
    assert len(world["turns"]) == 5


def test_a_ranker_that_fails_has_no_further_turn_and_the_others_have_their_seconds(world):
    def fail(turn):
        if turn > 6:
            raise RuntimeError("no more")
        return 1.0

    rankers = {"a": Slow("a", lambda turn: 0.5, world), "b": Slow("b", fail, world)}
    errors = []
    seconds = timing.time_in_turns(
        rankers, QUESTIONS, clock=lambda: world["now"], on_error=lambda name, e: errors.append((name, str(e)))
    )
    assert seconds == {"a": 0.5} and errors == [("b", "no more")]
    with pytest.raises(RuntimeError, match="no more"):
        timing.time_in_turns(rankers, QUESTIONS)
