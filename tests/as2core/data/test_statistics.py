"""The papers' statistics of a set: counted by hand, and against every order of a question's candidates."""

import math
from itertools import permutations
from statistics import mean

import pytest

from as2core.chance import expect_by_chance
from as2core.data.statistics import Counts, compute_statistics
from as2core.rankers.reciprocal_rank import ReciprocalRankRanker
from as2core.rankers.word_overlap import WordOverlapRanker
from as2core.types import Candidate, Question


def question(text, *labels, texts=None):
    texts = texts or ["It rains ."] * len(labels)
    made = (Candidate(f"{i}", t, n, grade=4 if n else 1) for i, (t, n) in enumerate(zip(texts, labels, strict=True)))
    return Question(text, text, tuple(made))


SET = [
    question("who went there ?", 0, 1, 0, texts=["Nobody .", "Ada went there .", "Who knows ?"]),
    question("why", 0, 0),
    question("when", 1),
    question("how", None, 1),
]
RANKERS = {"rr": ReciprocalRankRanker(), "wo": WordOverlapRanker()}


def test_the_settings_are_counted_side_by_side():
    found = compute_statistics(SET, setting="no-all-neg")
    assert found.counts == {"raw": Counts(4, 8, 3), "no-all-neg": Counts(3, 6, 3), "clean": Counts(1, 3, 1)}


def test_averages_are_of_the_setting_asked_for():
    found = compute_statistics(iter(SET), setting="raw", rankers=RANKERS)
    assert (found.answered, found.candidates_per_question, found.correct_per_question) == (3 / 4, 2.0, 3 / 4)
    assert found.question_tokens == (4 + 1 + 1 + 1) / 4
    assert found.candidate_tokens == (2 + 4 + 3 + 5 * 3) / 8  # full stop and question mark are tokens, as spaCy has it
    assert found.grades == {1: 5, 4: 3}
    assert compute_statistics(SET, setting="clean").candidates_per_question == 3.0


def test_baselines_are_measured_on_the_questions_with_a_correct_candidate():
    found = compute_statistics(SET, rankers=RANKERS).baselines
    # The correct one is second of three, alone, and second behind one nobody judged; "when" is the one without rivals.
    assert found["rr"] == pytest.approx({"P@1": 1 / 3, "AP": (1 / 2 + 1 + 1 / 2) / 3})
    assert found["wo"] == pytest.approx({"P@1": 2 / 3, "AP": (1 + 1 + 1 / 2) / 3})  # "went there" is shared
    assert found["random"]["P@1"] == pytest.approx((1 / 3 + 1 + 1 / 2) / 3)


@pytest.mark.parametrize("labels", [(1,), (1, 0), (1, 1), (1, 0, 0), (1, 1, 0), (1, 1, 0, 0, 0), (1, 0, 0, 0, 0, 0)])
def test_chance_is_the_mean_over_every_order(labels):
    def average_precision(order):
        places = [i for i, label in enumerate(order, 1) if label]
        return mean(n / place for n, place in enumerate(places, 1))

    orders = list(permutations(labels))
    expected = {"P@1": mean(o[0] for o in orders), "AP": mean(average_precision(o) for o in orders)}
    by_chance = expect_by_chance(question("q", *labels))
    assert {name: by_chance[name] for name in expected} == pytest.approx(expected)


def test_counts_alone_leave_the_rest_out_and_nothing_has_no_averages():
    found = compute_statistics(SET)
    assert found.baselines == {} and math.isnan(found.question_tokens)
    empty = compute_statistics([], rankers=RANKERS)
    assert empty.counts["raw"] == Counts(0, 0, 0) and math.isnan(empty.answered)
    assert all(math.isnan(v) for values in empty.baselines.values() for v in values.values())
