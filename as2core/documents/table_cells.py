"""The cells of a table's row, each with the name of its column: "Saturday: 9:00-14:00".

A row is a sentence of its own, which is read without the row of names above it. That row answers nothing and repeats
the question's words, so it is left out where a row has its names. Docling's chunks and LangChain's `CSVLoader` name the
values of a row, too.
"""

from collections.abc import Sequence

CELL_END = " | "


def name_cells(names: Sequence[str], cells: Sequence[str]) -> list[str]:
    """The cells that hold something; without names where there is not one a column, as in a row that spans some."""
    if len(names) != len(cells):
        return [cell for cell in cells if cell]
    return [f"{name.rstrip(':')}: {cell}" if name else cell for name, cell in zip(names, cells, strict=True) if cell]
