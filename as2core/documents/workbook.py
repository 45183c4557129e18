"""The sheets of an Excel workbook (.xlsx, .xlsm) as rows of text, as they are shown: what is hidden by hand is left
out, a cell that is merged over rows stands in each of them, numbers and dates are written by their formats.

A formula counts by the result that was stored with it, and nothing is calculated or run. Comments, charts, pictures,
the addresses of links and errors such as #N/A are left out.
"""

import io
import warnings
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from as2core.documents.number_formats import format_value
from as2core.documents.office_files import OLD_FORMAT, explain_damage, require_bounded_size
from as2core.documents.sheet_layout import Area, SheetLayout, read_layout
from as2core.errors import UnreadableFile
from as2core.messages import count, join, name_some

if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.cell.read_only import ReadOnlyCell
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

MAX_ROWS = 1_048_576  # of a sheet; a damaged file may number them up to any number
_WHITE = {"rgb": ("FFFFFFFF", "00FFFFFF"), "theme": (0,), "indexed": (1, 9, 65)}
_STRICT = b"http://purl.oclc.org/ooxml/spreadsheetml/main"
_PASSWORD_MARK = "EncryptedPackage".encode("utf-16-le")  # in the older format, around a new file


class Cell(NamedTuple):
    """`is_value`: a number, a date or a truth value; `look`: whether it is bold, and its colour if that is not white;
    `width`: the columns that it is merged over."""

    text: str
    is_value: bool = False
    look: str = ""
    width: int = 1


class Row(NamedTuple):
    """What holds something, by its column. Rows and columns are counted from 1, as the sheet counts them; `place`
    counts the shown rows alone."""

    number: int
    place: int
    cells: dict[int, Cell]


@dataclass(frozen=True, slots=True)
class Sheet:
    """`rows`: those that hold something. `header_rows`: numbers of those that the sheet marks as names of columns.
    `empty_formula_rows`: the number of each shown formula's row whose result is not stored. `hidden_rows`,
    `hidden_columns`: how many that hold something are hidden."""

    name: str
    rows: list[Row]
    header_rows: frozenset[int] = frozenset()
    empty_formula_rows: tuple[int, ...] = ()
    hidden_rows: int = 0
    hidden_columns: int = 0


class Book(NamedTuple):
    """The sheets that are shown, in their order, and the names of the hidden ones."""

    sheets: list[Sheet]
    hidden_sheets: tuple[str, ...]


def describe_hidden(hidden_sheets: Sequence[str], sheets: Sequence[Sheet]) -> str:
    """As in "hidden parts that are not read: sheet Old, 2 rows of sheet Fees"; "" where nothing is hidden."""
    parts = [f"sheet {name}" for name in hidden_sheets]
    for sheet in sheets:
        counts = (sheet.hidden_rows, "row"), (sheet.hidden_columns, "column")
        if hidden := [count(n, noun) for n, noun in counts if n]:
            parts.append(f"{join(hidden)} of sheet {sheet.name}")
    return f"hidden parts that are not read: {name_some(parts)}" if parts else ""


def read_book(content: bytes) -> Book:
    """Raises UnreadableFile."""
    if content.startswith(OLD_FORMAT):
        if _PASSWORD_MARK in content:
            raise UnreadableFile("it is locked with a password; remove the password and save it again")
        raise UnreadableFile("it is of an old version of Excel; save it as Excel workbook (.xlsx)")
    with explain_damage("an Excel workbook", ".xlsx"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl's, of what it does not keep
        require_bounded_size(content)
        book = _open_book(content)
        sheets = [_read_sheet(book, sheet) for sheet in book.worksheets if sheet.sheet_state == "visible"]
        return Book(sheets, tuple(s.title for s in book.worksheets if s.sheet_state != "visible"))


def _open_book(content: bytes) -> "Workbook":
    """Without the parts that say nothing about cells: a fault in one would refuse the workbook."""
    from openpyxl.reader.excel import ExcelReader

    reader = ExcelReader(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
    for part in ("chartsheet", "custom", "properties", "theme"):
        setattr(reader, f"read_{part}", lambda *details: None)
    reader.read()
    if _STRICT in reader.archive.read(reader.parser.workbook_part_name):  # of which openpyxl finds no sheet
        raise UnreadableFile("it is saved as a Strict Open XML Spreadsheet; save it as Excel workbook (.xlsx)")
    return reader.wb


def _read_sheet(book: "Workbook", sheet: "ReadOnlyWorksheet") -> Sheet:
    layout = read_layout(book._archive, sheet._worksheet_path)  # nothing public tells where a sheet is
    sheet.reset_dimensions()  # what a file says of its size may be a million rows
    rows: list[Row] = []
    for number, values in enumerate(islice(sheet.iter_rows(), MAX_ROWS), 1):
        cells = {column: _read_cell(value) for column, value in enumerate(values, 1) if value.value is not None}
        if cells := {column: cell for column, cell in cells.items() if cell.text}:
            rows.append(Row(number, number, cells))
    _spread_merged(rows, layout)
    hidden_rows = sorted(layout.hidden_rows)
    visible = [
        Row(row.number, row.number - bisect_right(hidden_rows, row.number), _list_visible(row.cells, layout))
        for row in rows
        if row.number not in layout.hidden_rows
    ]
    hidden_columns = {c for row in rows for c in row.cells if layout.hides_column(c)}
    empty_formulas = (row for row, column in layout.empty_formulas if not layout.hides_column(column))
    return Sheet(
        sheet.title,
        [row for row in visible if row.cells],
        frozenset(layout.header_rows),
        tuple(row for row in empty_formulas if row not in layout.hidden_rows),
        sum(row.number in layout.hidden_rows for row in rows),
        len(hidden_columns),
    )


def _read_cell(cell: "ReadOnlyCell") -> Cell:
    if cell.data_type == "e":
        return Cell("")
    text = format_value(cell.value, cell.number_format).replace("_x000D_", "").strip()
    return Cell(text, not isinstance(cell.value, str), _describe_look(cell))


def _describe_look(cell: "ReadOnlyCell") -> str:
    look = "bold" if cell.font is not None and cell.font.b else ""
    if cell.fill is None or cell.fill.fill_type != "solid":
        return look
    colour = cell.fill.fgColor
    is_white = colour.value in _WHITE.get(colour.type, ()) and not colour.tint
    return look if is_white else f"{look} {colour.type} {colour.value} {colour.tint}"


def _spread_merged(rows: list[Row], layout: SheetLayout) -> None:
    """Put what a merged area holds into its first shown column, in each of its rows that holds something else."""
    numbers = [row.number for row in rows]
    for area in layout.merges:
        first = bisect_right(numbers, area.top - 1)
        if first == len(rows) or numbers[first] != area.top or area.left not in rows[first].cells:
            continue
        column, width = _measure_area(area, layout)
        cell = rows[first].cells[area.left]._replace(width=width)
        for row in rows[first : bisect_right(numbers, area.bottom)]:
            for covered_column in [c for c in row.cells if area.left <= c <= area.right]:
                del row.cells[covered_column]
            row.cells[column] = cell


def _measure_area(area: Area, layout: SheetLayout) -> tuple[int, int]:
    """Its first shown column, and how many are shown."""
    if area.left == area.right:
        return area.left, 1
    columns = [c for c in range(area.left, area.right + 1) if not layout.hides_column(c)]
    return (columns[0], len(columns)) if columns else (area.left, 1)


def _list_visible(cells: dict[int, Cell], layout: SheetLayout) -> dict[int, Cell]:
    """By their columns, in order."""
    return {column: cells[column] for column in sorted(cells) if not layout.hides_column(column)}
