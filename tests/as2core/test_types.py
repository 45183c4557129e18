"""What the records that everything uses say of themselves."""

import pytest

from as2core.types import Candidate, Progress, Question


@pytest.mark.parametrize(
    ("done", "total", "share"),
    [
        (0, 8, 0.0),
        (6, 8, 0.75),
        (8, 8, 1.0),
        (9, 8, 1.0),  # more than was planned is no more than all
        (3, 0, 0.0),  # of nobody knows how many
    ],
)
def test_a_share_of_progress_is_between_nothing_and_all(done, total, share):
    assert Progress(done, total).share == share


@pytest.mark.parametrize(
    ("labels", "has_labels", "has_both"),
    [
        ((), False, False),
        ((None, None), False, False),
        ((None, 0), True, False),
        ((1, None), True, False),
        ((0, None, 1), True, True),
    ],
)
def test_a_question_says_whether_its_candidates_have_labels_and_whether_of_both_kinds(labels, has_labels, has_both):
    question = Question("q", "which ?", tuple(Candidate(str(i), "a", label) for i, label in enumerate(labels)))
    assert (question.has_labels, question.has_both_labels) == (has_labels, has_both)
