"""WikiPassageQA: a question's candidates are its article's passages, in their order."""

import json

import pytest

from as2core.data import wikipassageqa
from as2core.data.source import read_all
from as2core.errors import UnreadableFile

HEADER = "QID\tQuestion\tDocumentID\tDocumentName\tRelevantPassages\n"
ROW = "7\tWhy was it built?\t12\tTower.html\t2,10\n"
PASSAGES = {"12": {"10": "Ten.", "0": "Nought.", "2": "Two."}, "13": {"0": "Other."}}


@pytest.fixture
def read(tmp_path):
    def run(rows, passages=PASSAGES, **settings):
        if passages is not None:
            (tmp_path / "document_passages.json").write_text(json.dumps(passages))
        (tmp_path / "test.tsv").write_text(HEADER + rows)
        return read_all(wikipassageqa.stream, tmp_path / "test.tsv", **settings)

    return run


def test_passages_come_by_their_number_and_the_relevant_ones_are_correct(read):
    (question,), problems = read(ROW)
    assert (question.qid, question.text, problems) == ("7", "Why was it built?", [])
    assert [(c.id, c.text, c.label) for c in question.candidates] == [
        ("12-0", "Nought.", 0),
        ("12-2", "Two.", 1),
        ("12-10", "Ten.", 1),
    ]
    assert question.candidates[0].title == "Tower.html"


def test_a_copy_quoted_as_csv_reads_the_same(read):
    (question,), _ = read('7\t"Why was the ""tower"" built?"\t12\tTower.html\t"2,10"\n')
    assert question.text == 'Why was the "tower" built?' and question.positives == 2


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("8\tWhy?\t12\tT", "4 columns instead of 5"),
        ("8\tWhy?\t99\tT\t0", "no document '99' in document_passages.json"),
        ("8\tWhy?\t12\tT\t0,5", "no passage '5' in document '12'"),
        ("7\tWhy?\t12\tT\t0", "question '7' appears twice"),
    ],
)
def test_a_bad_row_is_told_by_number(read, row, reason):
    questions, problems = read(f"{ROW}{row}\n")
    assert len(questions) == 1 and problems == [f"line 3: {reason}"]
    with pytest.raises(UnreadableFile, match=r"test\.tsv: line 3: "):
        read(f"{ROW}{row}\n", strict=True)


def test_without_its_passages_or_its_header_it_cannot_be_read(read, tmp_path):
    with pytest.raises(UnreadableFile, match=r"document_passages\.json: cannot be read \(No such file"):
        read(ROW, passages=None)
    with pytest.raises(UnreadableFile, match=r"document_passages\.json: not \{document"):
        read(ROW, passages=["no"])
    (tmp_path / "document_passages.json").write_text(json.dumps(PASSAGES))
    (tmp_path / "test.tsv").write_text(ROW)
    with pytest.raises(UnreadableFile, match="the first line must be QID"):
        read_all(wikipassageqa.stream, tmp_path / "test.tsv")
