"""Excel workbooks as sheets: what is shown, what is hidden, and files that are refused."""

import io
import re
import zipfile
from datetime import datetime, time

import pytest
from openpyxl import Workbook
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.worksheet.filters import AutoFilter
from openpyxl.worksheet.table import Table
from workbook_files import SHEET, change_part, make_book, read_book, read_rows

from as2core.documents import office_files
from as2core.documents import reading as documents
from as2core.documents.reading import read_documents
from as2core.errors import UnreadableFile
from as2core.parser_process import ParserProcess
from as2core.sources import unpacking

PRICES = [["Item", "Price"], ["Bolt", 3.5], ["Nut", 2]]
OLD_FORMAT = bytes.fromhex("d0cf11e0a1b11ae1")


def test_numbers_and_dates_are_read_as_the_sheet_shows_them():
    def edit(sheet):
        for cell, number_format in (("B2", '#,##0.00\\ "\u20ac"'), ("C2", "0%"), ("D2", "dd/mm/yy"), ("E2", "h:mm")):
            sheet[cell].number_format = number_format

    rows = [["Item", "Price", "Discount", "From", "Until"], ["Bolt", 1012.5, 0.05, datetime(2026, 3, 1), time(17, 30)]]
    assert read_rows(*rows, edit=edit) == [
        "Item: Bolt | Price: 1,012.50 \u20ac | Discount: 5% | From: 2026-03-01 | Until: 17:30"
    ]


def test_the_date_of_a_workbook_that_counts_from_1904_is_the_one_that_it_shows():
    old = make_book([["Item", "From"], ["Bolt", datetime(2026, 3, 1)]])
    new = change_part(old, "xl/workbook.xml", lambda x: re.sub(rb"<workbookPr[^>]*>", b'<workbookPr date1904="1"/>', x))
    [document] = read_book(change_part(new, SHEET, lambda x: re.sub(rb"<v>4\d{4}</v>", b"<v>44620</v>", x)))
    assert document.text == "Item: Bolt | From: 2026-03-01"


def test_a_line_break_in_a_cell_is_a_space_in_a_row_and_comments_and_links_are_left_out():
    def edit(sheet):
        sheet["A2"].comment = Comment("Ask Ann before.", "Ben")
        sheet["A2"].hyperlink = "https://example.org/secret"

    assert read_rows(["Item", "Price"], ["Bolt\nM8", 3.5], edit=edit) == ["Item: Bolt M8 | Price: 3.5"]


def test_a_formula_is_read_by_its_stored_result_and_an_error_not_at_all():
    book = make_book([["Item", "Price", "Stock"], ["Bolt", "=1+2", "=NA()"], ["Nut", 2, 9], ["Rim", '=""', 8]])
    for cell, stored in (
        ("B2", b"<c r='B2'><f>1+2</f><v>3</v></c>"),
        ("C2", b"<c r='C2' t='e'><f>NA()</f><v>#N/A</v></c>"),
        ("B4", b"<c r='B4' t='str'><f>\"\"</f><v></v></c>"),
    ):
        pattern = rb'<c r="%s".*?</c>' % cell.encode()
        book = change_part(book, SHEET, lambda x, p=pattern, s=stored: re.sub(p, s, x, count=1))
    [document] = read_book(book)
    assert document.text == "Item: Bolt | Price: 3\n\nItem: Nut | Price: 2 | Stock: 9\n\nItem: Rim | Stock: 8"


def test_formulas_without_a_stored_result_are_reported_and_the_other_cells_are_read():
    book = make_book([["Item", "Price"], ["Bolt", "=1+2"], ["Nut", 2], ["Rim", "=2+2"]], PRICES, names=["A", "B"])
    problems = []
    documents = list(read_documents("prices.xlsx", book, on_problem=problems.append))
    assert [d.text for d in documents] == [
        "Bolt\n\nItem: Nut | Price: 2\n\nRim",
        "Item: Bolt | Price: 3.5\n\nItem: Nut | Price: 2",
    ]
    remedy = "open the file in Excel or LibreOffice, save it, and add it again"
    assert problems == [f"sheet A, row 2: no result is stored for 2 formulas; {remedy}"]
    with pytest.raises(UnreadableFile, match=r"^f\.xlsx: row 1: no result is stored for 1 formula;"):
        read_book(make_book([["=1+2"]]), "f.xlsx")


def test_hidden_sheets_rows_and_columns_are_left_out():
    def edit(sheet):
        sheet.row_dimensions[2].hidden = True
        sheet.column_dimensions["B"].hidden = True
        sheet["B4"] = "=1+2"  # no result is missing where none is shown
        hidden = sheet.parent.create_sheet("Margins")
        hidden["A1"], hidden.sheet_state = "Secret.", "hidden"
        deeper = sheet.parent.create_sheet("Deeper")
        deeper["A1"], deeper.sheet_state = "Secret.", "veryHidden"

    rows = [["Item", "Cost", "Price"], ["Old bolt", 1, 2], ["Bolt", 2, 3.5], ["Nut", None, 2]]
    assert read_rows(*rows, edit=edit) == ["Item: Bolt | Price: 3.5", "Item: Nut | Price: 2"]


def test_rows_and_cells_need_not_be_numbered():
    book = make_book(PRICES, edit=lambda sheet: setattr(sheet.row_dimensions[2], "hidden", True))
    bare = change_part(book, SHEET, lambda x: re.sub(rb'(<row|<c) r="[A-Z]?\d"', rb"\1", x))
    assert bare != book and read_book(bare)[0].text == "Item: Nut | Price: 2"


def test_rows_that_a_filter_or_a_folded_group_hides_are_read():
    def edit(sheet):
        for row in (2, 3):
            sheet.row_dimensions[row].hidden = True
        sheet.auto_filter.ref = "A1:B3"
        sheet.auto_filter.add_filter_column(0, ["Bolt"])

    def fold(sheet):
        sheet.row_dimensions.group(2, 3, hidden=True)
        sheet.column_dimensions.group("B", "B", hidden=True)

    read = ["Item: Bolt | Price: 3.5", "Item: Nut | Price: 2"]
    assert read_rows(*PRICES, edit=edit) == read_rows(*PRICES, edit=fold) == read


def test_a_table_of_the_sheet_marks_its_header_and_its_filter_hides_no_row():
    def edit(sheet):
        table = Table(displayName="People", ref="A2:B4")
        sheet.add_table(table)
        table._initialise_columns()
        for column, name in zip(table.tableColumns, ["Who", "Where"], strict=True):
            column.name = name
        table.autoFilter = AutoFilter("A2:B4")
        table.autoFilter.add_filter_column(0, ["Bo"])
        sheet.row_dimensions[3].hidden = True

    book = make_book([["All staff"], ["Who", "Where"], ["Ann", "East"], ["Bo", "West"]], edit=edit)
    assert read_book(book)[0].text == "Who: Ann | Where: East\n\nWho: Bo | Where: West"
    lost = change_part(book, "xl/worksheets/_rels/sheet1.xml.rels", lambda x: x.replace(b"table1", b"table9"))
    assert read_book(lost)[0].text == "Who | Where\n\nBo | West"


@pytest.mark.parametrize("size", ["A1:XFD1048576", "A1", "B9:C10"])
def test_what_a_sheet_says_of_its_size_is_not_believed(size):
    book = make_book(PRICES)
    wrong = change_part(
        book, SHEET, lambda x: re.sub(rb'<dimension ref="[^"]*"', b'<dimension ref="%s"' % size.encode(), x)
    )
    assert wrong != book and read_book(wrong)[0].text == read_book(book)[0].text


def test_a_cell_in_the_last_row_and_column_is_read():
    assert read_rows(*PRICES, edit=lambda sheet: sheet.cell(1_048_576, 16_384, "Far away."))[-1] == "Far away."


def test_a_row_of_a_number_that_no_sheet_has_is_not_waited_for():
    book = change_part(make_book(PRICES), SHEET, lambda x: x.replace(b'<row r="3"', b'<row r="99999999999"'))
    assert read_book(book)[0].text == "Item: Bolt | Price: 3.5"


def test_sheets_of_charts_are_passed_over():
    book = Workbook()
    book.active.append(["Only text."])
    book.create_chartsheet("Chart")
    file = io.BytesIO()
    book.save(file)
    assert [d.text for d in read_book(file.getvalue())] == ["Only text."]


def add_chart(sheet):
    chart = BarChart()
    chart.add_data(Reference(sheet, min_col=1, min_row=1, max_row=3))
    sheet.add_chart(chart, "E2")


def pack(size: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", bytes(size))
    return file.getvalue()


def expand(text: bytes) -> bytes:
    """A price that is a billion letters, if its entities are expanded."""
    entities = b"".join(b'<!ENTITY %c "%s">' % (98 + i, b"&%c;" % (97 + i) * 10) for i in range(9))
    declaration = b'<!DOCTYPE x [<!ENTITY a "9">' + entities + b"]>"
    return declaration + text.replace(b"<v>3.5</v>", b"<v>&j;</v>").replace(b"<sheets>", b"<sheets>&j;")


def make_strict(text: bytes) -> bytes:
    """As Excel writes its Strict Open XML Spreadsheets."""
    text = text.replace(b"schemas.openxmlformats.org/officeDocument/2006", b"purl.oclc.org/ooxml/officeDocument")
    return text.replace(b"schemas.openxmlformats.org/spreadsheetml/2006", b"purl.oclc.org/ooxml/spreadsheetml")


NOTHING = "there is no text in the cells of its sheets; hidden sheets, charts and pictures are not read"
REFUSED = {
    "text": (b"a,b\n1,2\n", "not an Excel workbook that can be read (File is not a zip file); save it as .xlsx anew"),
    "half": (make_book(PRICES)[:2000], "not an Excel workbook that can be read (File is not a zip file)"),
    "half a sheet": (
        change_part(make_book(PRICES), SHEET, lambda x: x[:300]),
        "not an Excel workbook that can be read",
    ),
    "no workbook": (pack(10), "not an Excel workbook that can be read"),
    "old": (OLD_FORMAT + bytes(99), "it is of an old version of Excel; save it as Excel workbook (.xlsx)"),
    "locked": (
        OLD_FORMAT + bytes(99) + "EncryptedPackage".encode("utf-16-le"),
        "it is locked with a password; remove the password and save it again",
    ),
    "entities": (
        change_part(make_book(PRICES), SHEET, expand),
        "not an Excel workbook that can be read (limit on input",
    ),
    "entities of the book": (
        change_part(make_book(PRICES), "xl/workbook.xml", expand),
        "not an Excel workbook that can be read (Maximum entity",
    ),
    "strict": (
        change_part(change_part(make_book(PRICES), SHEET, make_strict), "xl/workbook.xml", make_strict),
        "it is saved as a Strict Open XML Spreadsheet; save it as Excel workbook (.xlsx)",
    ),
    "no cells": (make_book([]), NOTHING),
    "charts": (make_book([], edit=add_chart), NOTHING),
    "white space": (make_book([[" ", "\u200b\n"]]), NOTHING),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_workbook_that_cannot_be_read_is_refused_in_a_line_also_by_the_parser_process(name):
    content, reason = REFUSED[name]
    with pytest.raises(UnreadableFile) as told:
        read_book(content, "a.xlsx")
    assert str(told.value).startswith(f"a.xlsx: {reason}") and "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        (1_000_001, "it unpacks to more than 1 MB; unpack and divide it first"),
        (900_000, "it unpacks to more than 200 times its size"),
    ],
    ids=["bomb", "small bomb"],
)
def test_a_workbook_that_unpacks_to_far_too_much_is_refused(size, reason, monkeypatch):
    assert (office_files.MAX_XML_BYTES, unpacking.RATIO_FREE_BYTES) == (100_000_000, 20_000_000)
    monkeypatch.setattr(office_files, "MAX_XML_BYTES", 1_000_000)
    monkeypatch.setattr(unpacking, "RATIO_FREE_BYTES", 200_000)
    with pytest.raises(UnreadableFile) as told:
        read_book(pack(size), "a.xlsx")
    assert str(told.value).startswith(f"a.xlsx: {reason}")


def test_the_parser_process_gives_all_documents_and_problems_of_a_workbook():
    book = make_book([["Question", "Answer"], ["Who?", "Ann."], ["Why?", None]], PRICES, names=["FAQ", "Prices"])
    parser, problems, twins = ParserProcess(), [], []
    try:
        documents = list(read_documents("a.xlsm", book, on_problem=problems.append, parse=parser.parse_file))
        with pytest.raises(UnreadableFile, match="not an Excel workbook that can be read"):
            parser.parse_file("a", ".xlsx", b"PK")
    finally:
        parser.close()
    assert documents == list(read_documents("a.xlsm", book, on_problem=twins.append)) and len(documents) == 2
    assert problems == twins == ["sheet FAQ, row 3: 'answer' holds no text"]


def test_a_workbook_whose_cells_share_one_long_text_is_no_more_than_a_file_may_be(monkeypatch):
    monkeypatch.setattr(documents, "MAX_FILE_CHARS", 1000)
    rows = [["title", "text", "note"], *([f"T{n}", "Some words.", "n" * 300] for n in range(3))]
    assert len(read_book(make_book(rows))) == 3
    with pytest.raises(UnreadableFile, match="more than 1,000 characters together"):
        read_book(make_book([*rows, ["T4", "Some words.", "n" * 300]]))


def test_the_hidden_parts_of_a_workbook_are_noted_where_they_hold_something():
    def edit(sheet):
        sheet.row_dimensions[2].hidden = sheet.row_dimensions[99].hidden = True
        sheet.column_dimensions["B"].hidden = sheet.column_dimensions["Z"].hidden = True
        hidden = sheet.parent.create_sheet("Margins")
        hidden["A1"], hidden.sheet_state = "Secret.", "veryHidden"

    parser, notes = ParserProcess(), []
    try:
        book = make_book(PRICES, edit=edit)
        list(read_documents("a.xlsx", book, on_note=notes.append, parse=parser.parse_file))
    finally:
        parser.close()
    list(read_documents("a.xlsx", make_book(PRICES), on_note=notes.append))
    assert notes == ["has hidden parts that are not read: sheet Margins, 1 row and 1 column of sheet Sheet1"]
