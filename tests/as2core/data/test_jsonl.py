"""JSONL: everything a question has, and each way a line can be wrong."""

import gzip
import json
import tracemalloc

import pytest
from hypothesis import given, settings
from label_sets import QUESTION, question_lists

from as2core.data import jsonl
from as2core.errors import UnreadableFile
from as2core.types import Candidate, Question, Verdict


@settings(deadline=None)
@given(question_lists(grades=(None, 0, 4)))
def test_jsonl_gives_back_what_was_written(questions):
    assert jsonl.read(jsonl.dumps(questions).encode()) == (questions, [])


def test_jsonl_keeps_a_kind_and_reads_from_a_gzipped_path(tmp_path):
    asked = [Question("q", "Who?", QUESTION.candidates, kind="who")]
    (tmp_path / "q.jsonl.gz").write_bytes(gzip.compress(jsonl.dumps(asked).encode()))
    assert jsonl.read(tmp_path / "q.jsonl.gz")[0] == asked
    jsonl.write(asked, tmp_path / "q.jsonl")
    assert jsonl.read(tmp_path / "q.jsonl")[0] == asked


def test_jsonl_keeps_who_said_what():
    annotations = (("ann", "correct"), ("bob", "unsure"))
    asked = [Question("q", "Who?", (Candidate("a", "A", 1, annotations=annotations), Candidate("b", "B")))]
    assert jsonl.read(jsonl.dumps(asked).encode()) == (asked, [])


def test_jsonl_keeps_how_a_conflict_was_settled_and_why():
    annotations = (("ann", "correct"), ("bob", "incorrect"))
    noted = Candidate("a", "A", 1, annotations=annotations, verdict=Verdict("cy", "correct", "it is the year"))
    asked = [
        Question("q", "Who?", (noted, Candidate("b", "B", annotations=annotations, verdict=Verdict("ann", "unsure"))))
    ]
    assert jsonl.read(jsonl.dumps(asked).encode()) == (asked, [])


def judge(verdict):
    return line(candidates=[{"id": "a", "text": "A", "labels": {"ann": "correct"}, "verdict": verdict}])


def line(**changes):
    record = {"qid": "q", "question": "Who?", "candidates": [{"id": "a", "text": "A", "label": 1}]} | changes
    return json.dumps({k: v for k, v in record.items() if v is not ...})


BAD_LINES = {
    "{": "the JSON ends before it is complete",
    "[]": "not a JSON object",
    line(candidates=...): 'no "candidates": a line is a question with all of them; a label a line has',
    line(candidates="She."): '"candidates" is not a list',
    line(qid=...): '"qid" is missing',
    line(qid=["x"]): '"qid" is not a string',
    line(question=None): '"question" is missing',
    line(candidates=[3]): "candidate 1: not a JSON object",
    line(candidates=[{"id": "a", "text": "A", "label": 2}]): "candidate 1: label 2 is not 0, 1 or null",
    line(candidates=[{"id": "a", "text": "A", "label": True}]): "candidate 1: label True is not 0, 1 or null",
    line(candidates=[{"id": "a", "text": "A", "grade": "4"}]): "candidate 1: grade '4' is not a whole number",
    line(candidates=[{"id": "a", "text": "A", "grade": True}]): "candidate 1: grade True is not a whole number",
    line(candidates=[{"id": "a", "text": "A", "labels": ["ann"]}]): 'candidate 1: "labels" is not a JSON object',
    line(candidates=[{"id": "a", "text": "A", "labels": {"ann": 1}}]): 'candidate 1: "ann" is not a string',
    line(candidates=[{"id": "a", "text": "A", "labels": {"ann": "yes"}}]): "candidate 1: label 'yes' of 'ann' is not",
    line(candidates=[{"id": "a", "text": "A", "labels": {" ": "unsure"}}]): 'candidate 1: a name in "labels" is empty',
    line(
        candidates=[{"id": "a", "text": "A", "verdict": {"by": "ann", "label": "correct"}}]
    ): 'candidate 1: a "verdict" without the "labels"',
    judge("correct"): 'candidate 1: "verdict" is not a JSON object',
    judge({"label": "correct"}): 'candidate 1: "by" is missing',
    judge({"by": " ", "label": "correct"}): 'candidate 1: "by" of "verdict" is empty',
    judge({"by": "ann", "label": "withdrawn"}): "candidate 1: verdict 'withdrawn' is not",
    judge({"by": "ann", "label": "correct", "note": 3}): 'candidate 1: "note" is not a string',
    line(candidates=[{"id": "a", "text": 5}]): 'candidate 1: "text" is not a string',
    line(candidates=[{"id": "a", "text": "A"}, {"id": "a", "text": "B"}]): "two candidates have the same id",
    line(question="half \ud800"): "half a character",
    "[" * 100_000: "nested too deeply",
}


@pytest.mark.parametrize("bad", BAD_LINES)
def test_a_bad_line_of_jsonl_is_told_by_number_and_the_others_are_read(bad):
    content = f"{line(qid='first')}\n\n{bad}\n{line(qid='last')}\n".encode()
    questions, problems = jsonl.read(content)
    assert [q.qid for q in questions] == ["first", "last"]
    (problem,) = problems
    assert (
        problem.startswith(f"line 3: {BAD_LINES[bad]}") and problem.line == 3 and problem == f"line 3: {problem.reason}"
    )
    with pytest.raises(UnreadableFile, match="the data given: line 3: "):
        jsonl.read(content, strict=True)


def test_a_question_that_comes_twice_is_told_with_its_first_line():
    _, problems = jsonl.read(f"{line()}\n{line()}\n".encode())
    assert problems == ["line 2: question 'q' appears twice"]


def test_a_file_that_is_missing_or_cut_short_is_named(tmp_path):
    with pytest.raises(UnreadableFile, match=r"nope\.jsonl: cannot be read \(No such file"):
        jsonl.read(tmp_path / "nope.jsonl")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"x" * 1000)[:20])
    with pytest.raises(UnreadableFile, match=r"cut\.gz: cannot be read"):
        jsonl.read(tmp_path / "cut.gz")


def test_one_question_is_in_memory_at_a_time_when_many_are_written(tmp_path):
    questions = (Question(f"q{i}", "who ?", (Candidate("a", "x" * 100_000, 1),)) for i in range(200))
    tracemalloc.start()
    try:
        jsonl.write(questions, tmp_path / "set.jsonl")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (tmp_path / "set.jsonl").stat().st_size > 200 * 100_000
    assert peak < 5_000_000
