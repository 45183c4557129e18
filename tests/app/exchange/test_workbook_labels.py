"""Labels in an Excel workbook are read as the same table in a CSV."""

import pytest
from exchanged import import_new, import_tower
from label_files import import_labels
from workbook_files import make_book

from app.exchange.label_files import read_labels
from as2core.data.label_files import sheets
from as2core.documents.office_files import OLD_FORMAT
from as2core.errors import UnreadableFile
from as2core.parser_process import ParserProcess

HEADER = ["Question", "Sentence", "Label", "Notes"]
ROWS = [
    ["Who painted it?", "Ann painted it.", True, "sure"],
    ["Who painted it?", "It is red.", False],
    ["When was it built?", "It was built in 1889,\nas a gate.", 1],
    ["When was it built?", "=SUM(A1) is a formula.", "incorrect"],
    ["When was it built?", "-5 degrees were measured.", "correct"],
]


def list_labels(questions):
    return [(q.text, c.text, c.label) for q in questions for c in q.candidates]


def as_text(sheet):
    """A text that begins with "=" is one, and no formula."""
    sheet["B5"].data_type = "s"


def test_texts_truth_values_and_numbers_are_the_labels_that_they_look_like():
    found = read_labels("mine.xlsx", make_book([HEADER, *ROWS], edit=as_text))
    assert found.fmt == "table" and found.problems == []
    assert list_labels(found.questions) == [
        ("Who painted it?", "Ann painted it.", 1),
        ("Who painted it?", "It is red.", 0),
        ("When was it built?", "It was built in 1889, as a gate.", 1),
        ("When was it built?", "=SUM(A1) is a formula.", 0),
        ("When was it built?", "-5 degrees were measured.", 1),
    ]


def test_the_sheet_with_the_columns_is_read_and_a_bad_row_is_told_by_its_number(wb):
    rows = [[], HEADER, ROWS[0], [], ["Who painted it?", "It is old.", "perhaps"], ROWS[1]]
    done = import_new(wb, "mine.xlsx", make_book([["About"], ["Labels of May"]], rows, names=["Read me", "Labels"]))
    assert done.new == 2
    [(line, reason)] = done.malformed
    assert line == 5 and "perhaps" in reason


def test_ratings_of_known_sentences_are_read_too(wb):
    content = make_book([["query", "docid", "rating"], ["Who painted it?", "tower-0", 1], ["", "tower-1", 0]])
    done = import_labels(wb, import_tower(wb), "judgements.xlsx", content)
    assert done.new >= 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (make_book([]), "mine.xlsx: its sheets are empty"),
        (make_book([["Question"], ["Who painted it?"]]), "add them under Data, Questions"),
        (
            make_book([["Part", "Price"], ["4711", 3]]),
            "query,docid,rating or question,sentence,label, not Part,Price",
        ),
        (OLD_FORMAT + b"rest", "mine.xlsx: it is of an old version of Excel; save it as Excel workbook"),
    ],
)
def test_a_workbook_without_labels_is_named_with_the_remedy(content, said):
    with pytest.raises(UnreadableFile, match=said):
        read_labels("mine.xlsx", content)


def test_a_workbook_beyond_the_limit_is_not_read(monkeypatch):
    content = make_book([HEADER, *ROWS[:3]])
    monkeypatch.setattr(sheets, "MAX_SHEETS_BYTES", 1000)
    monkeypatch.setattr(ParserProcess, "write_table", lambda *content: pytest.fail("it is read"))
    with pytest.raises(UnreadableFile, match="save it as CSV"):
        read_labels("mine.xlsx", content)


def test_the_apostrophe_that_an_exported_table_has_before_a_formula_is_taken_away():
    content = make_book([["question", "sentence", "label", "title"], ["Why?", "'=1+1 is two.", "correct", "Sums"]])
    assert list_labels(read_labels("mine.xlsx", content).questions) == [("Why?", "=1+1 is two.", 1)]


def test_a_workbook_is_read_in_a_process_of_its_own_and_its_fault_is_one_of_the_file(monkeypatch):
    def give_up(_parser, _content):
        raise UnreadableFile("reading it took more than 20 s")

    monkeypatch.setattr(ParserProcess, "write_table", give_up)
    with pytest.raises(UnreadableFile, match=r"mine\.xlsx: reading it took more than 20 s"):
        read_labels("mine.xlsx", make_book([HEADER, *ROWS[:3]]))


def test_rows_that_are_far_wider_than_a_table_are_refused(monkeypatch):
    monkeypatch.setattr(sheets, "MAX_CELLS", 100)
    far = [None] * 60
    with pytest.raises(UnreadableFile, match="2 rows of 63 columns are no table of labels"):
        sheets.write_table(make_book([HEADER[:3], ["Why?", "So.", *far, "x"]]))


def test_the_report_names_the_hidden_parts_of_the_sheet_that_is_read(wb):
    def hide(sheet):
        sheet.row_dimensions[3].hidden = True
        sheet.column_dimensions["D"].hidden = True
        sheet.parent.create_sheet("Old").sheet_state = "hidden"

    done = import_new(wb, "mine.xlsx", make_book([HEADER, *ROWS[:3]], edit=hide))
    assert done.new == 2
    assert "hidden parts that are not read: sheet Old, 1 row and 1 column of sheet Sheet1" in done.notes
