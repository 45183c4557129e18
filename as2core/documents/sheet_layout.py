"""How a worksheet is laid out: what it hides, which cells it merges, which of its rows name columns, and which formulas
have no result. openpyxl's read-only mode reads none of it, and its other mode takes fifty times the memory.

A row that a filter or a folded group hides is shown with a click: only what was hidden by hand counts as hidden.
"""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, NamedTuple
from xml.etree.ElementTree import Element, iterparse
from zipfile import ZipFile

_NAMESPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_ELEMENTS = frozenset(["col", "row", "mergeCell", "autoFilter", "pane"])
_REFERENCE = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7})(?::\$?([A-Z]{1,3})\$?(\d{1,7}))?")


class Area(NamedTuple):
    """Of a sheet, by its first and last row and column, counted from 1."""

    top: int
    left: int
    bottom: int
    right: int


@dataclass(slots=True)
class SheetLayout:
    """`header_rows`: those that the sheet marks by a table, a filter or a frozen pane. `empty_formulas`: cells whose
    formula has no stored result, by their row and column."""

    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: list[tuple[int, int]] = field(default_factory=list)  # the first and the last of a run
    merges: list[Area] = field(default_factory=list)
    header_rows: set[int] = field(default_factory=set)
    empty_formulas: list[tuple[int, int]] = field(default_factory=list)

    def hides_column(self, column: int) -> bool:
        return any(first <= column <= last for first, last in self.hidden_columns)


def read_layout(archive: ZipFile, path: str) -> SheetLayout:
    """Of the worksheet at that path of a workbook's archive."""
    layout = SheetLayout()
    filters: list[Area] = []
    number = 0
    with archive.open(path) as part:
        for element in _list_elements(part):
            if element.tag == f"{_NAMESPACE}row":
                number = int(float(element.get("r", number + 1)))
                _read_row(element, number, layout)
            else:
                _read_element(element, layout, filters)
    for table in _list_tables(archive, path):
        area = _read_area(table.get("ref", ""))
        if area and table.get("headerRowCount", "1") != "0":
            layout.header_rows.add(area.top)
        for element in table.iter(f"{_NAMESPACE}autoFilter"):
            _read_element(element, layout, filters)
    layout.hidden_rows = {row for row in layout.hidden_rows if not any(a.top < row <= a.bottom for a in filters)}
    return layout


def _list_elements(part: IO[bytes]) -> Iterator[Element]:
    """Those that say something about the layout; each is emptied afterwards."""
    for _, element in iterparse(part):
        if element.tag.removeprefix(_NAMESPACE) in _ELEMENTS:
            yield element
            element.clear()


def _read_element(element: Element, layout: SheetLayout, filters: list[Area]) -> None:
    name = element.tag.removeprefix(_NAMESPACE)
    area = _read_area(element.get("ref", ""))
    if name == "col" and _is_set(element, "hidden") and not int(element.get("outlineLevel", 0)):
        layout.hidden_columns.append((int(element.get("min", 0)), int(element.get("max", 0))))
    elif name == "mergeCell" and area:
        layout.merges.append(area)
    elif name == "autoFilter" and area:
        layout.header_rows.add(area.top)
        if element.find(f"{_NAMESPACE}filterColumn") is not None:
            filters.append(area)
    elif name == "pane" and element.get("state", "").startswith("frozen"):
        layout.header_rows.add(int(float(element.get("ySplit", 0))))


def _read_row(element: Element, number: int, layout: SheetLayout) -> None:
    cells = element.findall(f"{_NAMESPACE}c")
    if _is_set(element, "hidden") and not int(element.get("outlineLevel", 0)):
        layout.hidden_rows.add(number)
    for place, cell in enumerate(cells):
        has_result = cell.findtext(f"{_NAMESPACE}v") or cell.get("t") == "str"  # which may be an empty text
        if cell.find(f"{_NAMESPACE}f") is not None and not has_result:
            area = _read_area(cell.get("r", ""))
            layout.empty_formulas.append((number, area.left if area else place + 1))


def _list_tables(archive: ZipFile, path: str) -> Iterator[Element]:
    folder, name = posixpath.split(path)
    relations = f"{folder}/_rels/{name}.rels"
    if relations not in archive.namelist():
        return
    with archive.open(relations) as part:
        targets = [e.get("Target", "") for _, e in iterparse(part) if e.get("Type", "").endswith("/table")]
    paths = (posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/") for target in targets)
    for table in (path for path in paths if path in archive.namelist()):
        with archive.open(table) as part:
            yield from (e for _, e in iterparse(part) if e.tag == f"{_NAMESPACE}table")


def _is_set(element: Element, name: str) -> bool:
    return element.get(name, "0") in ("1", "true")


def _read_area(reference: str) -> Area | None:
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        return None
    left, top, right, bottom = match.groups()
    return Area(int(top), _number_column(left), int(bottom or top), _number_column(right or left))


def _number_column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number
