"""Labels in an Excel workbook. The sheet that has them is written as a CSV, which the readers of tables take."""

import io
import zipfile
from typing import NamedTuple

from as2core.data.label_files import csv_ratings, question_table
from as2core.data.source import format_rows
from as2core.documents.office_files import OLD_FORMAT, WORKBOOK_PART, list_parts
from as2core.documents.workbook import Row, Sheet, describe_hidden, read_book
from as2core.errors import UnreadableFile
from as2core.sources.unpacking import TooLarge

MAX_SHEETS_BYTES = 30_000_000  # some 100,000 labels; read, they take thirty times as much
MAX_CELLS = 10_000_000  # of the table, with the empty ones up to its last column


def is_workbook(content: bytes) -> bool:
    """Whether it is a file of Excel; it may be damaged."""
    return content.startswith(OLD_FORMAT) or WORKBOOK_PART in list_parts(content)


def require_small(content: bytes) -> None:
    """Raises TooLarge for a workbook of more than labels."""
    if not content.startswith(OLD_FORMAT):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(part.file_size for part in archive.infolist()) > MAX_SHEETS_BYTES:
                raise TooLarge(f"it unpacks to more than {MAX_SHEETS_BYTES / 1e6:.0f} MB; save it as CSV")


class Table(NamedTuple):
    """A CSV, and what of its workbook is left out."""

    text: str
    notes: tuple[str, ...] = ()


def write_table(content: bytes) -> Table:
    """The first sheet whose rows begin with the columns of labels or of ratings, or else the first, as a CSV: row 7 is
    its line 7. It may take long, or much memory (`as2core.parser_process`). Raises UnreadableFile."""
    book = read_book(content)
    sheets = [sheet for sheet in book.sheets if sheet.rows]
    if not sheets:
        raise UnreadableFile("its sheets are empty")
    sheet = next(filter(_names_columns, sheets), sheets[0])
    hidden = describe_hidden(book.hidden_sheets, [sheet])
    return Table(_write_rows(sheet.rows), (hidden,) if hidden else ())


def _names_columns(sheet: Sheet) -> bool:
    header = "\t".join(" ".join(cell.text.split()) for cell in sheet.rows[0].cells.values())
    return question_table.find_columns(header) is not None or csv_ratings.find_delimiter(header) is not None


def _write_rows(rows: list[Row]) -> str:
    """A cell is one line."""
    by_number = {row.number: row.cells for row in rows}
    width = max(column for row in rows for column in row.cells)
    if len(rows) * width > MAX_CELLS:
        raise TooLarge(f"{len(rows):,} rows of {width:,} columns are no table of labels; delete what stands beside it")
    lines = []
    for number in range(1, rows[-1].number + 1):
        cells = by_number.get(number, {})
        columns = range(1, width + 1) if cells else ()
        lines.append([" ".join(cells[c].text.split()) if c in cells else "" for c in columns])
    return format_rows(lines)
