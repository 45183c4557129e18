"""Where the cascade and the generative ranker disagree, and how they rank together."""

import numpy as np
import pytest

from app.ask.together import describe_disagreement, rank_together
from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace, ExitRecord
from as2core.cost import EncoderShape

SHAPE = EncoderShape(384, 1536, 6)


def a_trace(scores):
    n = len(scores[0])
    exits = tuple(
        ExitRecord(layer, np.arange(n), np.array(s, dtype=np.float32), np.array([], dtype=int), 0.2, 30 * n, 1)
        for layer, s in zip((2, 4, 6), scores, strict=True)
    )
    return CascadeTrace(np.full(n, 30), exits, DropSchedule.constant(0.0, exits=3), SHAPE)


def test_together_the_two_rankers_add_their_standardised_scores_five_to_three():
    run = a_trace([[0.0] * 4, [0.0] * 4, [2.0, 1.0, 0.0, -3.0]])  # mean 0, deviation sqrt(3.5)
    generative = np.array([-9.0, -1.0, -5.0, -5.0])  # mean -5, deviation sqrt(8)
    # 5.35 - 4.24, 2.67 + 4.24, 0, -8.02
    assert rank_together(run, generative).tolist() == [1, 0, 2, 3]


def test_together_are_ranked_those_whom_both_rankers_read_to_the_end():
    run = a_trace([[3.0, 2.0, 1.0, 0.0]] * 3).replay(DropSchedule.constant(0.3, exits=3))
    assert rank_together(run, np.array([np.nan, -1.0, -2.0, -3.0])).tolist() == [
        i for i in (1, 2, 3) if i in run.exits[-1].alive
    ]


@pytest.mark.parametrize(
    ("cascade", "generative", "told"),
    [(1, 4, "cascade higher"), (1, 3, ""), (1, 30, "cascade higher"), (40, 2, "generative higher"),
     (10, 40, "cascade higher"), (1, 2, ""), (60, 90, ""), (10, 39, "")],
)  # fmt: skip
def test_disagreement_is_marked_where_one_ranker_has_it_high_and_the_other_far_down(cascade, generative, told):
    assert describe_disagreement(cascade, generative) == told
