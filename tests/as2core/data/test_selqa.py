"""SelQA: the JSON for analysis and the tokenised rows for experiments."""

import json

import pytest

from as2core.data import selqa
from as2core.data.source import read_all
from as2core.errors import UnreadableFile

RECORD = {
    "question": "Where are the museums?",
    "article": "Israel",
    "section": "Museums",
    "topic": "COUNTRY",
    "q_types": ["where", "what"],
    "is_paraphrase": True,
    "candidates": ["", "Both are in Jerusalem.", "One is old."],
    "answers": [1],
}


def read(*records):
    return read_all(selqa.stream, json.dumps(records).encode())


def test_candidates_keep_their_place_and_the_answers_are_correct(tmp_path):
    (tmp_path / "selqa-ass-dev.json").write_text(json.dumps([RECORD]))
    (question,), problems = read_all(selqa.stream, tmp_path / "selqa-ass-dev.json")
    assert (question.qid, question.kind, problems) == ("selqa-ass-dev-0", "where", [])
    assert [(c.id, c.label) for c in question.candidates] == [("0-0", 0), ("0-1", 1), ("0-2", 0)]
    assert {c.title for c in question.candidates} == {"Israel"} and question.candidates[0].text == ""


def test_a_question_of_no_type_has_no_kind():
    assert read({**RECORD, "q_types": []})[0][0].kind == ""


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"answers": [3]}, "answer 3 is not among its 3 candidates"),
        ({"answers": ["1"]}, "answer 1 is not among"),
        ({"candidates": [None]}, "a text is not a string"),
        ({"question": None}, "a text is not a string"),
        ({"answers": None}, "TypeError"),
    ],
)
def test_a_wrong_record_is_told_by_its_number(changes, reason):
    questions, (problem,) = read(RECORD, {**RECORD, **changes})
    assert len(questions) == 1 and problem.startswith(f"question 2: {reason}")


def test_another_json_is_refused():
    with pytest.raises(UnreadableFile, match="a list of questions"):
        read_all(selqa.stream, b"{}")
    with pytest.raises(UnreadableFile, match="not SelQA's JSON"):
        read_all(selqa.stream, b"[")


def test_the_rows_have_labels_nought_and_one_and_no_grades():
    rows = b"Where ?\tHere .\t0\nWhere ?\tThere .\t1\nWhen ?\tNow .\t1\n"
    questions, problems = read_all(selqa.stream_tsv, rows)
    assert problems == [] and [q.text for q in questions] == ["Where ?", "When ?"]
    assert [(c.text, c.label, c.grade) for c in questions[0].candidates] == [("Here .", 0, None), ("There .", 1, None)]
