"""Chance, against every order there is."""

from itertools import permutations

import numpy as np
import pytest

from as2core.chance import describe_short_lists, expect_by_chance
from as2core.metrics import measure_mean
from as2core.types import Candidate, Question


@pytest.mark.parametrize(("candidates", "correct"), [(5, 1), (5, 2), (4, 4), (1, 1)])
def test_chance_is_the_mean_over_all_orders(candidates, correct):
    rows = [Candidate(str(i), "text", int(i < correct)) for i in range(candidates)]
    orders = [Question(str(i), "?", tuple(order)) for i, order in enumerate(permutations(rows))]
    mean = measure_mean(orders, {q.qid: -np.arange(candidates) for q in orders})
    assert expect_by_chance(orders[0]) == pytest.approx(mean)


def test_more_than_ten_candidates_are_cut_for_ndcg_alone():
    rows = tuple(Candidate(str(i), "text", int(i < 2)) for i in range(30))
    rng = np.random.default_rng(0)
    drawn = [Question(str(i), "?", tuple(rng.permutation(np.array(rows, dtype=object)))) for i in range(3000)]
    mean = measure_mean(drawn, {q.qid: -np.arange(30) for q in drawn})
    assert expect_by_chance(drawn[0]) == pytest.approx(mean, abs=0.015)


def test_a_question_without_a_correct_candidate_expects_nothing():
    assert set(expect_by_chance(Question("q", "?", (Candidate("a", "text", 0),))).values()) == {0.0}


def test_lists_that_any_ranker_looks_good_on_are_named_with_what_chance_reaches_there():
    text = describe_short_lists([(2, 1), (3, 1)])
    assert "only 2.5 candidates a question" in text and "for 42 % of the questions" in text
    assert describe_short_lists([(20, 1), (10, 2)]) == describe_short_lists([]) == ""
