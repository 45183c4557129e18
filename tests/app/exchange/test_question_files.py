"""A file of questions is read as what it is, or refused with what to do."""

import pytest
from workbook_files import make_book

from app.exchange.question_files import MAX_FILE_BYTES, read_questions, split_list
from as2core.errors import UnreadableFile
from as2core.sources.spreadsheet import defuse_formula


@pytest.mark.parametrize(
    ("name", "content", "questions"),
    [
        ("list.txt", b"1. Who?\n2. A request, query, or call?\n\n", ["Who?", "A request, query, or call?"]),
        ("list.txt", "Wer war früh?".encode("cp1252"), ["Wer war früh?"]),
        ("list.md", b"- Who built it?\n- When\n  was that?\n", ["Who built it?", "When was that?"]),
        ("log.csv", 'Query;Date\nWho?;1.1.\n"Where,\nand?";2.1.\n;3.1.\n'.encode("utf-16"), ["Who?", "Where, and?"]),
        ("one.csv", b"sep=,\nquestion\nWhat is it, and why?\n\"Who, then?\"\n", ["What is it, and why?", "Who, then?"]),
        ("export.txt", b"date\tquestion\n1.1.\tWho?\n2.1.\n", ["Who?"]),
        ("mine.xlsx", make_book([["Asked on", "Question"], ["1.1.", "Who painted it?"]]), ["Who painted it?"]),
        ("marks.csv", b"n,question\n1,2. quarter revenue\n2,tax rate\n", ["quarter revenue", "tax rate"]),
        ("queries.tsv", b"1048585\twhat is a kiln\n2\twho built it\n", ["what is a kiln", "who built it"]),
        ("queries.jsonl", b'{"_id": "1", "text": "who?"}\n{"query": "why?", "text": "no"}\n', ["who?", "why?"]),
        ("formula.csv", f"question,n\n{defuse_formula('=who?')},1\n".encode(), ["=who?"]),
    ],
)  # fmt: skip
def test_questions_are_read_from_lists_tables_and_json_lines(name, content, questions):
    assert read_questions(name, content) == questions


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.csv", b"name,age\nAnn,2\n", "the first line must name a column question or query"),
        (
            "a.csv",
            b"question,sentence,label\nWho?,Ann.,correct\n",
            "it holds labels or scores; import labels under Data",
        ),
        (
            "a.jsonl",
            b'{"qid": "1", "question": "Who?", "candidates": []}\n',
            "it holds labels or scores; import labels under Data",
        ),
        ("a.jsonl", b'{"text": "who?"}\n{"x": 1}\n', "line 2: none of the fields question, query, text"),
        ("a.jsonl", b'{"text": "who?"}\n{"query": \n', "line 2: the JSON ends before it is complete"),
        ("a.jsonl", b'{"text": null}\n', "line 1: no 'text'"),
        ("a.jsonl", b'{"text": "\\ud800"}\n', 'line 1: half a character (a lone surrogate) in "text"'),
        ("a.json", b'[{"question": "Who?"}]', "write one record per line (JSONL), or one question"),
        ("a.txt", b" \n", "the file is empty"),
        ("a.csv", b"question\n\n", "no question in it"),
        ("a.pdf", b"%PDF-1.4\n\x00\xff", "it holds bytes that are not text"),
        ("a.txt", b"Who?\n" * (MAX_FILE_BYTES // 5 + 1), "it has more than 10 MB; divide it"),
    ],
)
def test_what_is_no_list_of_questions_is_refused_with_its_name_and_the_reason(name, content, reason):
    with pytest.raises(UnreadableFile) as caught:
        read_questions(name, content)
    assert str(caught.value).startswith(f"{name}: ") and reason in str(caught.value)


def test_a_numbered_question_over_two_lines_is_one_and_lines_without_marks_are_each_their_own():
    assert split_list("1. How do I\n   reset it?\n2. Why?\nWhen was it\n\n3. Who") == [
        "How do I reset it?", "Why?", "When was it", "", "Who",
    ]  # fmt: skip
    assert split_list("how do I reset it\nwho built it") == ["how do I reset it", "who built it"]
