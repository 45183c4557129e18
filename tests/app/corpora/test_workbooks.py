"""Excel workbooks the whole way: from a file to the answer of a question."""

import io

import pytest
from openpyxl import Workbook
from openpyxl.styles import Font

from app.ask import asking
from app.corpora import corpora, documents, ingestion
from app.corpora.ingest_report import UNREAD_COLUMNS


def make_parts(*, price: float = 12.5, has_second: bool = True) -> bytes:
    book = Workbook()
    sheet = book.active
    sheet.title = "Parts"
    sheet.append(["Spare parts"])
    sheet.append([])
    sheet.append(["Part", "Description", "Price"])
    for number in range(4700, 4900):
        sheet.append([number, "Seal ring" if number % 2 else "Pump shaft", price if number == 4711 else 99])
        sheet.cell(sheet.max_row, 3).number_format = '0.00" EUR"'
    for cell in sheet[3]:
        cell.font = Font(bold=True)
    if has_second:
        faq = book.create_sheet("FAQ")
        for row in (
            ["Question", "Answer", "Owner"],
            ["How do I pay?", "By invoice, in 14 days.", "Ann"],
            ["Why?", None],
        ):
            faq.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


@pytest.fixture
def parts(wb):
    return corpora.create_corpus(wb, "parts")


def test_the_rows_of_a_workbook_answer_questions_by_words(wb, parts):
    done = ingestion.ingest(wb, parts.id, [("spare_parts.xlsx", make_parts())])
    assert (done.added, done.failed) == (2, (("spare_parts.xlsx", "sheet FAQ, row 3: 'answer' holds no text"),))
    assert done.partly_read_files == ("spare_parts.xlsx",)
    assert done.notes == (("spare_parts.xlsx", UNREAD_COLUMNS.format("owner")),)
    found = asking.ask(wb, parts.id, "What does part 4711 cost?")
    row = "Spare parts: Part: 4711 | Description: Seal ring | Price: 12.50 EUR"
    assert row in [candidate.text for candidate in found.candidates]
    listed = [(d.title, d.source) for d in documents.list_documents(wb, parts.id)]
    assert listed == [("Parts", "spare_parts.xlsx"), ("How do I pay?", "spare_parts.xlsx")]
    found = asking.ask(wb, parts.id, "How do I pay?")
    assert ("How do I pay?", "By invoice, in 14 days.") in [(c.title, c.text) for c in found.candidates]


def test_a_workbook_that_changes_updates_its_documents_and_one_that_is_refused_changes_none(wb, parts):
    ingestion.ingest(wb, parts.id, [("parts.xlsx", make_parts(has_second=False))])
    same = ingestion.ingest(wb, parts.id, [("parts.xlsx", make_parts(has_second=False))])
    changed = ingestion.ingest(wb, parts.id, [("parts.xlsx", make_parts(price=13))])
    assert (same.unchanged, changed.updated, changed.added) == (1, 1, 1)
    refused = ingestion.ingest(wb, parts.id, [("parts.xlsx", make_parts()[:3000])])
    assert refused.unread_files == ("parts.xlsx",) and corpora.get_corpus(wb, parts.id).documents == 2


def test_columns_that_are_not_read_are_noted_once_for_all_sheets(wb, parts):
    book = Workbook()
    for name, columns in (("A", ["Text", "Owner"]), ("B", ["Text", "Owner", "Year"])):
        sheet = book.create_sheet(name)
        sheet.append(columns)
        for number in range(3):
            sheet.append([f"Note {number} of {name}.", *range(1, len(columns))])
    file = io.BytesIO()
    book.save(file)
    done = ingestion.ingest(wb, parts.id, [("notes.xlsx", file.getvalue())])
    assert done.notes == tuple(("notes.xlsx", UNREAD_COLUMNS.format(name)) for name in ("owner", "year"))


def test_the_report_names_what_a_workbook_hides(wb):
    book = Workbook()
    book.active.append(["title", "text"])
    book.active.append(["Valve", "The valve opens at two bar."])
    book.create_sheet("Margins").sheet_state = "hidden"
    content = io.BytesIO()
    book.save(content)
    report = ingestion.ingest(wb, corpora.create_corpus(wb, "Parts").id, [("parts.xlsx", content.getvalue())])
    assert report.notes == (("parts.xlsx", "has hidden parts that are not read: sheet Margins"),)
    assert (report.added, report.failed) == (1, ())
