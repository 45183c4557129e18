"""What every reader shares: line ends, byte-order marks, gzip, bytes that are no text, and strictness."""

import gzip
import json

import pytest

from as2core.data import (
    asnq,
    insuranceqa,
    jsonl,
    natural_questions,
    qed,
    qrels,
    selqa,
    squad,
    trecqa,
    wikipassageqa,
    wikiqa,
)
from as2core.data.source import Report, read_all, stream_lines
from as2core.errors import UnreadableFile
from as2core.types import Candidate, Question

ASKED = [
    Question("q1", "Who went?", (Candidate("a", "She did — at once.", 1, "T"), Candidate("b", "No.", 0, "T"))),
    Question("q2", "Who stayed?", (Candidate("a", "He did.", 1, "T"), Candidate("b", "No.", 0, "T"))),
]
NQ = {
    "example_id": 1,
    "question_text": "who went",
    "document_text": "<P> Ada went — at once . </P>",
    "annotations": [
        {"long_answer": {"start_token": 0, "end_token": 8}, "short_answers": [{"start_token": 1, "end_token": 2}]}
    ],
}
QED = {
    "example_id": 1,
    "title_text": "T",
    "question_text": "who went",
    "paragraph_text": "Ada went — at once . Nobody stayed .",
    "sentence_starts": [0, 21],
    "original_nq_answers": [],
    "annotation": {"explanation_type": "single_sentence", "selected_sentence": {"start": 0, "end": 19}},
}
SQUAD = {
    "context": "Ada went at once. Nobody stayed.",
    "qas": [{"id": "1", "question": "Who went?", "answers": [{"text": "Ada", "answer_start": 0}]}],
}
SQUAD_FILE = {"data": [{"title": "T", "paragraphs": [SQUAD]}]}
TREC = "".join(
    f"<QApairs id='{q.qid}'>\n<question>\n{q.text}\n</question>\n"
    + "".join(f"<{tag}>\n{c.text}\n</{tag}>\n" for tag, c in zip(("positive", "negative"), q.candidates, strict=True))
    + "</QApairs>\n"
    for q in ASKED
)
FILES = {
    "jsonl": (jsonl.stream, jsonl.dumps(ASKED), "{}"),
    "wikiqa": (wikiqa.stream, "".join(wikiqa.to_lines(ASKED)), "too\tfew"),
    "qrels": (qrels.stream, "".join(qrels.to_lines(ASKED)), "too few"),
    "trecqa": (trecqa.stream, TREC, "outside"),
    "asnq": (asnq.stream, "".join(asnq.to_lines(ASKED)), "Who?\tMe.\t5"),
    "selqa-tsv": (selqa.stream_tsv, "Who?\tMe — I.\t1\nWho?\tYou.\t0\n", "Who?\tMe.\t2"),
    "natural-questions": (natural_questions.stream, json.dumps(NQ, ensure_ascii=False) + "\n", "{}"),
    "qed": (qed.stream, json.dumps(QED, ensure_ascii=False) + "\n", "{}"),
}


@pytest.mark.parametrize("name", FILES)
def test_line_ends_a_byte_order_mark_blank_lines_and_gzip_change_nothing(name, tmp_path):
    stream, text, _ = FILES[name]
    plain, report = read_all(stream, text.encode())
    assert plain and report == []
    (tmp_path / "packed").write_bytes(gzip.compress(text.encode()))
    for other in (text.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + text.encode(), text.encode() + b"\n \n"):
        assert read_all(stream, other) == (plain, [])
    assert read_all(stream, tmp_path / "packed")[0] == plain


@pytest.mark.parametrize("name", FILES)
def test_a_malformed_line_is_told_by_its_number_the_rest_is_read_and_strict_stops(name):
    stream, text, bad = FILES[name]
    plain, _ = read_all(stream, text.encode())
    lines = text.splitlines()
    found, report = read_all(stream, "\n".join([*lines, bad]).encode())
    assert found == plain and [p.line for p in report] == [len(lines) + 1] and report[0].reason
    with pytest.raises(UnreadableFile, match=rf"^the data given: line {len(lines) + 1}: "):
        read_all(stream, "\n".join([*lines, bad]).encode(), strict=True)


@pytest.mark.parametrize("name", FILES)
def test_a_line_that_is_not_utf8_is_a_problem_of_that_line_alone(name):
    stream, text, _ = FILES[name]
    plain, _ = read_all(stream, text.encode())
    number = text.count("\n") + 1
    found, report = read_all(stream, text.encode() + b"caf\xe9\n")
    assert found == plain
    assert report == [f"line {number}: not UTF-8 text (byte 3 of the line); save the file as UTF-8"]


DEEP = '{"x": ' + "[" * 100_000


@pytest.mark.parametrize("name", ["jsonl", "qed", "natural-questions"])
def test_a_line_of_too_many_brackets_is_a_problem_of_that_line_alone(name):
    stream, text, _ = FILES[name]
    plain, _ = read_all(stream, text.encode())
    found, (problem,) = read_all(stream, f"{DEEP}\n{text}".encode())
    assert found == plain and problem.line == 1 and "nested too deeply to read" in problem


@pytest.mark.parametrize("stream", [squad.stream, selqa.stream, wikipassageqa.stream])
def test_a_file_of_too_many_brackets_is_refused(stream, tmp_path):
    (tmp_path / wikipassageqa.PASSAGES).write_text(DEEP)
    with pytest.raises(UnreadableFile, match="nested too deeply to read"):
        read_all(stream, tmp_path / wikipassageqa.PASSAGES)


@pytest.mark.parametrize(
    ("stream", "text", "at"),
    [
        (qed.stream, json.dumps({**QED, "example_id": None}), "line 1"),
        (natural_questions.stream, json.dumps({**NQ, "example_id": None}), "line 1"),
        (squad.stream, json.dumps(SQUAD_FILE).replace('"id": "1"', '"id": null'), "question 1"),
        (squad.stream, json.dumps(SQUAD_FILE).replace('"Who went?"', "null"), "question 1"),
    ],
)
def test_a_null_for_an_id_or_a_question_counts_as_none(stream, text, at):
    questions, (problem,) = read_all(stream, text.encode())
    assert questions == [] and problem.startswith(f"{at}: ") and "no '" in problem


@pytest.mark.parametrize("name", sorted(set(FILES) - {"wikiqa", "trecqa"}))
def test_an_empty_file_has_no_questions(name):
    found, report = read_all(FILES[name][0], b"")
    assert (found, report, report.lines, report.questions) == ([], [], 0, 0)


def test_an_empty_file_lacks_the_header_or_the_tags_that_some_formats_need():
    with pytest.raises(UnreadableFile, match="the first line must be QuestionID"):
        read_all(wikiqa.stream, b"")
    with pytest.raises(UnreadableFile, match="no <QApairs"):
        read_all(trecqa.stream, b"")


@pytest.mark.parametrize("stream", [insuranceqa.stream, wikipassageqa.stream])
def test_a_set_of_several_files_asks_for_a_path(stream):
    with pytest.raises(UnreadableFile, match="beside them"):
        read_all(stream, b"anything")


@pytest.mark.parametrize(
    ("stream", "text", "at"),
    [
        (qed.stream, 2 * (json.dumps(QED) + "\n"), "line 2"),
        (natural_questions.stream, 2 * (json.dumps(NQ) + "\n"), "line 2"),
        (natural_questions.stream_la, 2 * (json.dumps(NQ) + "\n"), "line 2"),
        (squad.stream, json.dumps({"data": [{"title": "T", "paragraphs": 2 * [SQUAD]}]}), "question 2"),
    ],
)
def test_an_id_that_comes_twice_is_told_as_no_later_reader_could_tell_the_two_apart(stream, text, at):
    questions, report = read_all(stream, text.encode())
    assert [q.qid for q in questions] == ["1"] and report == [f"{at}: question '1' appears twice"]


def test_a_report_counts_lines_blank_ones_too_questions_and_candidates():
    found, report = read_all(jsonl.stream, ("\n" + jsonl.dumps(ASKED) + "{}\n").encode())
    assert (report.lines, report.questions, report.candidates, len(report)) == (4, 2, 4, 1)
    assert found == ASKED


def test_a_file_of_nothing_but_problems_is_given_up_after_ten_thousand():
    with pytest.raises(UnreadableFile, match=r"more than 10,000 problems, the first: line 1: 1 columns"):
        read_all(asnq.stream, b"prose\n" * 10_002)


def test_the_last_line_needs_no_end_and_a_stray_carriage_return_inside_stays():
    assert list(stream_lines(b"a\rb\nc", Report(b""))) == [(1, "a\rb"), (2, "c")]
