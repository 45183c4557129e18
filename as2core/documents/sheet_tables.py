"""What the rows of a worksheet say: records, where a header names a column of texts; otherwise tables, whose rows have
their columns' names, as in web pages, and what stands around them.

A sheet marks no table as such. A row names columns if the sheet says so (a table, a filter, a frozen pane), if it
stands out by bold type or colour where the next one does not, or if it has words alone, above numbers or long texts.
Elsewhere rows stay as they are: "Monday | 9:00-17:00" is no name of a column for "Tuesday".
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from as2core.documents.blocks import Block, BlockKind
from as2core.documents.table_cells import CELL_END, name_cells
from as2core.documents.workbook import Row, Sheet
from as2core.errors import UnreadableFile
from as2core.sources.spreadsheet import TEXT_COLUMNS, TITLE_COLUMNS, find_twin

Record = tuple[int, dict[str, str]]  # a row's number, and its texts by the names of their columns

MAX_ROWS_ABOVE_HEADER = 20  # that hold something
MAX_HEADING_CHARS = 100
MAX_NAME_CHARS = 40  # of a column that nothing but its words marks
MIN_LONG_WORDS = 5  # of a text below a column's name
MAX_ROWS_BELOW = 50  # with one that may name columns
MIN_KEPT_NAMES = 3  # that hold on below an empty row
_DIGIT = re.compile(r"\d")
_RANGE = " \u2013 "  # between the names of the first and the last column that a cell is merged over


def find_records(sheet: Sheet) -> list[Record] | None:
    """The rows below a header that names a column of texts, as that of a CSV does; None without one. Raises
    UnreadableFile for two of one name."""
    for place, row in enumerate(sheet.rows[: MAX_ROWS_ABOVE_HEADER + 1]):
        names = {column: cell.text.lower() for column, cell in row.cells.items()}
        others = sheet.rows[place + 1 :]
        if _names_texts(row, names, sheet.rows[:place], others):
            if twin := find_twin([*names.values()]):
                raise UnreadableFile(f"two columns of a sheet are named {twin}. Rename one, or delete it.")
            records = [r for r in others if not _is_wide_line(r)]
            return [(r.number, {name: _read_text(r, c) for c, name in names.items()}) for r in records]
    return None


def _read_text(row: Row, column: int) -> str:
    return row.cells[column].text if column in row.cells else ""


def _names_texts(row: Row, names: dict[int, str], above: Sequence[Row], below: Sequence[Row]) -> bool:
    """Above it there are lines at most, or a table that ends before it; of one name alone there is nothing beside."""
    columns = [column for column, name in names.items() if name in TEXT_COLUMNS]
    cells = [row.cells[column] for row in below for column in columns if column in row.cells]
    if not columns or sum(cell.is_value for cell in cells) * 2 > len(cells):
        return False
    stands_out = _stands_out(row)
    if len(names) == 1:
        return (stands_out or not above) and all(r.cells.keys() <= names.keys() for r in (*above, *below))
    has_title = not set(names.values()).isdisjoint(TITLE_COLUMNS)
    is_apart = stands_out or (bool(above) and row.place > above[-1].place + 1)
    return all(len(r.cells) == 1 for r in above) or (has_title and is_apart)


def read_blocks(sheet: Sheet) -> list[Block]:
    """A paragraph for each row, and headings: lines that stand out."""
    reader = _Reader(sheet.header_rows, sheet.rows)
    for part in _divide_at_gaps(sheet.rows):
        reader.read(part)
    return reader.finish()


def _divide_at_gaps(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Rows that no empty row divides."""
    part: list[Row] = []
    for row in rows:
        if part and row.place > part[-1].place + 1:
            yield part
            part = []
        part.append(row)
    if part:
        yield part


@dataclass(slots=True)
class _Reader:
    """Makes blocks of rows. `names`: of the columns, in force; `header`: their row, until a row has its names."""

    header_rows: frozenset[int]
    rows: Sequence[Row]  # of the sheet
    blocks: list[Block] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    header: Row | None = None
    header_place: int = 0  # among the blocks

    def read(self, rows: Sequence[Row]) -> None:
        """Rows without a gap."""
        is_table = any(len(row.cells) > 1 for row in rows)
        if is_table and not self._names_columns({column for row in rows for column in row.cells}):
            self._take_names({}, None)
        begins_table = True
        upper: Row | None = None  # the first row of a header of two
        for place, row in enumerate(rows):
            if len(row.cells) == 1 and (not is_table or self._is_line(row)):
                self._add_line(row)
                begins_table = True
                continue
            following = rows[place + 1 : place + 1 + MAX_ROWS_BELOW] if begins_table else []
            if begins_table and self._spans_header(row, following):
                upper = row
                continue
            is_header = row.number in self.header_rows or (begins_table and self._is_header(row, following))
            begins_table = begins_table and not is_header and _stands_out(row)
            if is_header and len(row.cells) > 1:
                self._take_names(_join_names(upper, row), row)
            elif not self._repeats_header(row):
                self._add_row(row)
            upper = None

    def finish(self) -> list[Block]:
        self._take_names({}, None)
        return self.blocks

    def _names_columns(self, columns: set[int]) -> bool:
        """Whether the names in force are those of a table below a gap."""
        if self.header is not None:
            return columns <= self.names.keys()
        return columns == self.names.keys() and len(columns) >= MIN_KEPT_NAMES

    def _take_names(self, names: dict[int, str], header: Row | None) -> None:
        """A header that no row needed is a row itself."""
        if self.header is not None:
            self.blocks.insert(self.header_place, Block(CELL_END.join(_list_texts(self.header)), BlockKind.ROW))
        self.names, self.header, self.header_place = names, header, len(self.blocks)

    def _is_line(self, row: Row) -> bool:
        [(column, cell)] = row.cells.items()
        return cell.width > 1 or not self.names or (column == min(self.names) and not cell.is_value)

    def _add_line(self, row: Row) -> None:
        [cell] = row.cells.values()
        text = " ".join(cell.text.split())
        is_short = len(text) <= MAX_HEADING_CHARS and text[-1] not in ".!;,"
        is_marked = not cell.is_value and (cell.look or cell.width > 1)
        is_heading = is_short and bool(is_marked) and row.number < self.rows[-1].number
        self.blocks.append(Block(text, BlockKind.HEADING, 1) if is_heading else Block(text))

    def _add_row(self, row: Row) -> None:
        names = [self._name_column(column, cell.width) for column, cell in row.cells.items()]
        self.blocks.append(Block(CELL_END.join(name_cells(names, _list_texts(row))), BlockKind.ROW))
        self.header = None if any(names) else self.header

    def _name_column(self, column: int, width: int) -> str:
        names = [self.names[c] for c in range(column, column + width) if c in self.names]
        return _RANGE.join(dict.fromkeys([names[0], names[-1]])) if names else ""

    def _repeats_header(self, row: Row) -> bool:
        return bool(self.names) and [*self.names.values()] == _list_texts(row)

    def _is_header(self, row: Row, following: Sequence[Row]) -> bool:
        """Of the first row of a table."""
        cells = row.cells.values()
        if len(cells) > 1 and _stands_out(row):
            return self._ends_marks(row)
        if self.names or len(cells) < 2 or any(cell.is_value or cell.width > 1 for cell in cells):
            return False
        texts = _list_texts(row)
        has_names = len({*texts}) == len(texts) and not any(len(t) > MAX_NAME_CHARS or _DIGIT.search(t) for t in texts)
        return has_names and _stands_above_others(row, following)

    def _ends_marks(self, row: Row) -> bool:
        """Whether the next rows of more than one cell do not stand out, or in another way."""
        after = bisect_right(self.rows, row.number, key=lambda r: r.number)
        following = [*islice((r for r in islice(self.rows, after, None) if len(r.cells) > 1), 2)]
        if not following or not _stands_out(following[0]):
            return bool(following)
        looks = [{cell.look for cell in r.cells.values()} for r in (row, *following)]
        return looks[0].isdisjoint(looks[1]) and looks[1:2] == looks[2:]

    def _spans_header(self, row: Row, following: Sequence[Row]) -> bool:
        """Whether it names groups of columns, whose own names follow."""
        if not following or any(cell.is_value for cell in row.cells.values()):
            return False
        lower = following[0]
        spans = [range(column, column + cell.width) for column, cell in row.cells.items()]
        if not any(sum(column in lower.cells for column in span) > 1 for span in spans):
            return False
        return lower.number in self.header_rows or self._is_header(lower, following[1:])


def _stands_above_others(row: Row, following: Sequence[Row]) -> bool:
    """Whether a column of its has values alone below it, or long texts, or one of at least three has numbers in all."""
    rows = [r for r in following if len(r.cells) > 1 and _list_texts(r) != _list_texts(row)]
    for column in row.cells:
        below = [r.cells[column] for r in rows if column in r.cells]
        if below and all(cell.is_value for cell in below):
            return True
        if len(below) > 1 and all(len(cell.text.split()) >= MIN_LONG_WORDS for cell in below):
            return True
        if len(below) > 1 and len(row.cells) > 2 and all(_DIGIT.search(cell.text) for cell in below):
            return True
    return False


def _join_names(upper: Row | None, row: Row) -> dict[int, str]:
    """The columns' names, each after that of its group."""
    names = {column: " ".join(cell.text.split()) for column, cell in row.cells.items()}
    for column, cell in (upper.cells if upper is not None else {}).items():
        group = " ".join(cell.text.split())
        for c in range(column, column + cell.width):
            names[c] = f"{group} {names[c]}" if names.get(c, group) != group else group
    return names


def _stands_out(row: Row) -> bool:
    return all(cell.look for cell in row.cells.values())


def _is_wide_line(row: Row) -> bool:
    return len(row.cells) == 1 and all(cell.width > 1 for cell in row.cells.values())


def _list_texts(row: Row) -> list[str]:
    return [" ".join(cell.text.split()) for cell in row.cells.values()]
