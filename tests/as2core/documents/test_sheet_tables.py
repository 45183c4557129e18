"""The rows of sheets as documents: which row names the columns, and what becomes of the others."""

from datetime import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl.styles import PatternFill
from workbook_files import make_bold, make_book, read_book, read_rows

from as2core.documents.reading import read_documents
from as2core.documents.sections import split_document

FAQ = [["Question", "Answer"], ["Is it free?", "Yes.\nFor all."], ["Who asks?", "Ann."]]
PRICES = [["Item", "Price"], ["Bolt", 3.5], ["Nut", 2]]
PEOPLE = [["Name", "Team", "Room"], ["Ann", "Sales", "East"], ["Bo", "IT", "West"]]
UNNAMED = ["Name | Team | Room", "Ann | Sales | East", "Bo | IT | West"]
NAMED = ["Name: Ann | Team: Sales | Room: East", "Name: Bo | Team: IT | Room: West"]


def test_a_sheet_with_a_column_of_texts_is_read_as_that_csv_is():
    table = [["ID", "Title", "Text", "Year"], ["7", "Ulm", "It is old.\nVery old.", 854], [None, None, "New.", None]]
    lines = 'ID,Title,Text,Year\n7,Ulm,"It is old.\nVery old.",854\n,,New.,\n'
    [first, second] = read_book(make_book(table), "towns.xlsx")
    [from_csv, other] = read_documents("towns.csv", lines.encode())
    for ours, theirs in ((first, from_csv), (second, other)):
        assert (ours.title, ours.text, ours.meta) == (theirs.title, theirs.text, theirs.meta)
    assert (first.id, second.id) == ("7", "towns-3")


@pytest.mark.parametrize(
    "above",
    [
        [],
        [[]],
        [["Frequent questions"], []],
        [["Frequent questions"], ["Updated in May"]],
        [["Owner", "Ann"], ["Version", "2"], []],
    ],
)
def test_a_header_is_found_below_a_title_and_empty_rows(above):
    documents = read_book(make_book([*above, *FAQ]), "faq.xlsx")
    assert [(d.title, d.text) for d in documents] == [("Is it free?", "Yes.\nFor all."), ("Who asks?", "Ann.")]
    assert [d.id for d in documents] == [f"faq-{len(above) + 2}", f"faq-{len(above) + 3}"]


def test_a_title_that_is_merged_over_columns_between_the_rows_is_no_document():
    book = make_book([FAQ[0], ["Money"], *FAQ[1:]], edit=lambda sheet: sheet.merge_cells("A2:B2"))
    assert [d.title for d in read_book(book)] == ["Is it free?", "Who asks?"]


def test_a_question_that_is_merged_over_rows_stands_beside_each_of_its_answers():
    book = make_book([FAQ[0], ["Why?", "One."], [None, "Two."]], edit=lambda sheet: sheet.merge_cells("A2:A3"))
    assert [(d.title, d.text) for d in read_book(book)] == [("Why?", "One."), ("Why?", "Two.")]


@pytest.mark.parametrize(
    ("rows", "read"),
    [
        ([["Field", "Kind"], ["id", "number"], ["name", "text"]], ["Field | Kind", "id | number", "name | text"]),
        ([["Name", "Body"], ["Bolt", 3], ["Nut", 5]], ["Name: Bolt | Body: 3", "Name: Nut | Body: 5"]),
        ([["Parts of a letter"], ["head"], ["body"], ["foot"]], ["Parts of a letter", "head", "body", "foot"]),
    ],
)
def test_a_word_such_as_text_or_body_among_others_makes_no_documents_of_rows(rows, read):
    assert read_rows(*rows) == read


def test_a_row_without_an_answer_is_reported_by_its_sheet_and_the_others_are_read():
    problems = []
    book = make_book([*FAQ, ["Why?", None]], PRICES, names=["FAQ", "Prices"])
    documents = list(read_documents("a.xlsx", book, on_problem=problems.append))
    assert [d.id for d in documents] == ["a-FAQ-2", "a-FAQ-3", "a-Prices"]
    assert problems == ["sheet FAQ, row 4: 'answer' holds no text"]


def test_words_above_numbers_name_their_columns():
    assert read_rows(*PRICES) == ["Item: Bolt | Price: 3.5", "Item: Nut | Price: 2"]
    hours = [["Day", "Opens"], ["Monday", time(9)], ["Sunday", "closed"]]
    assert read_rows(*hours) == ["Day | Opens", "Monday | 9:00", "Sunday | closed"]  # which may be a day's own row


def test_words_above_long_texts_or_above_figures_name_their_columns():
    rows = [
        ["Thema", "Was gilt"],
        ["Urlaub", "Wer geht, sagt es vorher an."],
        ["Krank", "Wer krank ist, ruft bitte an."],
    ]
    assert read_rows(*rows)[0] == "Thema: Urlaub | Was gilt: Wer geht, sagt es vorher an."
    rows = [["Name", "Team", "Phone"], ["Ann", "Sales", "0123 1"], ["Bo", "IT", "0123 2"]]
    assert read_rows(*rows)[0] == "Name: Ann | Team: Sales | Phone: 0123 1"


def fill(sheet, *rows, colour="FF336699"):
    for row in rows:
        for cell in sheet[row]:
            cell.fill = PatternFill("solid", fgColor=colour)


def test_words_above_words_name_columns_only_where_the_sheet_marks_them():
    assert read_rows(*PEOPLE) == UNNAMED
    for edit in (
        lambda sheet: make_bold(sheet, 1),
        lambda sheet: fill(sheet, 1),
        lambda sheet: [make_bold(sheet, 1), fill(sheet, 1, 2, 3, colour="FFFFFFFF")],
        lambda sheet: [fill(sheet, 1), fill(sheet, 2, 3, colour="FFEEEEEE")],
        lambda sheet: setattr(sheet, "freeze_panes", "A2"),
        lambda sheet: setattr(sheet.auto_filter, "ref", "A1:C3"),
    ):
        assert read_rows(*PEOPLE, edit=edit) == NAMED
    assert read_rows(*PEOPLE, edit=lambda sheet: make_bold(sheet, 1, 2, 3)) == UNNAMED
    assert read_rows(*PEOPLE, edit=lambda sheet: fill(sheet, 1, 2, 3)) == UNNAMED
    assert read_rows(*PEOPLE, edit=lambda sheet: setattr(sheet, "freeze_panes", "B1")) == UNNAMED


def test_rows_of_a_list_name_no_columns():
    days = ["Monday | 9:00-17:00", "Tuesday | 9:00-17:00"]
    assert read_rows(*(day.split(" | ") for day in days)) == days
    keys = ["Address | Mill Lane 14", "Founded | 1998"]
    assert read_rows(["Address", "Mill Lane 14"], ["Founded", 1998]) == keys


def test_a_header_that_no_row_needs_is_read_and_one_that_comes_again_is_not():
    assert read_rows(["Item", "Price"], [], ["Nothing today."], edit=lambda sheet: make_bold(sheet, 1)) == [
        "Item | Price",
        "Nothing today.",
    ]
    assert read_rows(*PRICES, PRICES[0], ["Rim", 4])[2:] == ["Item: Rim | Price: 4"]


def test_a_header_is_the_last_row_that_stands_out_and_may_have_empty_rows_and_titles_below():
    rows = [
        ["Prices", None, "Valid in May"],
        ["Part", "Name", "Price"],
        [],
        ["Seals"],
        [],
        ["7", "Ring"],
        [],
        [8, "Rim", 4],
    ]
    assert read_rows(*rows, edit=lambda sheet: make_bold(sheet, 1, 2)) == [
        "Prices | Valid in May",
        "Seals",
        "Part: 7 | Name: Ring",
        "Part: 8 | Name: Rim | Price: 4",
    ]


def test_lines_that_stand_out_are_headings_of_the_rows_below():
    rows = [
        ["Part", "Name", "Price"],
        ["Fasteners"],
        [1, "Bolt", 2.5],
        [],
        ["Seals"],
        [2, "Ring", 9],
        [],
        ["Call", "01"],
    ]
    [document] = read_book(make_book(rows, edit=lambda sheet: make_bold(sheet, 1, 2, 5)), "parts.xlsx")
    assert [document.text[h.start : h.end] for h in document.headings] == ["Fasteners", "Seals"]
    assert [(s.heading, s.text) for s in split_document(document)] == [
        ("Fasteners", "Fasteners: Part: 1 | Name: Bolt | Price: 2.5"),
        ("Seals", "Seals: Part: 2 | Name: Ring | Price: 9"),
        ("Seals", "Seals: Call | 01"),
    ]


def test_opening_hours_with_merged_cells_have_the_names_of_both_rows_of_their_header():
    def edit(sheet):
        for area in ("A1:E1", "A2:A3", "B2:C2", "D2:E2", "D5:E5", "B6:E6", "A4:A5"):
            sheet.merge_cells(area)
        make_bold(sheet, 2, 3)

    read = read_rows(
        ["Opening hours"],
        ["Clinic", "Weekdays", None, "Saturday"],
        [None, "Opens", "Closes", "Opens", "Closes"],
        ["Mill Lane", time(7, 30), time(17), time(9), time(12)],
        [None, time(18), time(20), "closed"],
        ["Harbour", "by appointment"],
        edit=edit,
    )
    assert read[1:] == [
        "Clinic: Mill Lane | Weekdays Opens: 7:30 | Weekdays Closes: 17:00 | Saturday Opens: 9:00 | "
        "Saturday Closes: 12:00",
        "Clinic: Mill Lane | Weekdays Opens: 18:00 | Weekdays Closes: 20:00 | "
        "Saturday Opens \u2013 Saturday Closes: closed",
        "Clinic: Harbour | Weekdays Opens \u2013 Saturday Closes: by appointment",
    ]


@pytest.mark.parametrize(
    ("sheet", "file", "first", "title", "docid"),
    [
        ("Price list", "export 12.xlsx", "Note", "Price list", "export 12-Price list"),
        ("Sheet1", "price_list.xlsx", "Note", "price list", "price_list"),
        ("Tabelle1", "old/price_list.xlsx", "Our prices", "Our prices", "old/price_list"),
        ("Feuil2", "price_list.xlsx", "Note", "price list", "price_list-Feuil2"),
        ("Data", "book 1.xlsx", "What we charge", "What we charge", "book 1-Data"),
        ("2026", "price_list.xlsx", "Note", "price list 2026", "price_list-2026"),
    ],
)
def test_a_sheet_s_name_is_the_title_where_it_says_something(sheet, file, first, title, docid):
    [document] = read_book(make_book([[first], [], *PRICES], names=[sheet]), file)
    assert (document.title, document.id, document.source) == (title, docid, file)
    assert document.text.startswith(first) == (title != first)


def test_a_second_sheet_changes_no_name_of_the_first_one_s_documents():
    for names in (["Sheet1", "Sheet2"], ["Rates", "FAQ"]):
        one, two = (read_book(make_book(*sheets, names=names), "a.xlsx") for sheets in ([PRICES], [PRICES, FAQ]))
        assert one == two[:1] and len({d.id for d in two}) == 3


KINDS = st.lists(st.lists(st.sampled_from(["", "word", "figure", "number"]), max_size=4), max_size=8)


def make_cell(kind, number):
    """A value that no other cell has."""
    word = f"{chr(97 + number // 26)}{chr(97 + number % 26)}z"
    return {"word": word, "figure": f"{word}7", "number": 1000 + number}.get(kind)


def find_lost(rows, text):
    """Cells that are not read, but for names in a header of which others are read before values."""
    for row in rows:
        is_header = any(value and f"{value}: " in text for value in row)
        yield from (value for value in row if value and str(value) not in text and not is_header)


@settings(max_examples=60, deadline=None)
@given(KINDS, st.sets(st.integers(1, 8)), st.sets(st.integers(1, 8)))
def test_no_cell_is_lost_whatever_names_the_columns(kinds, bold, wide):
    def edit(sheet):
        make_bold(sheet, *bold)
        for row in wide:
            sheet.merge_cells(start_row=row, end_row=row, start_column=4, end_column=5)

    rows = [[make_cell(kind, 4 * i + j) for j, kind in enumerate(row)] for i, row in enumerate(kinds)]
    if any(map(any, rows)):
        text = "\n\n".join(read_rows(*rows, edit=edit))
        assert [*find_lost(rows, text)] == []
