"""Ratings as CSV: quoted fields, ids from the query's text, and each way a row can be wrong."""

import csv
import io
import json

import pytest
from hypothesis import given, settings
from label_sets import IDS, QUESTION, TEXTS, question_lists

from as2core.data import catalog
from as2core.data.label_files import csv_ratings, quepid
from as2core.data.source import read_all
from as2core.errors import UnreadableFile


@settings(deadline=None)
@given(question_lists(ids=IDS, texts=TEXTS.filter(str.strip), labels=(0, 1), smallest=1))
def test_ratings_give_back_queries_ids_and_labels(questions):
    by_text = {q.text: q for q in questions}
    read, problems = read_all(csv_ratings.stream, "".join(csv_ratings.to_lines(by_text.values())).encode())
    assert problems == []
    assert [(q.text, [(c.id, c.label) for c in q.candidates]) for q in read] == [
        (text, [(c.id, c.label) for c in q.candidates]) for text, q in by_text.items()
    ]


def test_ratings_are_a_plain_csv_and_a_question_has_the_same_id_in_every_file():
    rows = list(csv.DictReader(io.StringIO("".join(csv_ratings.to_lines([QUESTION])))))
    assert rows[1] == {"query": "how long is it ?", "docid": "D1-1", "rating": "1"} and len(rows) == 2
    ids = {read_all(csv_ratings.stream, f"query,docid,rating\r\nWho?,{d},1\r\n".encode())[0][0].qid for d in "ab"}
    assert len(ids) == 1


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("Who?,a", "2 fields instead of 3"),
        (",a,1", "query or docid is empty"),
        ("Who?,b,good", "rating 'good' is not"),
        ("Who?,b,--3", "rating '--3' is not"),
        ("Who?,b,+", "rating '+' is not"),
        ("Who?,b,9999999999", "rating '9999999999' is not"),
        ("Who?,a,0", "document 'a' appears twice"),
    ],
)
def test_a_bad_rating_is_told_by_number_after_a_field_of_two_lines(bad, reason):
    content = f'query,docid,rating\nWho?,a,3\n"Where\nto?",a,0\n{bad}\n'.encode()
    questions, (problem,) = read_all(csv_ratings.stream, content)
    assert [q.text for q in questions] == ["Who?", "Where\nto?"] and problem.startswith(f"line 5: {reason}")


def test_a_document_that_nobody_has_rated_has_no_label():
    [question], problems = read_all(csv_ratings.stream, b"query,docid,rating\nWho?,a,3\nWho?,b,\nWho?,c, \n")
    assert [(c.id, c.label) for c in question.candidates] == [("a", 1), ("b", None), ("c", None)] and problems == []


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_a_spreadsheet_may_divide_the_columns_by_semicolons_or_tabs(delimiter):
    content = delimiter.join(("\ufeffquery", "docid", 'rating\r\n"Who, then?"', "a", "1\r\n")).encode()
    assert catalog.sniff(content) == "csv"
    [question], problems = read_all(csv_ratings.stream, content)
    assert (question.text, question.candidates[0].id, problems) == ("Who, then?", "a", [])


def test_a_row_that_is_not_utf8_is_a_problem_of_that_row_alone():
    content = b'query,docid,rating\nWho?,a,1\n"caf\xe9\nor bar?",b,1\nWho?,b,0\n'
    (question,), report = read_all(csv_ratings.stream, content)
    assert [(c.id, c.label) for c in question.candidates] == [("a", 1), ("b", 0)]
    assert report == ["line 3: not UTF-8 text; save the file as UTF-8"] and report.lines == 5


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a,b\n", "must be query,docid,rating or question,sentence,label, not a,b"),
        ("query".encode("utf-16"), "line 1: not UTF-8 text"),
    ],
)
def test_a_csv_with_other_columns_is_refused(content, said):
    with pytest.raises(UnreadableFile, match=said):
        read_all(csv_ratings.stream, content)


@pytest.mark.parametrize(
    ("key", "ratings"),
    [("query", '{"7": 3, "8": 0}'), ("query_text", '[{"doc_id": "7", "rating": 3}, {"doc_id": "8", "rating": 0.0}]')],
)
def test_a_case_of_quepid_as_json_is_read_by_the_ids_of_its_documents(key, ratings):
    case = f'{{"case_name": "x", "queries": [{{"{key}": "Who?", "ratings": {ratings}}}, {{"{key}": "Why?"}}]}}'.encode()
    assert catalog.sniff(case) == "quepid"
    [question], report = read_all(quepid.stream, case)
    assert question.qid == read_all(csv_ratings.stream, b"query,docid,rating\nWho?,7,3\n")[0][0].qid
    assert [(c.id, c.label, c.grade) for c in question.candidates] == [("7", 1, 3), ("8", 0, None)]
    assert report == [] and dict(report.omissions) == {quepid.UNRATED: 1}


def test_a_rating_of_quepids_that_cannot_be_read_is_named_by_its_number():
    queries = [{"query": "", "ratings": {"6": 1}}, {"query": "Who?", "ratings": {"7": "good", "8": 1}}]
    [question], report = read_all(quepid.stream, json.dumps({"queries": queries}).encode())
    assert [c.id for c in question.candidates] == ["8"]
    assert [p.split(":")[0] for p in report] == ["rating 1", "rating 2"] and not report.omissions
