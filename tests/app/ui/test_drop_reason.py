"""Why a candidate was dropped, by hand: ten candidates, first to last at two exits and the reverse at the third."""

import numpy as np
import pytest

from app.ui.ask.drop_reason import Standing, describe_drop, find_survival_percent, list_standings
from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace, ExitRecord
from as2core.cost import EncoderShape
from as2core.rankers.first_stage import with_first
from as2core.types import Candidate

FALLING = list(range(10, 0, -1))  # candidate 0 is first, 9 last
RISING = list(range(1, 11))


def make_trace(*scores):
    everyone = np.arange(10)
    exits = tuple(
        ExitRecord(layer, everyone, np.array(s, dtype=np.float32), everyone[:0], 0.1, 300, 1000)
        for layer, s in zip((2, 4, 6), scores, strict=True)
    )
    return CascadeTrace(np.full(10, 30), exits, DropSchedule.constant(0.0, exits=3), EncoderShape(384, 1536, 6))


@pytest.fixture
def full():
    return make_trace(FALLING, FALLING, RISING)


def test_a_candidate_stands_against_the_cut_at_every_exit_it_reached(full):
    run = full.replay(DropSchedule((0.3, 0.3)))  # 10, 7, 5
    assert list_standings(run, 6) == [
        Standing("layer 2", rank=7, candidates=10, survivors=7, score=4.0, cut=4.0),
        Standing("layer 4", rank=7, candidates=7, survivors=5, score=4.0, cut=6.0),
    ]
    assert [s.stays for s in list_standings(run, 6)] == [True, False]


def test_the_reason_names_the_exit_the_cut_and_the_share_at_which_it_would_survive(full):
    run = full.replay(DropSchedule((0.3, 0.3)))
    # candidate 6 is seventh: at 24 % two of 10 leave and one of 8, so seven stay; at 25 % two of 8 leave
    assert describe_drop(full, run, 6) == "Dropped after layer 4: rank 7, the best 5 stay. It would survive at 24 %."
    # candidate 7 is eighth: at 19 % one of 10 leaves and one of 9; at 20 % two of 10 and one of 8
    assert describe_drop(full, run, 7) == "Dropped after layer 2: rank 8, the best 7 stay. It would survive at 19 %."
    # the last one is the first to leave: 9 % of 10 are nobody
    assert find_survival_percent(full, 9, 30) == 9


def test_a_candidate_below_every_whole_cut_survives_only_without_drops():
    many = np.arange(200)
    exits = tuple(ExitRecord(layer, many, -many.astype(np.float32), many[:0], 0.1, 1, 1000) for layer in (2, 6))
    full = CascadeTrace(np.full(200, 30), exits, DropSchedule((0.0,)), EncoderShape(384, 1536, 6))
    run = full.replay(DropSchedule((0.3,)))  # one per cent of 200 are two
    assert describe_drop(full, run, 199).endswith("It would survive only if nothing were dropped.")


def test_a_candidate_that_stayed_has_its_rank_at_the_end(full):
    run = full.replay(DropSchedule((0.3, 0.3)))
    assert describe_drop(full, run, 0) == "Stayed to the end: rank 5 of 5."


def test_under_shares_of_their_own_the_advice_is_one_share_for_every_exit(full):
    run = full.replay(DropSchedule((0.0, 0.5)))  # 10, 10, 5
    assert describe_drop(full, run, 6).endswith("It would survive at 24 % at every exit.")


def test_what_the_first_stage_dropped_no_share_brings_back():
    everyone = np.arange(10)
    stage = ExitRecord(0, everyone, np.array(RISING, dtype=np.float32), everyone[:0], 0.01, 0, 0, "first stage")
    stage = ExitRecord(0, stage.alive, stage.scores, np.arange(4), 0.01, 0, 0, "first stage")
    inside = make_trace(FALLING, FALLING, FALLING)
    six = CascadeTrace(
        inside.lengths[:6],
        tuple(ExitRecord(e.layer, everyone[:6], e.scores[:6], e.dropped, 0.1, 180, 600) for e in inside.exits),
        inside.schedule,
        inside.shape,
    )
    full = with_first(six, stage, [Candidate(str(i), "alike") for i in range(10)])
    reason = describe_drop(full, full.replay(DropSchedule((0.3, 0.3))), 2)
    assert reason.startswith("Dropped by the first stage: rank 8, the best 6 stay. The cascade never read it")
    assert find_survival_percent(full, 2, 30) is None
