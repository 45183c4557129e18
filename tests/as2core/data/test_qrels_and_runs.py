"""trec_eval's qrels and runs: ids with white space, ties, and each way a line can be wrong."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from label_sets import QUESTION, question_lists

from as2core.data import qrels
from as2core.errors import BadSetting
from as2core.types import Candidate, Question


@settings(deadline=None)
@given(question_lists(texts=st.just(""), labels=(0, 1), smallest=1))
def test_qrels_give_back_ids_and_labels_white_space_and_all(questions):
    plain = [Question(q.qid, "", tuple(Candidate(c.id, "", c.label) for c in q.candidates)) for q in questions]
    assert qrels.read(qrels.dumps(questions).encode()) == (plain, [])


def test_qrels_are_written_as_trec_eval_wants_them_without_the_unjudged():
    assert qrels.dumps([QUESTION]) == "q1 0 D1-0 0\nq1 0 D1-1 1\n"


def test_graded_relevance_above_nought_is_correct():
    (question,), _ = qrels.read(b"q 0 a 3\nq 0 b -1\nq\t0\tc\t0\n")
    assert [c.label for c in question.candidates] == [1, 0, 0]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("q 0 a", "3 columns instead of 4"),
        ("q 0 z x", "relevance 'x' is not"),
        ("q 0 a 1", "document 'a' stands twice"),
    ],
)
def test_a_bad_line_of_qrels_is_told_by_number(bad, reason):
    (question,), (problem,) = qrels.read(f"q 0 a 1\n{bad}\n".encode())
    assert question.positives == 1 and problem.startswith(f"line 2: {reason}")


@settings(deadline=None)
@given(question_lists(texts=st.just(""), smallest=1), st.data())
def test_a_run_gives_back_distinct_scores_exactly(questions, data):
    numbers = st.floats(-1e6, 1e6, width=32)
    scores = {
        q.qid: np.array(
            data.draw(st.lists(numbers, unique=True, min_size=len(q.candidates), max_size=len(q.candidates))),
            np.float32,
        )
        for q in questions
    }
    scores = {qid: given + 0.0 for qid, given in scores.items()}  # -0.0 equals 0.0
    found, problems = qrels.read_run(qrels.dumps_run(questions, scores, tag="my tag").encode())
    assert problems == []
    for q in questions:
        assert found[q.qid] == {c.id: float(s) for c, s in zip(q.candidates, scores[q.qid], strict=True)}
        assert list(found[q.qid].values()) == sorted(found[q.qid].values(), reverse=True)


def test_ties_in_a_run_are_broken_in_writing_for_trec_eval_would_do_so_by_name():
    written = qrels.dumps_run([QUESTION], {"q1": np.array([0.5, 0.5, 0.9])}, tag="wo")
    assert written.splitlines() == ["q1 Q0 D1-2 1 3.0 wo", "q1 Q0 D1-0 2 2.0 wo", "q1 Q0 D1-1 3 1.0 wo"]


def test_bad_lines_of_a_run_are_told_and_wrong_scores_refused():
    found, problems = qrels.read_run(b"q Q0 a 1 0.5 t\nq Q0 b 2 nan t\nq Q0 c 3\nq Q0 a 4 0.1 t\n")
    assert found == {"q": {"a": 0.5}} and [p.line for p in problems] == [2, 3, 4]
    with pytest.raises(BadSetting, match="2 scores for 3 candidates"):
        qrels.dumps_run([QUESTION], {"q1": np.zeros(2)}, tag="t")
