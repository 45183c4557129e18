import pytest

from as2core.data.question_batches import split_questions
from as2core.types import Candidate, Question


@pytest.mark.parametrize(
    ("sizes", "limits", "batches"),
    [
        ([], (4,), []),
        ([2, 2, 1], (4,), [[2, 2], [1]]),
        ([9, 1, 9], (4,), [[9], [1], [9]]),
        ([1, 1, 1], (4, 2), [[1, 1], [1]]),
    ],
)
def test_questions_are_divided_by_their_candidates_and_their_number(sizes, limits, batches):
    questions = [
        Question(f"q{i}", f"question {i}", tuple(Candidate(str(j), "text", 0) for j in range(size)))
        for i, size in enumerate(sizes)
    ]
    assert [[len(q.candidates) for q in batch] for batch in split_questions(questions, *limits)] == batches
