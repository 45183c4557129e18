import pytest

from as2core.types import Candidate, Question


@pytest.mark.parametrize(
    ("labels", "has_both"), [((1, 0), True), ((0, None, 1, 1), True), ((1, None), False), ((0, 0), False), ((), False)]
)
def test_a_question_has_both_labels_with_a_correct_and_an_incorrect_candidate(labels, has_both):
    candidates = (Candidate(str(i), "a sentence", label) for i, label in enumerate(labels))
    assert Question("q", "why ?", tuple(candidates)).has_both_labels is has_both
