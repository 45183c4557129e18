"""Excel workbooks for tests."""

import io
import zipfile
from collections.abc import Callable, Sequence

from openpyxl import Workbook
from openpyxl.styles import Font
from openpyxl.worksheet.worksheet import Worksheet

from as2core.documents.reading import read_documents
from as2core.types import Document

BOLD = Font(bold=True)
SHEET = "xl/worksheets/sheet1.xml"


def make_book(*sheets: Sequence[Sequence[object]], names: Sequence[str] = (), edit: Callable | None = None) -> bytes:
    """`edit` changes the first sheet."""
    book = Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets, 1):
        sheet = book.create_sheet([*names, *(f"Sheet{n}" for n in range(len(names) + 1, 9))][number - 1])
        for row in rows:
            sheet.append(row)
    if edit:
        edit(book.worksheets[0])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def make_bold(sheet: Worksheet, *rows: int) -> None:
    for row in rows:
        for cell in sheet[row]:
            cell.font = BOLD


def change_part(content: bytes, name: str, change: Callable[[bytes], bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.infolist():
            text = old.read(part)
            new.writestr(part.filename, change(text) if part.filename == name else text)
    return file.getvalue()


def read_book(content: bytes, name: str = "book_1.xlsx") -> list[Document]:
    return list(read_documents(name, content))


def read_rows(*rows: Sequence[object], name: str = "rates.xlsx", edit: Callable | None = None) -> list[str]:
    """The paragraphs of a workbook that is one document."""
    [document] = read_book(make_book(rows, edit=edit), name)
    return document.text.split("\n\n")
