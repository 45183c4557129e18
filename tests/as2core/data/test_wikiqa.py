"""WikiQA's TSV: read and written to the same bytes, and each way a row can be wrong."""

import pytest
from hypothesis import given, settings
from label_sets import PLAIN, QUESTION, question_lists

from as2core.data import wikiqa
from as2core.data.source import read_all
from as2core.errors import UnreadableFile

HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"
WIKIQA = (
    HEADER
    + "q1\thow long is it ?\tD1\tA river\tD1-0\tIt is long .\t0\n"
    + 'q1\thow long is it ?\tD1\tA river\tD1-1\tIt is 6,650 km "long" .\t1\n'
    + "q1\thow long is it ?\tD1\tA river\tD1-2\tNobody knows — really…\t\n"
)


def test_wikiqa_is_read_without_minding_quotes_and_written_to_the_same_bytes(tmp_path):
    assert read_all(wikiqa.stream, WIKIQA.encode()) == ([QUESTION], [])
    (tmp_path / "w.tsv").write_text("".join(wikiqa.to_lines([QUESTION])))
    assert (tmp_path / "w.tsv").read_bytes() == WIKIQA.encode()


def test_lines_may_end_in_a_carriage_return_which_is_no_part_of_the_label():
    assert read_all(wikiqa.stream, WIKIQA.replace("\n", "\r\n").encode()) == ([QUESTION], [])


@settings(deadline=None)
@given(question_lists(ids=PLAIN.filter(bool), texts=PLAIN, smallest=1))
def test_wikiqa_gives_back_what_fits_its_columns(questions):
    assert read_all(wikiqa.stream, "".join(wikiqa.to_lines(questions)).encode()) == (questions, [])


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("q1\thow", "2 columns instead of 7"),
        ("q1\thow long is it ?\tD1\t\tD1-9\tText\tyes", "label 'yes' is not 0 or 1"),
        ("q1\tanother text\tD1\t\tD1-9\tText\t0", "question 'q1' has another text than above"),
        ("q1\thow long is it ?\tD1\t\tD1-0\tText\t0", "document 'D1-0' appears twice for question 'how long is it ?'"),
        ("\twhat\tD1\t\tD1-0\tText\t0", "QuestionID is empty"),
    ],
)
def test_a_bad_row_of_wikiqa_is_told_by_number(row, reason):
    questions, problems = read_all(wikiqa.stream, (WIKIQA + row + "\n").encode())
    assert questions == [QUESTION] and problems == [f"line 5: {reason}"]


def test_a_tsv_without_the_header_is_not_wikiqa():
    with pytest.raises(UnreadableFile, match="the first line must be QuestionID"):
        read_all(wikiqa.stream, WIKIQA.removeprefix(HEADER).encode())
