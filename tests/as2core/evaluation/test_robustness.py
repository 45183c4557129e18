import numpy as np
import pytest

from as2core.evaluation.robustness import REWRITES, measure_robustness, no_question_mark, typo
from as2core.types import Candidate, Question

QUESTION = Question("q", "Who built the tower?", (Candidate("a", "who built it"), Candidate("b", "the tower stands")))


class Exact:
    """Counts the question's words, as they are written, in the candidate; shorter candidates win ties."""

    name = "exact"

    def score(self, question, candidates):
        asked = question.split(" ")
        return np.array([sum(w in c.text.split(" ") for w in asked) - len(c.text) / 10 for c in candidates], "f4")


def test_rewrites_keep_the_question_and_change_its_writing():
    assert REWRITES["upper case"]("Who is it?") == "WHO IS IT?"
    assert no_question_mark("Who is it ?") == "Who is it"
    changed = typo("Which cathedral burnt?")
    assert changed != "Which cathedral burnt?"
    assert sorted(changed) == sorted("Which cathedral burnt?")
    assert changed.startswith("Which c") and changed == typo("Which cathedral burnt?")


@pytest.mark.parametrize("text", ["", "?", "a b", "aaaa"])
def test_a_question_with_nothing_to_swap_stays_as_it_is(text):
    assert typo(text) == text


def test_the_share_that_keeps_its_top_answer_is_counted_by_rewrite():
    # "built" is in a, "the" in b and a is shorter: a is on top; in upper case no word counts, and a is shorter still;
    # padded, a is longer than b and loses
    found = measure_robustness(Exact(), [QUESTION])
    assert found["upper case"] == 1.0
    assert found["padded candidate"] == 0.0
    assert measure_robustness(Exact(), [QUESTION], rewrites={}) == {"padded candidate": 0.0}


def test_one_candidate_or_no_question_tells_nothing():
    mended = measure_robustness(Exact(), [QUESTION], corrected=True)
    assert mended["typo"] == mended["no question mark"] == 1.0
    assert measure_robustness(Exact(), []) == {}
    assert measure_robustness(Exact(), [Question("q", "who", (Candidate("a", "x"),))]) == {}
