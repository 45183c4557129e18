"""Label files as programs save them, made into what the readers take: an Excel workbook into a CSV, UTF-16, and a table
in the encoding of older spreadsheets (Windows-1252), into UTF-8."""

from collections.abc import Callable
from pathlib import PurePath
from typing import NamedTuple

from as2core.data.label_files.sheets import Table, is_workbook, require_small, write_table
from as2core.documents.office_files import OLD_FORMAT
from as2core.documents.reading import TABLES
from as2core.sources.encodings import UTF_16_MARKS, decode_text, is_utf_8
from as2core.sources.unpacking import ZIP_MAGIC

TABLE_SUFFIXES = (*TABLES, ".txt")


def is_packed_set(start: bytes) -> bool:
    """Whether what begins so is a workbook or an archive."""
    return start.startswith((ZIP_MAGIC, OLD_FORMAT))


class LabelContent(NamedTuple):
    """Text as UTF-8, and what of the file is left out."""

    content: bytes
    notes: tuple[str, ...] = ()


def decode_labels(name: str, content: bytes, write_table: Callable[[bytes], Table] = write_table) -> LabelContent:
    """The content as UTF-8. A table that has UTF-8 as well is left as it is: its reader reports the lines that are not.
    `write_table` makes a workbook a CSV. Raises UnreadableFile."""
    if is_workbook(content):
        require_small(content)
        table = write_table(content)
        return LabelContent(table.text.encode(), table.notes)
    return LabelContent(_decode_text(name, content))


def _decode_text(name: str, content: bytes) -> bytes:
    if content.startswith(UTF_16_MARKS):
        return decode_text(content).encode()
    if PurePath(name).suffix.lower() not in TABLE_SUFFIXES or is_utf_8(content):
        return content
    if any(not line.isascii() and is_utf_8(line) for line in content.splitlines()):
        return content
    return decode_text(content).encode()
