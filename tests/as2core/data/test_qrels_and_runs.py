"""trec_eval's qrels and runs: ids with white space, ties, and each way a line can be wrong."""

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from label_sets import QUESTION, question_lists

from as2core.data import qrels, runs
from as2core.data.source import read_all
from as2core.errors import BadSetting
from as2core.types import Candidate, Question


@settings(deadline=None)
@given(question_lists(texts=st.just(""), labels=(0, 1), smallest=1))
def test_qrels_give_back_ids_and_labels_white_space_and_all(questions):
    plain = [Question(q.qid, "", tuple(Candidate(c.id, "", c.label) for c in q.candidates)) for q in questions]
    assert read_all(qrels.stream, "".join(qrels.to_lines(questions)).encode()) == (plain, [])


def test_an_id_may_begin_like_json(tmp_path):
    question = Question("{", "", (Candidate("a", "", 1), Candidate("b", "", 0)))
    assert read_all(qrels.stream, "".join(qrels.to_lines([question])).encode()) == ([question], [])
    file = tmp_path / "a.run"
    file.write_text("{ Q0 a 1 2.0 x\n{ Q0 b 2 1.0 x\n")
    assert runs.read_run_scores(file) == {"{": {"a": 2.0, "b": 1.0}}


def test_qrels_are_written_as_trec_eval_wants_them_without_the_unjudged():
    assert "".join(qrels.to_lines([QUESTION])) == "q1 0 D1-0 0\nq1 0 D1-1 1\n"


def test_graded_relevance_above_nought_is_correct():
    (question,), _ = read_all(qrels.stream, b"q 0 a 3\nq 0 b -1\nq\t0\tc\t0\n")
    assert [c.label for c in question.candidates] == [1, 0, 0]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("q 0 a", "3 columns instead of 4"),
        ("q 0 z x", "rating 'x' is not"),
        ("q 0 a 1", "document 'a' appears twice"),
    ],
)
def test_a_bad_line_of_qrels_is_told_by_number(bad, reason):
    (question,), (problem,) = read_all(qrels.stream, f"q 0 a 1\n{bad}\n".encode())
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
    written = pytrec_eval.parse_run(qrels.run_to_lines(questions, scores, tag="my tag"))
    run = {qrels.unescape_id(qid): docs for qid, docs in written.items()}
    for q in questions:
        found = {qrels.unescape_id(docid): score for docid, score in run[q.qid].items()}
        assert found == {c.id: float(s) for c, s in zip(q.candidates, scores[q.qid], strict=True)}
        assert list(found.values()) == sorted(found.values(), reverse=True)


def test_ties_in_a_run_are_broken_in_writing_for_trec_eval_would_do_so_by_name():
    written = "".join(qrels.run_to_lines([QUESTION], {"q1": np.array([0.5, 0.5, 0.9])}, tag="wo"))
    assert written.splitlines() == ["q1 Q0 D1-2 1 3.0 wo", "q1 Q0 D1-0 2 2.0 wo", "q1 Q0 D1-1 3 1.0 wo"]


def test_scores_that_do_not_fit_the_candidates_are_refused():
    with pytest.raises(BadSetting, match="2 scores for 3 candidates"):
        "".join(qrels.run_to_lines([QUESTION], {"q1": np.zeros(2)}, tag="t"))
